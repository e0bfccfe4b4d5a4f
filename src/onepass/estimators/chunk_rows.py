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
    given : ndarray or CSR array of shape (b, d)
    offset : ndarray of shape (d,)
        Taken away from every row.
    weights : ndarray of shape (b,)
    shift : ndarray of shape (d,) or None
        What is taken away from those given first, so that products do not lose digits to it.
    """

    given: Any
    offset: NDArray[np.float64]
    weights: NDArray[np.float64]
    shift: NDArray[np.float64] | None = None

    @classmethod
    def about(
        cls,
        rows: Any,
        shift: NDArray[np.float64],
        shifted: Any,
        mean: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> ChunkRows:
        """Return rows about a mean; `shifted` are those minus a shift, or None if nobody has them.

        Then they are worked out where they are wanted.
        """
        if shifted is None:
            return cls(rows, mean - shift, weights, shift)
        return cls(shifted.astype(rows.dtype, copy=False), mean - shift, weights)

    def __len__(self) -> int:
        return self.given.shape[0]

    def part(self, start: int, stop: int) -> ChunkRows:
        """Return rows start..stop."""
        if start == 0 and stop >= len(self):
            return self
        part, weights = self.given[start:stop], self.weights[start:stop]
        return ChunkRows(part, self.offset, weights, self.shift)

    @cached_property
    def rows(self) -> Any:
        """The rows (b, d), shifted."""
        if self.shift is None:
            return self.given
        return (self.given - self.shift).astype(self.given.dtype, copy=False)

    @cached_property
    def root(self) -> NDArray[np.float64]:
        """The roots of the weights (b,)."""
        return np.sqrt(self.weights)

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
        part, root = self.rows[start:stop], self.root[start:stop]
        if issparse(part):
            return Block(part, np.column_stack([-root, np.diag(root)]), self.offset)
        about = (part - self.offset).astype(part.dtype, copy=False)
        return Block(about) if (root == 1.0).all() else Block(about, np.diag(root))

    @cached_property
    def products(self) -> NDArray[np.float64]:
        """The products (b, b) of the rows with each other, nothing taken away."""
        if issparse(self.rows):
            return products_of_sparse(self.rows)
        rows = in_range(self.rows)
        return np.asarray(rows @ rows.T, dtype=np.float64)
