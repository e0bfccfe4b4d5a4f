"""A chunk of rows about a point, dense or sparse, and the products that are taken with it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass import _core
from onepass.threads import run_all

PANELS = 4  # into which the columns of wide products are split; a fixed number, so fixed bits
PANEL_COLUMNS = 2048  # from which on a product is split
HALVED_COLUMNS = 512  # from which on rows are split in two
DENSE_PIECE_BYTES = 2**20  # of sparse rows that are made dense at a time


class Chunk:
    """Rows x as ``(x - origin) / scale``, which are ``near - offset``.

    The offset is subtracted from products, never from the rows: so sparse rows stay sparse.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (r, d)
        Of any type.
    weights : ndarray of shape (r,)
    origin : ndarray of shape (d,)
        A point that is near to all rows.
    """

    def __init__(
        self, rows: Any, weights: NDArray[np.float64], origin: NDArray[np.float64]
    ) -> None:
        self.weights, self.origin, self.d = weights, origin, int(rows.shape[1])
        self.scale: Any = 1.0  # what the columns were divided by: a number, or an array (d,)
        self.near: Any = rows.astype(np.float64, copy=False)
        self.offset: NDArray[np.float64] | None = origin if origin.any() else None
        if self.offset is not None and not sparse.issparse(rows):
            far, self.near, self.offset = self.near, np.empty_like(self.near), None
            run_all(lambda half: np.subtract(far[half], origin, self.near[half]), self._halves())

    def __len__(self) -> int:
        return len(self.weights)

    def _with(self, **changes: Any) -> Chunk:
        """Return a chunk that differs in some attributes, without what was computed from rows."""
        twin = object.__new__(Chunk)
        names = ("near", "weights", "offset", "origin", "scale", "d")
        twin.__dict__ = {name: self.__dict__[name] for name in names} | changes
        return twin

    def part(self, start: int, stop: int) -> Chunk:
        """Return rows start to stop."""
        return self._with(near=self.near[start:stop], weights=self.weights[start:stop])

    def divided(self, scale: NDArray[np.float64]) -> Chunk:
        """Return the rows with their columns divided by a scale (d,)."""
        offset = None if self.offset is None else self.offset / scale
        if sparse.issparse(self.near):
            near = sparse.csr_array(self.near @ sparse.diags_array(1.0 / scale))
        else:
            near = self.near / scale
        return self._with(near=near, offset=offset, scale=scale)

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
        elif self.d < PANEL_COLUMNS:  # few directions by many rows is faster than many by few
            halves = run_all(lambda half: directions @ self.near[half].T, self._halves())
            products = np.hstack(halves).T
        else:
            products = _sum(lambda c: directions[:, c] @ self.near[:, c].T, self._panels()).T
        return products if self.offset is None else products - directions @ self.offset

    def combine(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``coefficients @ rows`` of shape (m, d), from coefficients (m, r).

        The result is in Fortran order if the rows are, or are sparse: products with sparse rows are
        fast in it.
        """
        if not sparse.issparse(self.near) and self.near.flags.c_contiguous:
            if self.d < PANEL_COLUMNS:
                return coefficients @ self.near
            combined = np.empty((len(coefficients), self.d))
            run_all(
                lambda c: np.matmul(coefficients, self.near[:, c], out=combined[:, c]),
                self._panels(),
            )
            return combined
        columns = np.ascontiguousarray(coefficients.T)
        combined = self.near.T @ columns
        if self.offset is not None:
            combined -= np.outer(self.offset, columns.sum(axis=0))
        return combined.T

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """The products (r, r) of the rows with each other."""
        if not sparse.issparse(self.near):
            return _sum(lambda c: self.near[:, c] @ self.near[:, c].T, self._panels())
        products = sparse_gram(self.near)
        if self.offset is not None:
            across = self.near @ self.offset
            products -= across[:, None] + across - self.offset @ self.offset
        return products

    def sums(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums (d,) of w x and (d, d) of w x x' over the rows, for weights (r,)."""
        if sparse.issparse(self.near):
            return self._sparse_sums(weights)
        rows = self.near if (weights == 1.0).all() else np.sqrt(weights)[:, None] * self.near
        second = _sum(lambda half: rows[half].T @ rows[half], self._halves())
        return weights @ self.near, second

    def _sparse_sums(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return those of sparse rows, a few of which are made dense at a time.

        The offset is subtracted from these rows, so that columns that are constant stay so.
        """
        total, second = np.zeros(self.d), np.zeros((self.d, self.d))
        length = max(1, DENSE_PIECE_BYTES // (8 * self.d))
        for start in range(0, len(self), length):
            piece = self.near[start : start + length].toarray()
            if self.offset is not None:
                piece -= self.offset
            total += weights[start : start + length] @ piece
            piece *= np.sqrt(weights[start : start + length])[:, None]
            second += piece.T @ piece
        return total, second

    def column_squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over the rows of the squares of each column, (d,), for weights (r,)."""
        if not sparse.issparse(self.near):
            return np.einsum("ij,ij,i->j", self.near, self.near, weights)
        squares = np.asarray(self.near.multiply(self.near).T @ weights).ravel()
        if self.offset is not None:
            twice = 2.0 * (self.near.T @ weights)
            squares += self.offset * (weights.sum() * self.offset - twice)
        return squares.clip(min=0.0)

    def _halves(self) -> list[slice]:
        """Return the rows that are worked on at a time; all of them where columns are few."""
        middle = (len(self) + 1) // 2
        return [slice(middle), slice(middle, None)] if self.d >= HALVED_COLUMNS else [slice(None)]

    def _panels(self) -> list[slice]:
        """Return the columns that are worked on at a time; all of them where they are few."""
        if self.d < PANEL_COLUMNS:
            return [slice(0, self.d)]
        edges = np.linspace(0, self.d, PANELS + 1).astype(int)
        return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def sparse_gram(rows: Any) -> NDArray[np.float64]:
    """Return the products (r, r) of rows of a csr_array (r, d) with each other."""
    columns = rows.astype(np.float64, copy=False).tocsc()
    indices, starts = columns.indices.astype(np.int64), columns.indptr.astype(np.int64)
    return _core.sparse_gram(columns.data, indices, starts, rows.shape[0])


def _sum(product: Callable[[Any], NDArray[np.float64]], pieces: list[Any]) -> NDArray[np.float64]:
    """Return the sum of a product over pieces of a chunk, always added in the same order."""
    first, *others = run_all(product, pieces)
    for other in others:
        first += other
    return first
