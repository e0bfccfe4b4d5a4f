"""A chunk of rows about a point, dense or sparse, and the products that are taken with it."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.threads import run_all

PANELS = 4  # into which the columns of large products are split; a fixed number, so fixed bits
PANEL_COLUMNS = 2048  # from which on a product is split
DENSE_PIECE_BYTES = 2**20  # of sparse rows that are made dense at a time


class Chunk:
    """Rows x as ``(x - origin) / scale``, which are ``near - offset``.

    The offset is what is never taken off sparse rows themselves, but off all products.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (r, d)
        Of any type.
    weights : ndarray of shape (r,)
    origin : ndarray of shape (d,)
        A point that is near to all rows.
    """

    scale: NDArray[np.float64] | None = None

    def __init__(
        self, rows: Any, weights: NDArray[np.float64], origin: NDArray[np.float64]
    ) -> None:
        self.weights, self.origin = weights, origin
        self.near: Any = rows.astype(np.float64, copy=False)
        self.offset: NDArray[np.float64] | None = origin if origin.any() else None
        if self.offset is not None and not sparse.issparse(rows):
            self.near, self.offset = self.near - origin, None

    def __len__(self) -> int:
        return int(self.near.shape[0])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.near.shape[1])

    def part(self, start: int, stop: int) -> Chunk:
        """Return rows start to stop."""
        part = self._copy()
        part.near, part.weights = self.near[start:stop], self.weights[start:stop]
        return part

    def _copy(self) -> Chunk:
        """Return a chunk that shares everything but what was computed from the rows."""
        twin = object.__new__(Chunk)
        twin.near, twin.weights, twin.offset = self.near, self.weights, self.offset
        twin.origin, twin.scale = self.origin, self.scale
        return twin

    def divided(self, scale: NDArray[np.float64]) -> Chunk:
        """Return the rows with their columns divided by a scale (d,)."""
        divided = self._copy()
        divided.scale = scale
        divided.offset = None if self.offset is None else self.offset / scale
        if sparse.issparse(self.near):
            divided.near = sparse.csr_array(self.near @ sparse.diags_array(1.0 / scale))
        else:
            divided.near = self.near / scale
        return divided

    def rescaled(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a vector (d,) in the units of these rows."""
        return vector if self.scale is None else vector / self.scale

    def unscaled(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a vector (d,) in the units of the rows that were given."""
        return vector if self.scale is None else vector * self.scale

    @cached_property
    def energies(self) -> NDArray[np.float64]:
        """The squared norms of the rows, shape (r,)."""
        if not sparse.issparse(self.near):
            return np.einsum("ij,ij->i", self.near, self.near)
        squares = np.asarray(self.near.multiply(self.near).sum(axis=1)).ravel()
        if self.offset is not None:
            squares += self.offset @ self.offset - 2.0 * (self.near @ self.offset)
        return squares.clip(min=0.0)

    def distances(
        self, points: NDArray[np.float64], inner: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the squared distances (r, m) of the rows from points (m, d).

        `inner` are the products (r, m) with them, where these are known.
        """
        inner = self.inner(points) if inner is None else inner
        squares = np.einsum("ij,ij->i", points, points)
        return np.maximum(self.energies[:, None] - 2.0 * inner + squares, 0.0)

    def inner(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the products (r, m) with directions (m, d)."""
        if sparse.issparse(self.near):
            products = self.near @ np.ascontiguousarray(directions.T)
        else:
            products = _sum_over_panels(lambda c: self.near[:, c] @ directions[:, c].T, self.d)
        return products if self.offset is None else products - directions @ self.offset

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``coefficients @ rows`` of shape (m, d), from coefficients (m, r).

        In Fortran order, in which products with sparse rows are fast.
        """
        columns = np.ascontiguousarray(coefficients.T)
        if sparse.issparse(self.near):
            combined = self.near.T @ columns
        else:
            combined = np.empty((self.d, len(coefficients)))
            run_all(
                lambda c: np.matmul(self.near[:, c].T, columns, out=combined[c]), _panels(self.d)
            )
        if self.offset is not None:
            combined -= np.outer(self.offset, columns.sum(axis=0))
        return combined.T

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """The products (r, r) of the rows with each other."""
        if not sparse.issparse(self.near):
            return _sum_over_panels(lambda c: self.near[:, c] @ self.near[:, c].T, self.d)
        products = (self.near @ self.near.T).toarray()
        if self.offset is not None:
            across = self.near @ self.offset
            products -= across[:, None] + across - self.offset @ self.offset
        return products

    def second(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum (d, d) of w x x' over the rows, for weights (r,) of any rows."""
        if not sparse.issparse(self.near):
            rows = self.near if (weights == 1.0).all() else np.sqrt(weights)[:, None] * self.near
            return rows.T @ rows
        total = np.zeros((self.d, self.d))
        length = max(1, DENSE_PIECE_BYTES // (8 * self.d))
        for start in range(0, len(self), length):
            piece = self.near[start : start + length].toarray()
            if self.offset is not None:
                piece -= self.offset
            piece *= np.sqrt(weights[start : start + length])[:, None]
            total += piece.T @ piece
        return total

    def column_squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over the rows of the squares of each column, (d,), for weights (r,)."""
        if not sparse.issparse(self.near):
            return np.einsum("ij,ij,i->j", self.near, self.near, weights)
        squares = np.asarray(self.near.multiply(self.near).T @ weights).ravel()
        if self.offset is not None:
            twice = 2.0 * (self.near.T @ weights)
            squares += self.offset * (weights.sum() * self.offset - twice)
        return squares.clip(min=0.0)


def _panels(d: int) -> list[slice]:
    """Return the columns that are worked on at a time; all of them where they are few."""
    if d < PANEL_COLUMNS:
        return [slice(0, d)]
    edges = np.linspace(0, d, PANELS + 1).astype(int)
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def _sum_over_panels(product: Any, d: int) -> NDArray[np.float64]:
    """Return the sum of a product over panels of columns, always added in the same order."""
    first, *others = run_all(product, _panels(d))
    for other in others:
        first += other
    return first
