"""Which defaults serve a user who passes nothing: ``python -m benchmarks.defaults --data DIR``.

Every algorithm of the paper learns from ten data sets: with the last iterate or the average, about
zero or about the running mean. What counts is how well held-out rows are put together again from
their coordinates, which is the same question for all settings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import onepass
from benchmarks.accuracy.rows import exponential, gapped, power
from benchmarks.accuracy.studies.real import rows_of
from benchmarks.dataset import folder_of
from benchmarks.tables import number, table
from onepass.sources.synthetic import Gaussian, Orthogonal, StudentT

ROWS = 20_000  # to learn from, and at most as many to judge by
STEPPING = ("CappedMSG", "MSG", "MEG", "Oja", "Grouse")
Rows = NDArray[np.float64]


def _spectrum(make: Callable[[int, int], Rows], d: int, k: int) -> Callable[..., tuple[Rows, int]]:
    """Return Gaussian rows of a spectrum about zero."""

    def load(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
        return Gaussian(make(d, k), rotation=1).sample(2 * ROWS, rng), k

    return load


def _strong_spikes(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
    spectrum = np.concatenate([np.linspace(100.0, 50.0, 5), np.ones(95)])
    return Gaussian(spectrum, rotation=1).sample(2 * ROWS, rng), 5


def _student(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
    return StudentT(power(60, 1.0), 3.0, rotation=1).sample(2 * ROWS, rng), 3


def _one_hot(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
    return Orthogonal(32, 1.1).sample(2 * ROWS, rng), 4


def _far_mean(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
    mean = np.full(50, 5.0)
    return Gaussian(power(50, 1.0), rotation=1, mean=mean).sample(2 * ROWS, rng), 5


def _archive(name: str, file: str, k: int) -> Callable[..., tuple[Rows, int]]:
    """Return the rows of an archive as they are."""

    def load(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
        with np.load(folder_of(name, folder) / file) as arrays:
            X = arrays["X"]
        X = X.reshape(-1, X.shape[-1])
        return X[rng.permutation(len(X))[: 2 * ROWS]].astype(np.float64), k

    return load


def _mnist(rng: np.random.Generator, folder: Path | None) -> tuple[Rows, int]:
    images = rows_of("mnist", folder)
    return images[rng.permutation(len(images))[: 2 * ROWS]], 8


DATASETS: dict[str, Callable[[np.random.Generator, Path | None], tuple[Rows, int]]] = {
    "variances 1/i, d=100, k=5": _spectrum(lambda d, k: power(d, 1.0), 100, 5),
    "exponential, d=200, k=10": _spectrum(exponential, 200, 10),
    "gapped, d=100, k=5": _spectrum(gapped, 100, 5),
    "strong spikes, d=100, k=5": _strong_spikes,
    "Student t3, d=60, k=3": _student,
    "one-hot, d=32, k=4": _one_hot,
    "far mean, d=50, k=5": _far_mean,
    "covtype, k=5": _archive("covtype", "covtype.npz", 5),
    "gas-drift, k=5": _archive("gas-drift", "gas_drift_8of10.npz", 5),
    "indian-pines, k=5": _archive("indian-pines", "indian_pines.npz", 5),
    "los-speed, k=5": _archive("los-speed", "los_speed.npz", 5),
    "MNIST, k=8": _mnist,
}


def settings(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the settings of an algorithm, with the words for them."""
    for center in (False, True):
        for average in (False, True) if name in STEPPING else (None,):
            words = "about the mean" if center else "about zero"
            given: dict[str, Any] = {"center": center}
            if average is not None:
                words = f"{'average' if average else 'last'}, {words}"
                given["average"] = average
            yield words, given


def rebuilt(mean: Rows, components: Rows, rows: Rows) -> float:
    """Return the mean squared distance of rows (n, d) from what their coordinates say."""
    centred = rows - mean
    rest = centred - (centred @ components.T) @ components
    return float(np.einsum("ij,ij->", rest, rest)) / len(rows)


def lost(mean: Rows, components: Rows, rows: Rows) -> float:
    """Return what is lost beyond the best, as a share of what the best k directions capture."""
    best_mean = rows.mean(axis=0)
    centred = rows - best_mean
    values = np.linalg.eigvalsh(centred.T @ centred / len(rows))[::-1]
    k = len(components)
    more = rebuilt(mean, components, rows) - float(values[k:].sum())
    return max(more, 0.0) / float(values[:k].sum())


def measure(
    name: str, given: dict[str, Any], X: Rows, held_out: Rows, k: int
) -> tuple[float, float]:
    """Return the share of the variance that is lost, and the CPU seconds of a row."""
    if name in ("Oja", "Grouse"):
        given = {**given, "random_state": 0}
    begin = time.process_time()
    model = getattr(onepass, name)(k, **given).fit(X)
    components, mean = model.components_, model.mean_
    seconds = (time.process_time() - begin) / len(X)
    return lost(mean, components, held_out), seconds


def run(algorithms: list[str], datasets: list[str], seeds: int, folder: Path | None) -> str:
    """Return the tables: one for each algorithm, in percent, and the time of a row."""
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for dataset in datasets:
        for seed in range(seeds):
            rng = np.random.default_rng([70_000, seed])
            try:
                rows, k = DATASETS[dataset](rng, folder)
            except FileNotFoundError as error:
                print(f"note: {error}")
                break
            half = min(ROWS, len(rows) // 2)
            X, held_out = np.ascontiguousarray(rows[:half]), rows[half:]
            for name in algorithms:
                for words, given in settings(name):
                    outcome = measure(name, given, X, held_out, k)
                    found.setdefault((name, dataset, words), []).append(outcome)
    return "\n\n".join(_table(name, found) for name in algorithms)


def _table(name: str, found: dict[tuple[str, str, str], list[tuple[float, float]]]) -> str:
    """Return the table of one algorithm: medians over the seeds."""
    words = [words for words, _ in settings(name)]
    datasets = dict.fromkeys(dataset for algorithm, dataset, _ in found if algorithm == name)
    lines, ratios = [], []
    for dataset in datasets:
        cells = [np.median([o[0] for o in found[name, dataset, word]]) for word in words]
        lines.append([dataset, *(f"{100 * cell:.3g}%" for cell in cells)])
        times = [np.median([o[1] for o in found[name, dataset, word]]) for word in words]
        ratios.append([one / times[0] for one in times])
    worst = [max(float(line[i + 1][:-1]) for line in lines) for i in range(len(words))]
    lines.append(["worst", *(f"{value:.3g}%" for value in worst)])
    lines.append(["time of a row, relative", *(number(r) for r in np.median(ratios, axis=0))])
    return f"**{name}**\n\n{table(['variance lost', *words], lines)}"


def main(arguments: list[str] | None = None) -> None:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser("python -m benchmarks.defaults", description=__doc__)
    add = parser.add_argument
    every = [*STEPPING, "Incremental", "ERM"]
    add("--only", default=",".join(every), help="comma-separated algorithms (default: all)")
    add("--datasets", default="", help="comma-separated beginnings of names (default: all)")
    add("--seeds", type=int, default=3, help="how many (default: 3)")
    add("--data", type=Path, metavar="DIR", help="a folder with mnist/, covtype/ and so on")
    args = parser.parse_args(arguments)
    wanted = tuple(args.datasets.split(","))
    datasets = [name for name in DATASETS if name.startswith(wanted)]
    with threadpool_limits(limits=1):
        print(run(args.only.split(","), datasets, args.seeds, args.data))


if __name__ == "__main__":
    main()
