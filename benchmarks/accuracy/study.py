"""What a study is, and what is promised of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.losses import Numbers, batch_pca, loss
from benchmarks.results import Row
from onepass import PCA

# (seed, folder of real data) -> label of the run, its value
Values = Callable[[int, Path | None], Iterator[tuple[str, float]]]

EXACT = 1.005  # a promise of 1.00, which is to two decimals

STATISTICS: dict[str, Callable[[Numbers], float]] = {
    "mean": lambda values: float(np.exp(np.log(values).mean())),
    "worst": lambda values: float(values.max()),
    "in 95%": lambda values: float(np.quantile(values, 0.95, method="higher")),
}


class Case(NamedTuple):
    """Rows X (n, d) to learn k directions from, and the covariance that they are measured on."""

    label: str
    X: Any
    k: int
    covariance: Numbers


Cases = Callable[[int, Path | None], Iterator[Case]]


@dataclass(frozen=True)
class Study:
    """A row of the table.

    Attributes
    ----------
    name, title : str
        On the command line, and in the table.
    values : callable
        ``values(seed, folder)`` yields the label and the value of each run with this seed.
    seeds : int
        How many seeds a whole run has.
    promise : dict
        The limit of each statistic; None where nothing is promised.
    """

    name: str
    title: str
    values: Values
    seeds: int
    promise: dict[str, float | None]

    def measure(self, first_seed: int, folder: Path | None, *, quick: bool) -> Row:
        """Return the row: the statistics of all runs, and whether the promise is kept."""
        seeds = range(first_seed, first_seed + (1 if quick else self.seeds))
        runs = [
            (value, seed, label) for seed in seeds for label, value in self.values(seed, folder)
        ]
        found = np.array([value for value, *_ in runs])
        _, seed, label = max(runs)
        measured = {name: STATISTICS[name](found) for name in self.promise}
        limits = {name: limit for name, limit in self.promise.items() if limit is not None}
        return {
            "name": self.name,
            "title": self.title,
            "promised": self.promise,
            "measured": measured,
            "runs": len(runs),
            "worst_run": f"seed {seed}, {label}",
            "met": all(measured[name] <= limit for name, limit in limits.items())
            if limits
            else None,
        }


def promise(mean: float | None = None, worst: float | None = None) -> dict[str, float | None]:
    """Return limits of the geometric mean and of the worst run."""
    return {"mean": mean, "worst": worst}


def excess(cases: Cases, robust: bool = False) -> Values:
    """Return the excess of `PCA` in each case.

    Cases of one label are pooled, sum over sum: on some distributions batch PCA is now and then
    exactly right.
    """

    def values(seed: int, folder: Path | None) -> Iterator[tuple[str, float]]:
        losses: dict[str, Numbers] = {}
        for label, X, k, covariance in cases(seed, folder):
            ours = loss(PCA(k, robust=robust).fit(X).components_, covariance, k)
            batch = loss(batch_pca(X, k), covariance, k)
            losses[label] = losses.get(label, np.zeros(2)) + [ours, batch]
        yield from ((label, float(ours / batch)) for label, (ours, batch) in losses.items())

    return values
