"""The running low-rank average of iterates: the incremental rule applied to the iterates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.orthonormal import orthonormal
from onepass.subspace import Subspace


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
        self.count = 0
        self._sum = Subspace.empty(d, dtype=dtype)
        self._waiting: list[Subspace] = []

    def add(self, iterates: list[Subspace], count: int) -> None:
        """Add `count` iterates, given as summands of their sum."""
        self.count += count
        self._waiting = [*self._waiting, *iterates]
        if sum(iterate.rank for iterate in self._waiting) >= max(self.max_rank, 32):
            self._sum = self._merged()
            self._waiting = []

    def leading(self, k: int) -> NDArray[np.floating] | None:
        """Return k leading directions of what was merged so far, or None if there are fewer."""
        return self._sum.basis[:k] if self._sum.rank >= k else None

    def value(self) -> Subspace:
        """Return the average."""
        total, count = self._merged(), max(self.count, 1)
        return Subspace(orthonormal(total.basis), total.weights / count, total.rest / count)

    def copy(self) -> Average:
        """Return a copy that goes on by itself."""
        twin = Average.__new__(Average)
        twin.__dict__.update(self.__dict__)
        return twin

    def _merged(self) -> Subspace:
        """Return the sum of everything, truncated."""
        return add_up([self._sum, *self._waiting], self.max_rank)


def add_up(summands: list[Subspace], max_rank: int) -> Subspace:
    """Return the sum of matrices whose weights are at least their rest, truncated to a rank."""
    rest = sum(summand.rest for summand in summands)
    if sum(summand.rank for summand in summands) == summands[0].rank:
        return Subspace(summands[0].basis, summands[0].weights - summands[0].rest + rest, rest)
    factor = np.vstack(
        [
            np.sqrt(np.maximum(s.weights - s.rest, 0.0)).astype(s.basis.dtype)[:, None] * s.basis
            for s in summands
        ]
    )
    values, vectors = np.linalg.eigh((factor @ factor.T).astype(np.float64))
    kept = np.flatnonzero(values > 1e-14 * values[-1])[::-1][:max_rank]
    turn = (vectors[:, kept] / np.sqrt(values[kept])).T.astype(factor.dtype)
    return Subspace(turn @ factor, values[kept] + rest, rest)
