"""The paper's algorithm row by row, over scikit-learn's IncrementalPCA with 100 rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA

from benchmarks.floor.target import Effort, Target
from benchmarks.rows import gaussian, power
from benchmarks.timing import medians
from onepass import CappedMSG

PAPER = {"average": False, "center": False}


def in_calls(model: Any, X: NDArray[np.float64], rows: int) -> None:
    """Learn from so many rows a call, and read the result."""
    for start in range(0, len(X), rows):
        model.partial_fit(X[start : start + rows])
    assert np.isfinite(model.components_).all()


def times_as_fast(d: int, k: int, n: int, few: int) -> Callable[[Effort], float]:
    """Return the measure over IncrementalPCA(100), which is given a `few` of the n rows."""

    def measure(effort: Effort) -> float:
        X = gaussian(effort.rows(n), power(d, 1.0), np.random.default_rng(effort.seed))
        ours, theirs = medians(
            lambda: in_calls(CappedMSG(k, **PAPER), X, len(X)),
            lambda: in_calls(IncrementalPCA(k), X[:few], 100),
            turns=effort.turns,
        )
        return (theirs / len(X[:few])) / (ours / len(X))

    return measure


def one_row_calls(effort: Effort) -> float:
    """Return how many times as fast one-row calls are as those of IncrementalPCA."""
    X = gaussian(effort.rows(3000), power(784, 1.0), np.random.default_rng(effort.seed))
    few = X[:300]
    begun = IncrementalPCA(8).partial_fit(few)
    ours, theirs = medians(
        lambda: in_calls(CappedMSG(8, **PAPER), X, 1),
        lambda: in_calls(begun, few, 1),
        turns=effort.turns,
    )
    return (theirs / len(few)) / (ours / len(X))


TARGETS = [
    Target(
        f"capped-msg-{d}",
        f"CappedMSG, {d:,} columns, k = {k}: times as fast as IncrementalPCA(100)",
        times_as_fast(d, k, n, few),
        target,
        at_least=True,
    )
    for d, k, n, few, target in ((784, 8, 20_000, 5000, 14.0), (10_000, 10, 3000, 1000, 21.0))
] + [
    Target(
        "one-row-calls",
        "CappedMSG, 784 columns, k = 8, one row a call: times as fast as IncrementalPCA",
        one_row_calls,
        35.0,
        at_least=True,
    )
]
