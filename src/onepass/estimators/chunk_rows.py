"""The rows of a chunk as challengers learn from them: about one mean, which is never subtracted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.frames import Block, products_of_sparse
from onepass.moments.products import combine, in_range

LEFT = 1e-6  # share of a row's energy below which cancellation has cost too many digits
FEW = 16  # sparse rows that are made dense at once


def energies_about(rows: Any, offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances (b,) of rows, dense or sparse, to an offset (d,)."""
    if not issparse(rows):
        rows = rows - offset if offset.any() else rows
        return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    wide = rows.astype(np.float64, copy=False)
    before = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
    before = before + offset @ offset
    energies = before - 2 * (rows @ offset)
    lost = np.flatnonzero(energies < LEFT * before)
    for start in range(0, len(lost), FEW):
        few = lost[start : start + FEW]
        energies[few] = energies_about(rows[few].toarray(), offset)
    return energies


@dataclass(frozen=True)
class ChunkRows:
    """``root * (rows - offset)``, and what is asked of it.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (b, d)
    offset : ndarray of shape (d,)
        Taken away from every row.
    root : ndarray of shape (b,)
        The roots of the weights.
    """

    rows: Any
    offset: NDArray[np.float64]
    root: NDArray[np.float64]

    def __len__(self) -> int:
        return self.rows.shape[0]

    def part(self, start: int, stop: int) -> ChunkRows:
        """Return rows start..stop."""
        if start == 0 and stop >= len(self):
            return self
        return ChunkRows(self.rows[start:stop], self.offset, self.root[start:stop])

    def inner(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the products with directions of shape (j, d): (b, j)."""
        inner = np.asarray(self.rows @ directions.T, dtype=np.float64)
        return self.root[:, None] * (inner - directions @ self.offset)

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """The products (b, b) of what is learned from with each other."""
        gram = self.products
        along = self.rows @ self.offset
        gram = gram - along[:, None] - along + self.offset @ self.offset
        return self.root[:, None] * gram * self.root

    @cached_property
    def left(self) -> float:
        """The least share of its energy that taking the offset away has left of a row."""
        before, after = self.root**2 * self.products.diagonal(), self.gram.diagonal()
        some = (before > 0.0) | (after != 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return float((after[some] / before[some]).min(initial=1.0))

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``coefficients @ what is learned from`` for coefficients (j, b): (j, d)."""
        coefficients = coefficients * self.root
        rounded = coefficients.astype(self.rows.dtype, copy=False)
        product = combine(rounded, self.rows).astype(np.float64, copy=False)
        product -= np.outer(coefficients.sum(axis=1), self.offset)
        return product

    def block(self, start: int, stop: int) -> Block:
        """Return rows start..stop for the engine."""
        part = self.rows[start:stop]
        mixing = np.diag(self.root[start:stop])
        if issparse(part):
            mixing = np.column_stack([-self.root[start:stop], mixing])
            return Block(part, mixing, self.offset)
        return Block((part - self.offset).astype(part.dtype), mixing)

    @cached_property
    def products(self) -> NDArray[np.float64]:
        """The products (b, b) of the rows with each other, nothing taken away."""
        if issparse(self.rows):
            return products_of_sparse(self.rows)
        rows = in_range(self.rows)
        return np.asarray(rows @ rows.T, dtype=np.float64)
