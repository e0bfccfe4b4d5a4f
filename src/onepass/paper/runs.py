"""Runs that are kept: done once, in parallel, and found again when asked for the second time."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """

    name: str
    function: Callable[..., Arrays]
    settings: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)

    def stamp(self) -> str:
        """Return what identifies the run: the function and its settings."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.dumps([function, self.settings], sort_keys=True)


def complete(runs: Sequence[Run], folder: Path, jobs: int, what: str) -> list[Arrays]:
    """Return the results of all runs; those that are kept in the folder are read.

    Parameters
    ----------
    runs : sequence of Run
        With different names.
    folder : Path
        Each result is written there as soon as it is there, whole or not at all.
    jobs : int
        The number of processes.
    what : str
        What the progress bar says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = {run.name: kept(run, folder) for run in runs}
    missing = [run for run in runs if results[run.name] is None]
    if missing:
        from joblib import Parallel, delayed

        with progress(what, len(runs), len(runs) - len(missing)) as advance:
            work = Parallel(n_jobs=min(jobs, len(missing)), return_as="generator_unordered")
            for name, arrays in work(delayed(execute)(run, folder) for run in missing):
                results[name] = arrays
                advance()
    return [arrays for run in runs if (arrays := results[run.name]) is not None]


def execute(run: Run, folder: Path) -> tuple[str, Arrays]:
    """Do a run and keep its result."""
    arrays = run.function(**run.settings, **run.data)
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


class progress:  # noqa: N801 - reads as a phrase after `with`
    """A progress bar on standard error, if a terminal; gives the function that advances it."""

    def __init__(self, what: str, total: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self._bar = Progress(
            "{task.description}",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task(what, total=total, completed=done)

    def __enter__(self) -> Callable[[], None]:
        self._bar.start()
        return lambda: self._bar.advance(self._task)

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
