"""The running low-rank average of iterates: the incremental rule applied to the iterates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.orthonormal import orthonormal
from onepass.subspace import Subspace, add_up, leading


class Average:
    """The average of all iterates added, truncated to a rank.

    What was added as a matrix stays one, and is truncated only where it is looked at.

    Parameters
    ----------
    d : int
        The dimension of the iterates.
    max_rank : int
        How many directions are kept. Iterates wait until there are about as many more, then all
        are merged at once.
    """

    def __init__(self, d: int, max_rank: int, dtype: np.dtype) -> None:
        self.max_rank = max_rank
        self.count = 0.0
        self._sum = Subspace.empty(d, dtype=dtype)
        self._waiting: list[Subspace] = []
        self._matrix, self._rest = np.zeros((0, 0)), 0.0  # a part of the sum: matrix + rest * I

    def add(self, iterates: list[Subspace], count: float) -> None:
        """Add `count` iterates, given as summands of their sum."""
        self.count += count
        self._waiting = [*self._waiting, *iterates]
        if sum(iterate.rank for iterate in self._waiting) >= max(self.max_rank, 32):
            self._sum = add_up([self._sum, *self._waiting], self.max_rank)
            self._waiting = []

    def add_matrix(self, matrix: NDArray[np.float64], rest: float, count: float) -> None:
        """Add `count` iterates whose sum is a matrix (d, d) plus a multiple of the identity."""
        self.count += count
        self._matrix = self._matrix + matrix if self._matrix.size else matrix
        self._rest += rest

    def leading(self, k: int) -> NDArray[np.floating] | None:
        """Return k leading directions of what was merged so far, or None if there are fewer."""
        return self._sum.basis[:k] if self._sum.rank >= k else None

    def directions(self, k: int) -> NDArray[np.floating]:
        """Return the leading directions of the average, at most k, orthonormal."""
        return orthonormal(self._merged().basis[:k])

    def value(self) -> Subspace:
        """Return the average."""
        total, count = self._merged(), self.count or 1.0
        return Subspace(orthonormal(total.basis), total.weights / count, total.rest / count)

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.count *= factor
        self._sum = self._sum.scaled(factor)
        self._matrix, self._rest = factor * self._matrix, factor * self._rest
        self._waiting = [iterate.scaled(factor) for iterate in self._waiting]

    def merge(self, other: Average) -> None:
        """Include the iterates of another average."""
        summands = [self._sum, *self._waiting, other._sum, *other._waiting]
        self._sum, self._waiting = add_up(summands, self.max_rank), []
        matrix = other._matrix if other._matrix.size else np.zeros(self._matrix.shape)
        self.add_matrix(matrix, other._rest, other.count)

    def copy(self) -> Average:
        """Return a copy that goes on by itself."""
        twin = Average.__new__(Average)
        twin.__dict__.update(self.__dict__)
        return twin

    def _merged(self) -> Subspace:
        """Return the sum of everything, truncated."""
        summands = [self._sum, *self._waiting]
        if self._matrix.size:
            values, vectors = leading(self._matrix, self.max_rank)
            kept = values > 1e-14 * values[0]
            basis = vectors[kept].astype(self._sum.basis.dtype)
            summands.insert(0, Subspace(basis, values[kept] + self._rest, self._rest))
        return add_up(summands, self.max_rank)
