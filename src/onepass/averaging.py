"""The running low-rank average of iterates: the incremental rule applied to the iterates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.orthonormal import orthonormal
from onepass.subspace import Subspace, add_up


class Average:
    """The average of all iterates added, truncated to a rank.

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

    def add(self, iterates: list[Subspace], count: float) -> None:
        """Add `count` iterates, given as summands of their sum."""
        self.count += count
        self._waiting = [*self._waiting, *iterates]
        if sum(iterate.rank for iterate in self._waiting) >= max(self.max_rank, 32):
            self._sum = self._merged()
            self._waiting = []

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
        self._waiting = [iterate.scaled(factor) for iterate in self._waiting]

    def merge(self, other: Average) -> None:
        """Include the iterates of another average."""
        self.count += other.count
        self._sum = add_up([self._merged(), other._merged()], self.max_rank)
        self._waiting = []

    def copy(self) -> Average:
        """Return a copy that goes on by itself."""
        twin = Average.__new__(Average)
        twin.__dict__.update(self.__dict__)
        return twin

    def _merged(self) -> Subspace:
        """Return the sum of everything, truncated."""
        return add_up([self._sum, *self._waiting], self.max_rank)
