"""What a study is: cases, outcomes, and what is promised of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.method import Method
from onepass import metrics

SEED = 90_000  # the first seed of every study; these are used nowhere else

STATISTICS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "gmean": lambda values: float(np.exp(np.log(np.maximum(values, 1e-300)).mean())),
    "mean": lambda values: float(values.mean()),
    "worst": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
}


class Case(NamedTuple):
    """Rows X (n, d) to learn k directions from, and the covariance that they are judged on."""

    label: str
    X: Any
    k: int
    population: Any


class Outcome(NamedTuple):
    """The number that one answer gets in one case."""

    study: str
    answer: str
    label: str
    seed: int
    value: float


@dataclass(frozen=True)
class Limit:
    """The largest value that is promised of a statistic of the outcomes of `onepass.PCA`."""

    statistic: str
    limit: float

    def met(self, value: float) -> bool:
        """Whether the promise is kept; not where the value is no number."""
        return value <= self.limit

    def __str__(self) -> str:
        return f"{self.statistic} <= {self.limit:g}"


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
        What is promised.
    one_seed : bool
        Whether a seed stands for all the runs that there should be.
    """

    name: str
    title: str
    measure: Measure
    limits: tuple[Limit, ...]
    one_seed: bool = False


def excess(cases: Callable[[int, Path | None], Iterator[Case]]) -> Measure:
    """Return the measure of a study of excess errors.

    It is the suboptimality on the population over that of batch PCA on the same rows: 1 is as good,
    less is better. Consecutive cases of the same label are pooled, each sum over the other, for
    distributions on which batch PCA is now and then exactly right.
    """

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        for label, pool in groupby(cases(seed, folder), key=lambda case: case.label):
            lost: dict[str, float] = {}
            batch = 0.0
            for case in pool:
                batch += metrics.suboptimality(batch_directions(case.X, case.k), case.population)
                for method in methods:
                    for answer, directions in method.fit(case.X, case.k).items():
                        more = metrics.suboptimality(directions, case.population, k=case.k)
                        lost[answer] = lost.get(answer, 0.0) + more
            for answer, value in lost.items():
                yield answer, label, value / batch

    return measure


def batch_directions(X: Any, k: int) -> NDArray[np.float64]:
    """Return the k leading eigenvectors of the covariance of X (n, d), as a (k, d) array."""
    return np.linalg.eigh(covariance_of(X))[1].T[: -k - 1 : -1]


def covariance_of(X: Any) -> NDArray[np.float64]:
    """Return the covariance of rows X (n, d), as a (d, d) array."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)
