"""Memory that the engine works in, used again for every block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.tiles import aligned


class Room:
    """Two arrays that take turns: one holds U, the other receives the next U."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.floating]] = [np.empty((0, 0)), np.empty((0, 0))]
        self._eye = np.eye(0)
        self._counters = np.zeros((2, 0), np.int64)
        self.sure_of: NDArray | None = None  # a basis that was made orthonormal not long ago

    def pair(self, basis: NDArray, most: int) -> tuple[NDArray, NDArray]:
        """Return two arrays for bases of rank `most`, of which the first begins with this one."""
        for which in (0, 1):
            self._fit(which, max(most, len(basis)), basis)
        front, back = self._arrays
        if np.may_share_memory(back, basis):
            front, back = back, front
        elif not np.may_share_memory(front, basis):
            front[: len(basis)] = basis
        return front, back

    def receive(self, rows: int, like: NDArray) -> NDArray:
        """Return room for the next basis, where the one before, `like`, is not."""
        self._turn(like)
        self._fit(0, rows, like)
        return self._arrays[0][:rows]

    def receive_columns(self, count: int, like: NDArray) -> NDArray:
        """Return room for the next basis as the columns of a (d, count) array, in the same way."""
        self._turn(like)
        size = count * like.shape[1]
        if self._arrays[0].size < size or self._arrays[0].dtype != like.dtype:
            self._arrays[0] = np.empty(size, like.dtype)
        return self._arrays[0].reshape(-1)[:size].reshape(like.shape[1], count)

    def _turn(self, basis: NDArray) -> None:
        """Let the first array be one that a basis is not in."""
        if np.may_share_memory(self._arrays[0], basis):
            self._arrays.reverse()

    def counters(self, d: int) -> NDArray[np.int64]:
        """Return zeros of shape (2, d), which whoever uses them leaves as such."""
        if self._counters.shape[1] < d:
            self._counters = np.zeros((2, d), np.int64)
        return self._counters

    def eye(self, m: int, n: int) -> NDArray[np.float64]:
        """Return m rows of the identity (n, n), to be read only."""
        if self._eye.shape != (m, n):
            self._eye = np.eye(m, n)
        return self._eye

    def _fit(self, which: int, rows: int, like: NDArray) -> None:
        """Make array `which` large enough."""
        array = self._arrays[which]
        if len(array) < rows or array.shape[1:] != like.shape[1:] or array.dtype != like.dtype:
            self._arrays[which] = aligned(rows, like.shape[1], like.dtype)
