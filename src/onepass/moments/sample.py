"""A sample of the rows, spread evenly over the stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Sample:
    """Every s-th row, s doubled when there would be too many: nothing is left to chance.

    Parameters
    ----------
    room : int
        How many rows there is room for.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (r, d), or None
        r <= room; None before the first row.
    weights : ndarray of shape (r,)
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.rows: Any = None
        self.weights = np.zeros(0)
        self._stride = 1
        self._seen = 0

    def copy(self) -> Sample:
        """Return a copy; `add` never changes an array in place."""
        twin = Sample(0)
        twin.__dict__.update(self.__dict__)
        return twin

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.weights = factor * self.weights

    def merge(self, other: Sample) -> None:
        """Include the rows of another sample; each stands for as many rows as its stride says."""
        if other.rows is None:
            return
        longer = max(self._stride, other._stride)
        self.weights = self.weights * (self._stride / longer)
        self._stride = longer
        self._append(other.rows, other.weights * (other._stride / longer))
        self._seen += other._seen

    def limit(self, room: int) -> None:
        """Keep at most `room` rows from now on."""
        self.room = min(self.room, room)
        while len(self.weights) > self.room:
            self.rows, self.weights = self.rows[::2].copy(), self.weights[::2].copy()
            self._stride *= 2

    def add(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Let rows of shape (b, d) pass by."""
        first = -self._seen % self._stride
        self._seen += rows.shape[0]
        rows, weights = rows[first :: self._stride], weights[first :: self._stride]
        if rows.shape[0] == 0 or self.room == 0:
            return
        self._append(rows, weights)

    def _append(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Append rows as far as there is room, every other one left out until there is."""
        kept, had = slice(None), len(self.weights)
        while had + len(weights) > self.room:
            rows, weights = rows[had % 2 :: 2], weights[had % 2 :: 2]
            had = (had + 1) // 2
            self._stride *= 2
            kept = slice(None, None, (kept.step or 1) * 2)
        if self.rows is None:
            self.rows, self.weights = rows.copy(), weights.copy()
        else:
            stack = sparse.vstack if sparse.issparse(rows) else np.vstack
            self.rows = stack([self.rows[kept], rows])
            self.weights = np.concatenate([self.weights[kept], weights])
