"""Rows that are kept as they are while they are few, and principal directions of rows in memory.

The second moment of n rows of d columns has d^2 entries and the rank n. While there are fewer rows
than columns, the rows themselves take less memory than it, and their Gram matrix (n, n) has the
same eigenvalues; so neither a matrix (d, d) nor an approximation is needed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Self

import numpy as np
from scipy import sparse

from onepass.moments.chunk import Chunk, DenseChunk, Scale, SparseChunk, chunk_about, rows_in
from onepass.moments.krylov import Eigenpairs, decomposed, improved, iterated, iterates
from onepass.moments.moment import ColumnSums, Moment
from onepass.moments.sketch import GRAM_ROWS
from onepass.persistence.fields import Field, Parts
from onepass.precision import TINY, Doubles, Rows
from onepass.stream import RowBuffer, Stream
from onepass.threads import run_all

KEPT_BYTES = 2**27  # of rows that are kept, as much as the largest matrix of dense rows takes
MOST_PIECES = 2**20  # in a checkpoint: no stream keeps as many chunks of rows
BESIDE = 10  # directions besides those wanted: the iteration converges faster by what it costs
# Of the first value: where the last one wanted is below, float32 rows are multiplied in double.
SINGLE_RANGE = 1e-5
# Columns are moved where the square of the mean is so many times the variance. Elsewhere the mean
# is taken off products, which loses two digits there, and nothing has to be copied.
FAR = 1e4
TILE_BYTES = 2**24  # of columns of all rows whose products are added to the Gram matrix at a time
PART_BYTES = 2**23  # of dense rows whose product is added to those of others in double precision
PART_ENTRIES = 2**22  # of sparse rows: adding a product of many columns takes as long as 30 each
GROUP = 4  # parts whose products are found at the same time: a fixed number, so fixed bits
Block = tuple[Rows, Doubles]  # rows (r, d), an array or CSR, and their weights (r,)


def far_mean(sums: ColumnSums) -> Doubles:
    """Return the mean (d,) of rows in columns where it is far from zero, and zero elsewhere."""
    return np.where(sums.weight * sums.mean**2 > FAR * sums.columns, sums.mean, 0.0)


def origin_for(moment: Moment, values: Rows, weights: Doubles) -> Doubles:
    """Return a point (d,) near rows (r, d) that a second moment is going to learn from.

    For the first rows it is their mean, in columns where that is far from zero. Their sums are
    taken about the first row, so that the mean of a constant column is exact.
    """
    origin = np.zeros(values.shape[1])
    if moment.center and moment.weight > 0.0:
        origin = moment.nearer_origin()
    elif moment.center:
        one = np.ones((1, 1))
        first = chunk_about(values[:1], weights[:1], origin).combine(one)[0]
        shares = weights / weights.sum()
        rows = chunk_about(values, weights, first)
        step = rows.combine(shares[None])[0]
        mean, variances = first + step, rows.column_squares(shares) - step**2
        origin = np.where(mean**2 > variances, mean, 0.0)
    return origin.astype(values.dtype).astype(np.float64)


def energy_of(sums: ColumnSums, scale: Scale) -> float:
    """Return the sum of all squares about the mean, in units of a scale (d,) if there is one."""
    return float((sums.columns if scale is None else sums.columns / scale**2).sum())


def slices(values: Rows) -> Iterator[slice]:
    """Yield slices of rows (r, d) that are worked on at a time."""
    count, d = values.shape
    length = PART_BYTES // (d * values.dtype.itemsize)
    if not isinstance(values, np.ndarray):
        length = PART_ENTRIES * count // max(values.nnz, 1)
    length = max(length, 16)
    for start in range(0, count, length):
        yield slice(start, start + length)


def parts_of(values: Rows, weights: Doubles, origin: Doubles, is_double: bool) -> Iterator[Chunk]:
    """Yield rows (r, d) a few at a time, about an origin (d,), in double precision if need be."""
    for part in slices(values):
        rows = rows_in(values, part)
        rows = rows.astype(np.float64) if is_double else rows
        yield chunk_about(rows, weights[part], origin)


def add_products(
    product: Doubles, along: Doubles, parts: Iterator[Chunk], columns: Doubles, step: Doubles
) -> None:
    """Add products (m, d) of rows with rows with columns (d, m), and sums along these (m,).

    The first factor of the products is about the origin of the rows, the second one about the point
    that is a step (d,) from there.
    """
    kinds, offset = (np.float64, np.float32), step @ columns
    typed = {np.dtype(kind): np.ascontiguousarray(columns, kind) for kind in kinds}

    def multiply(rows: Chunk) -> tuple[Doubles, Doubles]:
        dense, values = isinstance(rows, DenseChunk), rows.values
        if dense and rows.origin.any():
            values = values - rows.origin.astype(values.dtype)
        inner = values @ typed[values.dtype] if dense else rows.inner(columns.T)
        inner -= offset.astype(inner.dtype)
        inner *= rows.weights[:, None].astype(inner.dtype)
        across = np.ascontiguousarray(inner.T)  # few by many is faster than many by few
        product = across @ values if dense else rows.combine(across)
        return product, across.sum(axis=1, dtype=np.float64)

    while group := list(islice(parts, GROUP)):
        for found, total in run_all(multiply, group):
            product += found
            along += total


class RowMatrix:
    """Rows X in memory about their mean, times the roots of their weights, and A = X' X.

    Dense rows are moved to the mean where it is far from zero; elsewhere, and for sparse rows, it
    is taken off products.

    Parameters
    ----------
    blocks : sequence of Block
    sums : ColumnSums
        Weight, mean and squares of the columns of these rows.
    scale : ndarray of shape (d,), optional
        What columns are divided by.
    """

    def __init__(self, blocks: Sequence[Block], sums: ColumnSums, scale: Scale = None) -> None:
        self.blocks, self.mean, self.scale, self.d = blocks, sums.mean, scale, sums.d
        self.origin, self.energy = far_mean(sums), energy_of(sums, scale)
        self.step = sums.mean - self.origin
        self.roots = np.sqrt(np.concatenate([weights for _, weights in blocks]))
        self.is_double = False

    def __len__(self) -> int:
        return len(self.roots)

    def _parts(self) -> Iterator[Chunk]:
        """Yield the rows a few at a time."""
        for values, weights in self.blocks:
            yield from parts_of(values, weights, self.origin, self.is_double)

    def times(self, columns: Doubles) -> Doubles:
        """Return the product (d, m) of A with columns (d, m)."""
        raw = columns if self.scale is None else columns / self.scale[:, None]
        product, along = np.zeros(raw.shape[::-1]), np.zeros(raw.shape[1])
        add_products(product, along, self._parts(), raw, self.step)
        product -= np.outer(along, self.step)
        product = product.T if self.scale is None else (product / self.scale).T
        return np.ascontiguousarray(product)

    def combine(self, coefficients: Doubles) -> Doubles:
        """Return ``coefficients @ X`` (m, d)."""
        combined, start = np.zeros((len(coefficients), self.d)), 0
        shares = coefficients * self.roots
        for rows in self._parts():
            combined += rows.combine(shares[:, start : start + len(rows)])
            start += len(rows)
        combined -= np.outer(shares.sum(axis=1), self.step)
        return combined if self.scale is None else combined / self.scale

    def inner(self, directions: Doubles) -> Doubles:
        """Return ``X @ directions.T`` (n, m)."""
        raw = directions if self.scale is None else directions / self.scale
        inner = np.vstack([rows.inner(raw) for rows in self._parts()])
        return self.roots[:, None] * (inner - raw @ self.step)

    def gram(self) -> Doubles:
        """Return ``X @ X.T`` (n, n)."""
        values = [values for values, _ in self.blocks]
        if sparse.issparse(values[0]):
            together = sparse.csr_array(sparse.vstack(values, format="csr")).astype(np.float64)
            chunk = SparseChunk(together, self.roots, self.mean, self.scale)
            return self.roots[:, None] * chunk.gram * self.roots
        gram = np.zeros((len(self), len(self)))
        dtype = np.float64 if self.is_double else values[0].dtype
        width = max(16, TILE_BYTES // (8 * len(self)))
        for first in range(0, self.d, width):
            tile = slice(first, first + width)
            part = np.vstack([rows[:, tile] for rows in values]).astype(dtype, copy=False)
            part -= self.mean[tile].astype(dtype)
            if self.scale is not None:
                part /= self.scale[tile].astype(dtype)
            part *= self.roots[:, None].astype(dtype)
            gram += part @ part.T
        return gram

    def leading(self, k: int, start: Doubles | None = None, more: int = 0) -> Eigenpairs:
        """Return leading directions (m, d) and sums of squares along them (m,), largest first.

        The first k are as exact as can be; `more` are returned if they are found besides. They
        come from products with the rows if these take less time than the Gram matrix. `start`
        (m, d) are directions near them, if some are known.
        """
        k = min(k, len(self), self.d)
        found = self.iterated(k, start, more) if len(self) > GRAM_ROWS else None
        return found or self._decomposed(k, more)

    def iterated(self, k: int, start: Doubles | None, more: int) -> Eigenpairs | None:
        """Return directions and sums by products with the rows; None if that would take long."""
        width, unit = min(k + BESIDE, len(self), self.d), self.energy
        if not TINY < unit < np.inf:
            return None
        known = np.zeros((0, self.d)) if start is None else start[:k]
        mixed = self.combine(np.random.default_rng(0).normal(size=(width - len(known), len(self))))
        # A product with A takes 4 n d operations for each direction, at half the speed of the n d
        # for each row that a half of the Gram matrix takes.
        most = len(self) // (8 * width)
        both = np.vstack([known, mixed])
        found = iterated(lambda columns: self.times(columns) / unit, both, k, more, most)
        return found and (found[0], found[1] * unit)

    def _decomposed(self, k: int, more: int) -> Eigenpairs:
        """Return directions and sums from the Gram matrix of the rows."""
        gram, found = self.gram(), None
        unit = float(gram.trace()) or 1.0
        if iterates(len(gram), k) and TINY < unit < np.inf:
            none = np.zeros((0, len(gram)))
            found = iterated(lambda columns: gram @ columns / unit, none, k, more)
        vectors, values = found or decomposed(gram / unit, min(k + more, len(gram), self.d))
        if not self.is_double and values[k - 1] < SINGLE_RANGE * values[0]:
            self.is_double = True
            return self._decomposed(k, more)
        return np.linalg.qr(self.combine(vectors).T)[0].T, values * unit


class KeptRows(ColumnSums):
    """The second moment of all rows of a stream, of which there are fewer than columns.

    Attributes
    ----------
    pieces : list of RowBuffer
        The rows of each chunk. Neither the list nor the rows change: copies share them.
    """

    is_additive = True

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream.d, stream.center)
        self.stream = stream
        self.pieces: list[RowBuffer] = []

    def fields(self) -> dict[str, Field]:
        pieces = Parts(lambda: RowBuffer(self.stream), 0, MOST_PIECES)
        return {**super().fields(), "pieces": pieces}

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy that goes on by itself."""
        return copy.copy(self)

    def blocks(self) -> list[Block]:
        """Return the rows of each chunk, and their weights."""
        return [piece.content() for piece in self.pieces]

    def fits(self, *others: Any) -> bool:
        """Return whether other rows (r, d) can be kept as well."""
        held = [*(values for values, _ in self.blocks()), *others]
        rows = sum(values.shape[0] for values in held)
        return rows < self.d and sum(map(_bytes, held)) <= KEPT_BYTES

    def add(self, rows: Chunk, weights: Doubles) -> None:
        self.add_columns(rows, weights)
        piece = RowBuffer(self.stream)
        piece.add(self.stream.convert(rows.values), weights, len(weights))
        self.pieces = [*self.pieces, piece]

    def merge(self, other: Self, scale: Scale = None) -> None:
        self.merge_columns(other)
        self.pieces = [*self.pieces, *other.pieces]

    def _rows(self, scale: Scale) -> RowMatrix:
        """Return the rows about their mean, divided by a scale (d,) if there is one."""
        return RowMatrix(self.blocks(), self, scale)

    def energy(self, scale: Scale = None) -> float:
        return energy_of(self, scale)

    def leading(self, k: int, scale: Scale = None, start: Doubles | None = None) -> Eigenpairs:
        return self._rows(scale).leading(k, start)

    def improved(self, directions: Doubles, scale: Scale = None) -> Eigenpairs:
        return improved(self._rows(scale).times, directions)

    def times(self, columns: Doubles, scale: Scale = None) -> Doubles:
        return self._rows(scale).times(columns)

    def spectrum(self, scale: Scale = None) -> Doubles:
        return np.linalg.eigvalsh(self._rows(scale).gram())[::-1].clip(min=0.0)

    def compress(self, directions: Doubles, scale: Scale = None) -> Doubles:
        inner = self._rows(scale).inner(directions)
        return inner.T @ inner


def _bytes(rows: Any) -> int:
    """Return the memory that rows (r, d) take, with four bytes for each index."""
    if sparse.issparse(rows):
        return int(rows.nnz * (rows.dtype.itemsize + 4))
    return int(rows.nbytes)
