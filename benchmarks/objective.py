"""What is measured beside time: how much variance is missed that batch PCA captures."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

from benchmarks.dataset import Problem
from onepass import metrics

DENSE_SIDE = 4000  # up to here an eigenproblem of the smaller Gram matrix is quickest


def batch_pca(X: Any, k: int) -> NDArray[np.float64]:
    """Return the k leading right singular vectors of the rows X (n, d), as a (k, d) array."""
    n, d = X.shape
    if min(n, d) > DENSE_SIDE:
        vectors = svds(X.astype(np.float64), k=k, v0=np.ones(min(n, d)), tol=1e-9)[2]
        return np.asarray(vectors[::-1])
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    gram = X @ X.T if n <= d else X.T @ X
    vectors = np.linalg.eigh(gram.toarray() if sparse.issparse(gram) else gram)[1][:, : -k - 1 : -1]
    if n > d:
        return np.ascontiguousarray(vectors.T)
    return np.linalg.qr(X.T @ vectors)[0].T


class Judge:
    """Compares directions with those that batch PCA finds in the same rows.

    Parameters
    ----------
    problem : Problem
        Whose population, or else whose rows, captured variance is measured on.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._captured_by_batch: dict[int, float] = {}

    @cached_property
    def _data(self) -> Any:
        """What captured variance is measured on."""
        population = self.problem.population
        return self.problem.X if population is None else population.second_moment()

    def lost(self, directions: NDArray[np.floating], n_rows: int) -> float:
        """Return 1 - captured / captured by batch PCA, both having learned the first n_rows rows.

        On a known population it may be negative: batch PCA is optimal on the rows alone.
        """
        if n_rows not in self._captured_by_batch:
            batch = batch_pca(self.problem.X[:n_rows], self.problem.k)
            self._captured_by_batch[n_rows] = metrics.captured(batch, self._data)
        captured = metrics.captured(np.asarray(directions, np.float64), self._data)
        return 1.0 - captured / self._captured_by_batch[n_rows]
