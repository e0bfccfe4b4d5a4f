"""Rows on their way into the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


@dataclass(frozen=True)
class Block:
    """Rows on their way into the engine: ``mixing @ [offset; rows]``.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (r, d)
        In the dtype of the state.
    mixing : ndarray of shape (b, r) or, with an offset, (b, 1 + r); or None
        What is learned from are combinations of the rows: weighted, or centred as they come. None
        stands for the rows as they are.
    offset : ndarray of shape (d,) or None
        One more row, in front: how sparse rows are centred without making them dense.
    """

    rows: Any
    mixing: NDArray[np.float64] | None = None
    offset: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return self.rows.shape[0] if self.mixing is None else len(self.mixing)

    def part(self, start: int, stop: int) -> Block:
        """Return rows start..stop of what is learned from."""
        if start == 0 and stop == len(self):
            return self
        if self.mixing is None:
            return Block(self.rows[start:stop])
        return Block(self.rows, self.mixing[start:stop], self.offset)

    def inner(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the products of what is learned from with directions of shape (j, d): (b, j)."""
        inner = np.asarray(self.rows @ directions.T, dtype=np.float64)
        if self.offset is not None:
            inner = np.vstack([directions @ self.offset, inner])
        return inner if self.mixing is None else self.mixing @ inner

    def energy(self) -> NDArray[np.float64]:
        """Return the squared norms of what is learned from, of shape (b,)."""
        rows = self.to_dense()
        return np.einsum("ij,ij->i", rows, rows)

    def to_dense(self) -> NDArray[np.float64]:
        """Return what is learned from as a (b, d) array."""
        rows = self.rows.toarray() if issparse(self.rows) else self.rows
        rows = rows.astype(np.float64)
        if self.offset is not None:
            rows = np.vstack([self.offset, rows])
        return rows if self.mixing is None else self.mixing @ rows
