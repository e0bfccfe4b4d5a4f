"""Runs that are done once, in parallel, and kept in files."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import onepass
from onepass.persistence.atomic import replacing

if TYPE_CHECKING:
    from rich.progress import Progress

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Scope:
    """How much is run: rows, sequences, and splits of MNIST."""

    figure1_rows: int = 100_000
    figure1_sequences: int = 5
    figure2_rows: int = 300_000
    figure2_sequences: int = 100
    toy_rows: int = 1000
    toy_sequences: int = 10_000
    horizons: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000)  # the T of Theorem 1
    excess_sequences: int = 200
    exhibit_sequences: int = 4000
    train_rows: int = 28_000
    marks: int = 45  # checkpoints of a run on MNIST
    every_image: int = 1  # use one image in so many
    images: NDArray[np.uint8] | None = None  # MNIST's, (n, d)
    splits: int = 10
    seed: int = 0


QUICK = Scope(
    figure1_rows=10_000,
    figure1_sequences=2,
    figure2_rows=20_000,
    figure2_sequences=6,
    toy_rows=500,
    toy_sequences=1000,
    horizons=(10, 30, 100, 300, 1000),
    excess_sequences=20,
    exhibit_sequences=300,
    train_rows=700,
    marks=16,
    every_image=10,
    splits=2,
)


@dataclass(frozen=True)
class Run:
    """A function, its settings, and data that the settings identify.

    A kept result is used again only if function and settings are the same.
    """

    name: str  # of the file it is kept in
    function: Callable[..., Arrays]  # importable by other processes
    settings: Mapping[str, Any]  # keyword arguments that JSON can hold
    expected_seconds: float = 1.0  # roughly, for the time left
    data: Mapping[str, Any] = field(default_factory=dict)  # other arguments, such as arrays

    def stamp(self) -> str:
        """Return what identifies the run: the function and its settings."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.dumps([function, self.settings], sort_keys=True)

    def execute(self, folder: Path) -> tuple[str, Arrays]:
        """Run it and keep the result, with `cpu_seconds` and the `version` of onepass."""
        start = time.process_time()
        arrays = self.function(**self.settings, **self.data)
        arrays["cpu_seconds"] = np.array(time.process_time() - start)
        arrays["version"] = np.array(onepass.__version__)
        with replacing(folder / f"{self.name}.npz") as file:
            members: dict[str, Any] = {"stamp": np.array(self.stamp()), **arrays}
            np.savez_compressed(file, **members)
        return self.name, arrays

    def kept(self, folder: Path) -> Arrays | None:
        """Return the kept result of the same run, if there is one."""
        try:
            # Opened here, since NumPy does not close damaged files.
            with open(folder / f"{self.name}.npz", "rb") as opened, np.load(opened) as file:
                return dict(file) if str(file["stamp"]) == self.stamp() else None
        except (FileNotFoundError, EOFError, zipfile.BadZipFile, zlib.error, ValueError, KeyError):
            return None


def finished(runs: Sequence[Run], folder: Path) -> dict[str, Arrays]:
    """Return the results of the runs that are kept in the folder, by name."""
    return {run.name: arrays for run in runs if (arrays := run.kept(folder)) is not None}


def complete(runs: Sequence[Run], folder: Path, jobs: int) -> dict[str, Arrays]:
    """Return the results of all runs by name, read from the folder if they are kept there.

    The others run in as many processes as there are jobs. Each result is kept as soon as it is
    there, whole or not at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = finished(runs, folder)
    missing = [run for run in runs if run.name not in results]
    if missing:
        from joblib import Parallel, delayed

        expected = {run.name: run.expected_seconds for run in runs}
        with progress_bar() as bar:
            task = bar.add_task("the paper", total=sum(expected.values()))
            bar.advance(task, sum(expected[name] for name in results))  # also starts the clock
            work = Parallel(n_jobs=min(jobs, len(missing)), return_as="generator_unordered")
            for name, arrays in work(delayed(run.execute)(folder) for run in missing):
                results[name] = arrays
                bar.advance(task, expected[name])
    return results


def progress_bar() -> Progress:
    """Return a bar with the time left, on standard error if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(
        *Progress.get_default_columns(),
        "left",
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        speed_estimate_period=math.inf,  # runs take minutes: average over all of them
    )


def repetitions(results: Mapping[str, Arrays], group: str, step: int = 1) -> list[Arrays]:
    """Return the runs "group-0", "group-1" and so on, up to the first that is missing."""
    names = (f"{group}-{i}" for i in itertools.count(0, step))
    found = [results[name] for name in itertools.takewhile(results.__contains__, names)]
    if not found:
        raise ValueError(f"no run of {group} is finished: run it first")
    return found


def gather(runs: Sequence[Arrays]) -> Arrays:
    """Return the curves of all runs, one below the other, and `marks`, which they share."""
    curves = {key: np.vstack([run[key] for run in runs]) for key in runs[0] if "/" in key}
    return {"marks": runs[0]["marks"], **curves}


def seed_of(*parts: Any) -> int:
    """Return a seed that depends on all parts, and on nothing else."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big")
