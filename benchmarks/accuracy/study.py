"""What a study is: cases, outcomes, and what is promised of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.methods import Method

OURS, BATCH = "PCA", "batch"
Numbers = NDArray[np.float64]

STATISTICS: dict[str, Callable[[Numbers], float]] = {
    "gmean": lambda values: float(np.exp(np.log(np.maximum(values, 1e-300)).mean())),
    "mean": lambda values: float(values.mean()),
    "median": lambda values: float(np.median(values)),
    "worst": lambda values: float(values.max()),
    "least": lambda values: float(values.min()),
    "sum": lambda values: float(values.sum()),
    "worst in 95%": lambda values: float(np.quantile(values, 0.95, method="higher")),
    "least in 95%": lambda values: float(np.quantile(values, 0.05, method="lower")),
}


class Case(NamedTuple):
    """Rows X (n, d) to learn k directions from, and the covariance that they are judged on.

    A covariance of shape (d,) is diagonal.
    """

    label: str
    X: Any
    k: int
    covariance: Numbers


class Outcome(NamedTuple):
    """The number that one answer gets in one case."""

    study: str
    answer: str
    label: str
    seed: int
    value: float


@dataclass(frozen=True)
class Limit:
    """What is promised of a statistic of the outcomes of `onepass.PCA`: at most, or at least."""

    statistic: str
    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether the promise is kept; not where the value is no number."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{self.statistic} {'>=' if self.at_least else '<='} {self.limit:g}"


# (methods, seed, folder) -> (answer, label, value)
Measure = Callable[[list[Method], int, Path | None], Iterator[tuple[str, str, float]]]


@dataclass(frozen=True)
class Study:
    """A row of the table.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        In the table.
    measure : callable
        ``measure(methods, seed, folder)`` yields (answer, label of the case, value).
    limits : tuple of Limit
        What is promised; the statistics alone are reported where nothing is.
    seeds : int
        How many runs the documentation has.
    over_batch : bool
        Whether values are losses, reported as multiples of batch PCA's.
    """

    name: str
    title: str
    measure: Measure
    limits: tuple[Limit, ...]
    seeds: int
    over_batch: bool = True


def losses(cases: Callable[[int, Path | None], Iterator[Case]]) -> Measure:
    """Return the measure of what directions capture less than the best k."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        for label, X, k, covariance in cases(seed, folder):
            for method in methods:
                yield method.name, label, loss(method.fit(X, k), covariance, k)

    return measure


def loss(directions: NDArray[np.floating], covariance: Numbers, k: int) -> float:
    """Return by how much orthonormal directions (m, d) capture less than the best k."""
    found = directions.astype(np.float64)
    if covariance.ndim == 1:
        best = np.sort(covariance)[-k:].sum()
        return float(best - np.sum(found**2 @ covariance))
    best = np.linalg.eigvalsh(covariance)[-k:].sum()
    return float(best - np.sum((found @ covariance) * found))


def spread(limit_of_gmean: float, limit_of_worst: float) -> tuple[Limit, ...]:
    """Return the promises of a geometric mean and of the worst run."""
    return Limit("gmean", limit_of_gmean), Limit("worst", limit_of_worst)


def worst(limit: float) -> tuple[Limit, ...]:
    """Return the promise that no run is above a limit."""
    return (Limit("worst", limit),)
