"""The second moment of the rows as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dsymm, dsyr, dsyrk

from onepass.moments.mean import Mean


class ExactMoment:
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
        rows: NDArray[np.floating],
        weights: NDArray[np.float64],
        before: Mean,
        center: bool,
    ) -> None:
        """Include rows (r, d) of some weights (r,); `before` is the mean of the rows before them.

        About the mean after these rows, the sum is that about the mean before them less the square
        of what the mean has moved.
        """
        rows = rows.astype(np.float64, copy=False)
        if center:
            rows = rows - before.origin(rows)
            total = weights @ rows
        if not (weights == 1.0).all():
            rows = np.sqrt(weights)[:, None] * rows
        transposed = np.ascontiguousarray(rows).T
        self.matrix = dsyrk(1.0, transposed, beta=1.0, c=self.matrix, overwrite_c=True)
        if center:
            after = before.weight + float(weights.sum())
            self.matrix = dsyr(-1.0, total / np.sqrt(after), a=self.matrix, overwrite_a=True)

    def merge(self, other: ExactMoment, between: NDArray[np.float64] | None) -> None:
        """Include another one; `between` is the row (d,) that the two means add, if centred."""
        self.matrix += other.matrix
        if between is not None:
            self.matrix = dsyr(1.0, between, a=self.matrix, overwrite_a=True)

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
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

    def copy(self) -> ExactMoment:
        """Return a copy."""
        twin = ExactMoment(0)
        twin.matrix = self.matrix.copy(order="F")
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps: one triangle."""
        return {"triangle": self.matrix[np.triu_indices(len(self.matrix))]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ExactMoment:
        """Return the moment of a checked state."""
        triangle = state["triangle"]
        d = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
        moment = cls(d)
        moment.matrix[np.triu_indices(d)] = triangle
        return moment
