"""Runs that are kept: done once, in parallel, and found again when asked for the second time."""

from __future__ import annotations

import hashlib
import json
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onepass
from onepass.model_file import replacing

Arrays = dict[str, NDArray]


@dataclass(frozen=True)
class Run:
    """A piece of work: a function of settings, and of data that the settings identify.

    Attributes
    ----------
    name : str
        The file it is kept under.
    function : callable
        Returns named arrays. It must be importable, as other processes call it.
    settings : mapping
        Keyword arguments that JSON can hold. A kept run is used again only if they are the same.
    data : mapping
        More keyword arguments, such as arrays.
    expected_seconds : float
        Roughly how long it takes, for the time left.
    """

    name: str
    function: Callable[..., Arrays]
    settings: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)
    expected_seconds: float = 1.0

    def stamp(self) -> str:
        """Return what identifies the run: the function and its settings."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.dumps([function, self.settings], sort_keys=True)


def complete(runs: Sequence[Run], folder: Path, jobs: int) -> dict[str, Arrays]:
    """Return the results of all runs by name; those that are kept in the folder are read.

    With each result come `cpu_seconds` and the `version` of onepass that computed it.

    Parameters
    ----------
    runs : sequence of Run
        With different names.
    folder : Path
        Each result is written there as soon as it is there, whole or not at all.
    jobs : int
        The number of processes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = {run.name: arrays for run in runs if (arrays := kept(run, folder)) is not None}
    missing = [run for run in runs if run.name not in results]
    if missing:
        from joblib import Parallel, delayed

        with Progress(missing, jobs) as progress:
            work = Parallel(n_jobs=min(jobs, len(missing)), return_as="generator_unordered")
            for name, arrays in work(delayed(execute)(run, folder) for run in missing):
                results[name] = arrays
                progress.advance(name)
    return results


def execute(run: Run, folder: Path) -> tuple[str, Arrays]:
    """Do a run and keep its result."""
    start = time.process_time()
    arrays = run.function(**run.settings, **run.data)
    arrays["cpu_seconds"] = np.array(time.process_time() - start)
    arrays["version"] = np.array(onepass.__version__)
    with replacing(folder / f"{run.name}.npz") as file:
        members: dict[str, Any] = {"stamp": np.array(run.stamp()), **arrays}
        np.savez_compressed(file, **members)
    return run.name, arrays


def kept(run: Run, folder: Path) -> Arrays | None:
    """Return the result of the same run done before, if it is there."""
    try:
        # Opened here: NumPy leaves files open that it finds damaged.
        with open(folder / f"{run.name}.npz", "rb") as opened, np.load(opened) as file:
            if str(file["stamp"]) != run.stamp():
                return None
            return {name: file[name] for name in file.files if name != "stamp"}
    except (FileNotFoundError, EOFError, zipfile.BadZipFile, zlib.error, ValueError, KeyError):
        return None


def seed_of(*parts: Any) -> int:
    """Return a seed that depends on all of the parts and on nothing else."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big")


class Progress:
    """A bar with the time left, on standard error if that is a terminal.

    Runs take from a second to minutes: time is divided by what they are expected to take, and the
    expectation is corrected by what those that are done did take.
    """

    def __init__(self, runs: Sequence[Run], jobs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn
        from rich.progress import Progress as Bar

        self._expected = {run.name: run.expected_seconds for run in runs}
        self._jobs, self._start, self._done = jobs, time.monotonic(), 0.0
        self._bar = Bar(
            "onepass paper",
            BarColumn(),
            "{task.percentage:.0f}%",
            "{task.fields[left]} left",
            "(done: {task.fields[last]})",
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        total = sum(self._expected.values())
        self._task = self._bar.add_task("", total=total, left=self.left(), last="nothing yet")

    def left(self) -> str:
        """Say how long the rest will take."""
        rest = sum(self._expected.values()) - self._done
        rate = (time.monotonic() - self._start) / self._done if self._done else 1 / self._jobs
        seconds = rest * rate
        return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"

    def advance(self, name: str) -> None:
        """Count a run that is done."""
        self._done += self._expected[name]
        self._bar.update(self._task, completed=self._done, left=self.left(), last=name)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
