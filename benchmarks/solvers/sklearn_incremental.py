"""scikit-learn's IncrementalPCA."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import IncrementalPCA

from benchmarks.solver import Directions, Solver


def by_hundreds(X: Any, k: int) -> Directions:
    """100 rows at a time, or k where these are more: it needs as many."""
    return IncrementalPCA(k, batch_size=max(100, k)).fit(X).components_


def by_default(X: Any, k: int) -> Directions:
    """5 d rows at a time."""
    return IncrementalPCA(k).fit(X).components_


def one_row_calls(X: Any, k: int) -> Directions:
    """One call per row, after a first one with k rows, which it needs."""
    model = IncrementalPCA(k).partial_fit(X[:k])
    for i in range(k, X.shape[0]):
        model.partial_fit(X[i : i + 1])
    return model.components_


SOLVERS = [
    Solver("sklearn-incremental-100", by_hundreds, at_least=400, sparse=True),
    Solver("sklearn-incremental", by_default, streams=False, max_columns=5000),
    Solver("sklearn-incremental-1", one_row_calls, at_least=100),
]
