"""The running average of iterates (the paper's Section 3.1), truncated to a low rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.learning.result import orthonormal
from onepass.subspace import Subspace, truncate

PENDING_ROWS = 32  # at least so many rows are added to the sum together


class Average:
    """The average of all iterates added.

    It is kept as rows F with ``F.T @ F`` the sum of the iterates, without their rests, and
    truncated whenever `max_rank` further rows have come: exact where d is at most `max_rank`.

    Parameters
    ----------
    d : int
        The dimension of the iterates.
    max_rank : int
        The number of directions kept.
    dtype : dtype
        Of the rows F.
    """

    def __init__(self, d: int, max_rank: int, dtype: np.dtype) -> None:
        self.max_rank = max_rank
        self.count = 0.0  # iterates
        self.rest = 0.0  # the sum of their rests
        self.factor: NDArray[np.floating] = np.zeros(
            (0, d), dtype
        )  # truncated, in descending order
        self.pending: NDArray[np.floating] = np.zeros((0, d), dtype)  # rows not truncated yet

    def add(self, rows: NDArray[np.floating], rests: float, count: float) -> None:
        """Add `count` iterates: rows (s, d) whose ``rows.T @ rows`` is their sum less `rests` I."""
        self.count += count
        self.rest += rests
        self.pending = np.vstack([self.pending, rows]) if len(self.pending) else rows
        if len(self.pending) >= max(self.max_rank, PENDING_ROWS):
            self.factor, self.pending = self._truncated(), self.pending[:0]

    def leading(self, k: int) -> NDArray[np.floating]:
        """Return about k leading directions, those of the sum truncated last: (at most k, d)."""
        return orthonormal(self.factor[:k])

    def value(self) -> Subspace:
        """Return the average."""
        factor, count = self._truncated(), self.count or 1.0
        weights = np.einsum("ij,ij->i", factor, factor, dtype=np.float64) + self.rest
        return Subspace(orthonormal(factor), weights / count, self.rest / count)

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        root = self.factor.dtype.type(np.sqrt(factor))
        self.count, self.rest = factor * self.count, factor * self.rest
        self.factor, self.pending = root * self.factor, root * self.pending

    def merge(self, other: Average) -> None:
        """Include the iterates of another average."""
        self.pending = np.vstack([self.pending, other.factor, other.pending])
        self.factor, self.pending = self._truncated(), self.pending[:0]
        self.count, self.rest = self.count + other.count, self.rest + other.rest

    def copy(self) -> Average:
        """Return a copy; no array is changed in place."""
        twin = object.__new__(Average)
        twin.__dict__.update(self.__dict__)
        return twin

    def _truncated(self) -> NDArray[np.floating]:
        """Return the rows of everything added, truncated."""
        if not len(self.pending):
            return self.factor
        basis, values = truncate(np.vstack([self.factor, self.pending]), self.max_rank)
        return np.sqrt(values).astype(basis.dtype)[:, None] * basis

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        names = ("count", "rest", "factor", "pending")
        return {name: getattr(self, name) for name in names}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        self.__dict__.update(state)
