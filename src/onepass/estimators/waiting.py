"""Rows that wait until there are enough of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Waiting:
    """Up to `room` rows of d columns with their weights, in the order in which they came.

    Parameters
    ----------
    room : int
        How many rows there is room for.
    d : int
        Their number of columns.
    dtype : dtype
        Of the rows.
    is_sparse : bool
        Whether they are kept as CSR or dense.
    """

    def __init__(self, room: int, d: int, dtype: np.dtype, is_sparse: bool) -> None:
        self.room, self.count = room, 0
        self._weights = np.ones(room)
        self._dense = np.empty((0, d), dtype)  # until the first row comes
        self._pieces: list[Any] = []
        self._is_sparse = is_sparse

    def add(self, rows: Any, weights: NDArray[np.float64] | None) -> None:
        """Add rows that there is room for."""
        stop = self.count + rows.shape[0]
        if self._is_sparse:
            self._pieces.append(rows.copy())
        else:
            self._make_room(stop)
            self._dense[self.count : stop] = rows
        self._weights[self.count : stop] = 1.0 if weights is None else weights
        self.count = stop

    def rows(self) -> tuple[Any, NDArray[np.float64]]:
        """Return the rows and their weights."""
        if self._is_sparse:
            self._pieces = [sparse.vstack(self._pieces, format="csr")]
            return self._pieces[0], self._weights[: self.count]
        return self._dense[: self.count], self._weights[: self.count]

    def clear(self) -> None:
        """Forget all rows."""
        self.count = 0
        self._pieces = []

    def emptied(self) -> Waiting:
        """Return the same without any row."""
        return Waiting(self.room, self._dense.shape[1], self._dense.dtype, self._is_sparse)

    def _make_room(self, rows: int) -> None:
        """Make room for so many dense rows, and for some more unless they are the first."""
        if rows > len(self._dense):
            before, capacity = self._dense, min(self.room, max(rows, 2 * len(self._dense)))
            self._dense = np.empty((capacity, before.shape[1]), before.dtype)
            self._dense[: self.count] = before[: self.count]

    def copy(self) -> Waiting:
        """Return a copy that goes on by itself."""
        twin = Waiting.__new__(Waiting)
        twin.__dict__.update(self.__dict__)
        twin._weights, twin._pieces = self._weights.copy(), list(self._pieces)
        twin._dense = self._dense[:0]
        if self.count and not self._is_sparse:
            twin._dense = np.empty_like(self._dense)
            twin._dense[: self.count] = self._dense[: self.count]
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Only what is filled, so that equal contents are equal bytes."""
        state = self.__dict__.copy()
        state["_dense"] = self._dense[: self.count].copy()
        state["_weights"] = self._weights[: self.count].copy()
        state["_pieces"] = [self.rows()[0]] if self._pieces else []
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        dense, weights = self._dense, self._weights
        self._weights = np.ones(self.room)
        self._weights[: self.count] = weights
        if self.count and not self._is_sparse:
            self._dense = dense.copy()
