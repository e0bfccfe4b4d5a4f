"""The second moment of the rows as a matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dsymm, dsyr, dsyrk
from scipy.sparse import issparse

from onepass.moments.accumulator import Accumulator, Mean


class ExactMoment(Accumulator):
    """The sum of x x' over the rows, about their mean or about zero, shape (d, d).

    Only the upper triangle of the matrix is kept up to date.

    Parameters
    ----------
    d : int
        The number of columns.
    """

    def __init__(self, d: int) -> None:
        self.matrix: NDArray[np.float64] = np.zeros((d, d), order="F")

    @property
    def energy(self) -> float:
        """The sum of the squared norms of the rows."""
        return float(self.matrix.trace())

    def add(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        mean: Mean,
        center: bool,
    ) -> None:
        """Include rows (r, d), dense or CSR, of weights (r,); `mean` is that of the rows before.

        About the mean after these rows, the sum is that about the mean before them less the square
        of what the mean has moved.
        """
        rows = (rows.toarray() if issparse(rows) else rows).astype(np.float64, copy=False)
        if center:
            rows = rows - (mean.vector if mean.weight > 0.0 else rows[0])
            total = weights @ rows
        if not (weights == 1.0).all():
            rows = np.sqrt(weights)[:, None] * rows
        transposed = np.ascontiguousarray(rows).T
        self.matrix = dsyrk(1.0, transposed, beta=1.0, c=self.matrix, overwrite_c=True)
        if center:
            after = mean.weight + float(weights.sum())
            self.matrix = dsyr(-1.0, total / np.sqrt(after), a=self.matrix, overwrite_a=True)

    def merge(self, other: ExactMoment, between: NDArray[np.float64] | None) -> None:
        """Include another one; `between` is the row (d,) that the two means add, if centred."""
        self.matrix += other.matrix
        if between is not None:
            self.matrix = dsyr(1.0, between, a=self.matrix, overwrite_a=True)

    def fade(self, factor: float) -> None:
        self.matrix *= factor

    def compress(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return ``directions @ S @ directions.T`` for rows (j, d)."""
        wide = directions.astype(np.float64, copy=False)
        return wide @ dsymm(1.0, self.matrix, wide.T, lower=False)

    def leading(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the k leading eigenvectors (k, d) and eigenvalues (k,), descending."""
        d = len(self.matrix)
        values, vectors = eigh(
            self.matrix, lower=False, subset_by_index=(d - k, d - 1), check_finite=False
        )
        return np.ascontiguousarray(vectors.T[::-1]), values[::-1].clip(min=0.0)

    def copy(self) -> Self:
        twin = super().copy()
        twin.matrix = self.matrix.copy(order="F")  # it is changed in place
        return twin

    def saved(self) -> dict[str, Any]:
        return {"triangle": self.matrix[np.triu_indices(len(self.matrix))]}

    def restore(self, state: dict[str, Any]) -> None:
        self.matrix[np.triu_indices(len(self.matrix))] = state["triangle"]
