"""Rows at one time, dense or sparse, about a point and in units of a scale, with their products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.blas import dsyr2

from onepass import _core
from onepass.precision import TINY, Doubles
from onepass.threads import run_all, thread_count

TILE_BYTES = 2**19  # of dense rows that are centred and multiplied while they are in a core's cache
OUTER_BYTES = 2**20  # of rows whose outer products are added at a time, as much as a core's cache
# Sums over tiles are taken in so many accumulators and then added: a fixed number, so that the bits
# do not depend on the number of threads. It is also the number of threads that narrow rows can use.
ACCUMULATORS = 4
# From so many columns on a second moment is split by blocks of its columns instead: accumulators
# would take too much memory, and blocks are large enough for BLAS.
SPLIT_COLUMNS = 1024
SPLIT_BLOCKS = 8  # of columns of the output; a fixed number, so fixed bits
# The largest entry of rows whose squares are summed in single precision: the sum of 8,192 x 4,096
# squares of the larger one is below 3.4e38, and squares of a millionth of the smaller one are not
# zero.
LEAST_SINGLE, MOST_SINGLE = 1e-15, 1e15
# Of the rows whose products are added to blocks at a time: with fewer, adding would cost more than
# multiplying, since each block is read and written once for each of these tiles.
SPLIT_BYTES = 2**24
FEW_ROWS = 16  # of which a product is taken at once: one tile of a few wide rows
Scale = Doubles | None  # what columns (d,) are divided by, if they are


class PartSums(NamedTuple):
    """Sums over parts of the rows of a chunk, in the coordinates of the chunk."""

    weights: Doubles  # (s,)
    means: Doubles  # (s, d)
    squares: Doubles  # (s, d), of the columns about the means of the parts
    products: Any  # (s, d, K), the scatters about these means times a frame (K, d)


def about_means(
    weights: Doubles, totals: Doubles, squares: Doubles, products: Doubles, frame: Doubles
) -> PartSums:
    """Return sums of parts about their means, from sums of x, of its squares and of x x' frame'.

    The last ones are overwritten: they may be large.
    """
    means = totals / np.maximum(weights, TINY)[:, None]
    squares = (squares - totals * means).clip(min=0.0)
    for product, total, along in zip(products, totals, means @ frame.T, strict=True):
        product -= np.outer(total, along)
    return PartSums(weights, means, squares, products)


class Chunk(ABC):
    """Rows x of weights w as ``(x - origin) / scale``, shape (r, d).

    Parameters
    ----------
    values : ndarray or csr_array of shape (r, d)
        float64 or float32.
    weights : ndarray of shape (r,)
    origin : ndarray of shape (d,)
        A point near the rows, so that sums of squares lose no digits to their mean.
    scale : ndarray of shape (d,), optional
        What the columns are divided by.
    filled : Filled, optional
        What was filled into the gaps of the values.
    """

    # Whether outer products of sparse rows may be summed in single precision, if there are columns
    # enough for that to matter.
    sums_single = False

    def __init__(
        self,
        values: Any,
        weights: Doubles,
        origin: Doubles,
        scale: Scale = None,
        filled: Any = None,
    ) -> None:
        self.values, self.weights, self.origin, self.scale = values, weights, origin, scale
        self.d, self.filled = int(values.shape[1]), filled

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, part: slice) -> Self:
        """Return some of the rows."""
        filled = None if self.filled is None else self.filled[part]
        values = rows_in(self.values, part)
        return type(self)(values, self.weights[part], self.origin, self.scale, filled)

    def scaled(self, scale: Doubles) -> Self:
        """Return the rows with their columns divided by a scale (d,)."""
        return type(self)(self.values, self.weights, self.origin, scale, self.filled)

    def at(self, point: Doubles) -> Doubles:
        """Return a point (d,) of the space of x in the coordinates of these rows."""
        moved = point - self.origin
        return moved if self.scale is None else moved / self.scale

    @cached_property
    @abstractmethod
    def energies(self) -> Doubles:
        """The squared norms of the rows, shape (r,)."""

    @abstractmethod
    def inner(self, directions: NDArray[np.floating]) -> Doubles:
        """Return the products (r, m) with directions (m, d)."""

    @abstractmethod
    def combine(self, coefficients: Doubles) -> Doubles:
        """Return ``coefficients @ rows`` (m, d), from coefficients (m, r)."""

    def outside(self, directions: Doubles) -> tuple[Doubles, Doubles]:
        """Return coordinates (r, m) along orthonormal directions, and squared distances (r,).

        Small distances from the span are accurate, too.
        """
        inner = np.empty((len(self), len(directions)))
        distances = np.zeros(len(self))
        for part, tile in self.dense():
            inner[part] = tile @ directions.T
            if len(directions) < self.d:
                rest = tile - inner[part] @ directions
                distances[part] = np.einsum("ij,ij->i", rest, rest)
        return inner, distances

    @abstractmethod
    def measure(self, point: Doubles, directions: Doubles | None = None) -> tuple[Doubles, Doubles]:
        """Return squared distances (r,) from a point, and from it plus the span of directions (r,).

        The point (d,) is in the coordinates of these rows, and directions (k, d) are orthonormal.
        From their span, only observed entries of rows with gaps count.
        """

    def measure_along(
        self, point: Doubles, directions: Doubles
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Return what `measure` does, and coordinates (r, k) of the rows from the point."""
        along = self.inner(directions) - directions @ point
        return *self.measure(point, directions), along

    def observed_errors(self, errors: Doubles, point: Doubles, directions: Doubles) -> Doubles:
        """Return errors (r,) of `measure` over all entries as those over observed entries alone."""
        return errors

    @cached_property
    @abstractmethod
    def gram(self) -> Doubles:
        """The products (r, r) of the rows with each other."""

    @abstractmethod
    def column_squares(self, weights: Doubles) -> Doubles:
        """Return the weighted sums of the squares of the columns, shape (d,)."""

    @abstractmethod
    def part_sums(self, weights: Doubles, edges: list[int], frame: Doubles) -> PartSums:
        """Return sums of parts of the rows, each from one of the edges (s + 1,) to the next.

        The frame is the identity where it has as many directions as there are columns.
        """

    @abstractmethod
    def dense(self) -> Iterator[tuple[slice, Doubles]]:
        """Yield the rows a few at a time, as float64 arrays, and which ones they are."""

    @abstractmethod
    def add_outer(self, weights: Doubles, matrix: Doubles) -> Doubles:
        """Add the sum of w x x' to the lower triangle of a matrix (d, d); return that of w x (d,).

        The matrix is in Fortran order.
        """

    def add_covariances(self, weights: Doubles, matrix: Doubles) -> None:  # noqa: B027
        """Add the covariances of what was filled into gaps to a lower triangle (d, d), in place."""


def chunk_about(values: Any, weights: Doubles, origin: Doubles, scale: Scale = None) -> Chunk:
    """Return rows (r, d) about a point, dense or sparse as they are."""
    if values.dtype == np.float32 and not fits_single(values, origin):
        values = values.astype(np.float64)
    kind = SparseChunk if sparse.issparse(values) else DenseChunk
    return kind(values, weights, origin, scale)


def rows_in(values: Any, part: slice) -> Any:
    """Return some rows of an array or a csr_array, which share its memory."""
    if isinstance(values, np.ndarray):
        return values[part]
    start, stop, _ = part.indices(values.shape[0])
    starts = values.indptr[start : stop + 1]
    entries = slice(starts[0], starts[-1])
    rows = sparse.csr_array((stop - start, values.shape[1]), dtype=values.dtype)
    rows.data, rows.indices = values.data[entries], values.indices[entries]
    rows.indptr = starts - starts[0]
    return rows


def transposed(rows: Any) -> Any:
    """Return the transpose of a csr_array, which shares its memory: ``rows.T`` copies parts."""
    columns = sparse.csc_array(rows.shape[::-1], dtype=rows.dtype)
    columns.data, columns.indices, columns.indptr = rows.data, rows.indices, rows.indptr
    return columns


def fits_single(values: Any, origin: Doubles | None = None) -> bool:
    """Return whether sums of squares of rows neither over- nor underflow in single precision."""
    entries = values.data if sparse.issparse(values) else values
    largest = float(np.abs(entries).max(initial=0.0))
    if origin is not None and not float(np.abs(origin).max(initial=0.0)) < MOST_SINGLE:
        return False
    return largest == 0.0 or LEAST_SINGLE < largest < MOST_SINGLE


class DenseChunk(Chunk):
    """Rows of a dense array, centred tile by tile."""

    @cached_property
    def _tile_rows(self) -> int:
        """How many rows are worked on at a time."""
        return max(FEW_ROWS, TILE_BYTES // (self.d * self.values.itemsize))

    def _tiles(self, least: int = 0) -> list[slice]:
        """Return slices of rows that are worked on at a time, of at least so many."""
        return self._slices(max(self._tile_rows, least))

    def _slices(self, length: int) -> list[slice]:
        """Return slices of so many rows."""
        starts = range(0, max(len(self), 1), length)
        return list(map(slice, starts, range(length, starts.stop + length, length)))

    def _tile(self, part: Any) -> NDArray[np.floating]:
        """Return some of the rows, a slice or by their indices, centred and scaled."""
        return self._whole[part] if len(self) <= self._tile_rows else self._centred(part)

    @cached_property
    def _whole(self) -> NDArray[np.floating]:
        """All rows, where they are one tile."""
        return self._centred(slice(None))

    def _centred(self, part: Any) -> NDArray[np.floating]:
        values, (origin, scale) = self.values[part], self._about
        if origin.any():
            values = values - origin
        return values if scale is None else values / scale

    @cached_property
    def energies(self) -> Doubles:
        def of_tile(part: slice) -> Doubles:
            tile = self._tile(part)
            return np.einsum("ij,ij->i", tile, tile).astype(np.float64, copy=False)

        return np.concatenate(run_all(of_tile, self._tiles()))

    @cached_property
    def _about(self) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
        """Origin and scale (d,) in the type of the rows."""
        dtype = self.values.dtype
        scale = None if self.scale is None else self.scale.astype(dtype)
        return self.origin.astype(dtype), scale

    def measure(self, point: Doubles, directions: Doubles | None = None) -> tuple[Doubles, Doubles]:
        dtype, about = self.values.dtype, self._about
        directions = np.zeros((0, self.d)) if directions is None else directions
        factors = np.ascontiguousarray(point, dtype), np.ascontiguousarray(directions, dtype)

        def of_part(part: slice) -> tuple[Doubles, Doubles]:
            return _core.measure(self.values[part], *about, *factors)

        # What is found of a row does not depend on the others: any split gives the same bits.
        length = max(FEW_ROWS, -(-len(self) // thread_count()))
        distances, captured = zip(*run_all(of_part, self._slices(length)), strict=True)
        both = np.concatenate(distances)
        return both, both - np.concatenate(captured)

    def inner(self, directions: NDArray[np.floating]) -> Doubles:
        typed = directions.astype(self.values.dtype, copy=False)

        def of_tile(part: slice) -> NDArray[np.floating]:
            return typed @ self._tile(part).T  # few by many is faster than many by few

        first, *others = run_all(of_tile, self._tiles(len(typed)))
        products = np.hstack([first, *others]) if others else first
        return products.T.astype(np.float64, copy=False)

    def combine(self, coefficients: Doubles) -> Doubles:
        typed = coefficients.astype(self.values.dtype, copy=False)

        def of_tile(part: slice) -> Doubles:
            return (typed[:, part] @ self._tile(part)).astype(np.float64, copy=False)

        tiles = self._tiles(len(typed))
        # A single sum waits for memory: threads would wait for each other besides.
        first, *others = run_all(of_tile, tiles) if len(typed) > 1 else map(of_tile, tiles)
        for other in others:
            first += other
        return first

    @cached_property
    def gram(self) -> Doubles:
        centred = self._centred(slice(None))
        return (centred @ centred.T).astype(np.float64, copy=False)

    def column_squares(self, weights: Doubles) -> Doubles:
        def of_tile(part: slice) -> Doubles:
            tile = self._tile(part)
            return np.einsum("ij,ij,i->j", tile, tile, weights[part].astype(tile.dtype))

        return np.sum(run_all(of_tile, self._tiles()), axis=0, dtype=np.float64)

    def _sums_along(
        self, directions: Doubles, weights: Doubles
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Return sums of w x (d,), of w x^2 (d,), and of w x x' times directions, (d, m)."""
        dtype = self.values.dtype
        typed, weights = directions.astype(dtype), weights.astype(dtype)

        def of_tile(part: slice) -> tuple[Doubles, ...]:
            tile = self._tile(part)
            along = np.empty((len(typed) + 1, len(tile)), dtype)
            along[0], along[1:] = 1.0, typed @ tile.T
            sums = (along * weights[part]) @ tile
            squares = weights[part] @ (tile * tile)
            return sums.astype(np.float64, copy=False), squares.astype(np.float64, copy=False)

        (sums, squares), *others = run_all(of_tile, self._tiles(len(typed)))
        for more, further in others:
            sums, squares = sums + more, squares + further
        return sums[0], squares, sums[1:].T

    def part_sums(self, weights: Doubles, edges: list[int], frame: Doubles) -> PartSums:
        if len(frame) < self.d:
            cuts = [slice(*pair) for pair in pairwise(edges)]
            found = [self[cut]._sums_along(frame, weights[cut]) for cut in cuts]
            totals, squares, products = map(np.array, zip(*found, strict=True))
            heavy = np.add.reduceat(weights, edges[:-1])
            return about_means(heavy, totals, squares, products, frame)
        inner = max(FEW_ROWS, OUTER_BYTES // (self.d * self.values.itemsize))
        length = 2 * inner  # of a tile, which one thread works on
        starts: list[int] = []  # of tiles
        parts = []  # the first tile of each
        for start, stop in pairwise(edges):
            parts.append(len(starts))
            starts += range(start, stop, length)

        means, products = np.empty((len(starts), self.d)), np.empty((len(starts), self.d, self.d))
        stops = [*starts[1:], edges[-1]]

        def of_tile(number: int) -> None:
            tile = slice(starts[number], stops[number])
            counts, dtype = weights[tile], self.values.dtype
            if len(counts) < self.d:  # moving these rows costs less than moving their product
                rows, typed = self._centred(tile), counts.astype(dtype, copy=False)
                means[number] = mean = typed @ rows / typed.sum()
                rows = np.sqrt(typed)[:, None] * (rows - mean)
                products[number] = rows.T @ rows
                return
            product = np.zeros((self.d, self.d), dtype)
            values = self.values[tile]
            total = _core.add_outer(product, values, *self._about, counts, inner, 0, 1)
            means[number] = mean = total / counts.sum()
            product += np.triu(product, 1).T
            np.subtract(product, np.outer(total, mean), out=products[number])

        run_all(of_tile, range(len(starts)))
        heavy, steps = np.add.reduceat(weights, edges[:-1]), np.zeros((len(parts), self.d))
        if len(starts) > len(parts):
            tiles, counts = np.add.reduceat(weights, starts), np.diff([*parts, len(starts)])
            # About the mean of the first tile, so that the mean of equal means is exact.
            apart = means - np.repeat(means[parts], counts, axis=0)
            steps = np.add.reduceat(tiles[:, None] * apart, parts) / heavy[:, None]
            apart = np.sqrt(tiles)[:, None] * (apart - np.repeat(steps, counts, axis=0))
            products = np.add.reduceat(products, parts)
            for number in np.flatnonzero(counts > 1):
                between = apart[parts[number] :][: counts[number]]
                products[number] += between.T @ between
        squares = np.diagonal(products, axis1=1, axis2=2).copy()
        return PartSums(heavy, means[parts] + steps, squares, products)

    def dense(self) -> Iterator[tuple[slice, Doubles]]:
        for part in self._tiles():
            values = self.values[part].astype(np.float64) - self.origin
            yield part, values if self.scale is None else values / self.scale

    def add_outer(self, weights: Doubles, matrix: Doubles) -> Doubles:
        add = self._add_by_tiles if self.d < SPLIT_COLUMNS else self._add_by_columns
        return add(weights, matrix)

    def _add_by_tiles(self, weights: Doubles, matrix: Doubles) -> Doubles:
        """Add outer products: tile t to accumulator t modulo their number."""
        dtype, about = self.values.dtype, self._about
        counted = max(int(np.count_nonzero(weights)), 1)
        tiles = -(-counted * self.d * dtype.itemsize // OUTER_BYTES)
        if tiles > 1:  # as many for each accumulator
            tiles = -(-tiles // ACCUMULATORS) * ACCUMULATORS
        length = -(-counted // tiles)

        def accumulate(first: int) -> tuple[NDArray[np.floating], Doubles]:
            squares: NDArray[Any] = matrix
            if first or dtype != np.float64:  # the matrix itself is the first accumulator
                squares = np.zeros((self.d, self.d), dtype, order="F")
            total = _core.add_outer(
                squares.T, self.values, *about, weights, length, first, ACCUMULATORS
            )
            return squares, total

        total = np.zeros(self.d)
        for squares, added in run_all(accumulate, range(min(ACCUMULATORS, tiles))):
            total += added
            if squares is not matrix:
                matrix += squares
        return total

    def _add_by_columns(self, weights: Doubles, matrix: Doubles) -> Doubles:
        """Add outer products: each block of columns of the lower triangle by itself."""
        total, upper = np.zeros(self.d), matrix.T
        length = max(FEW_ROWS, SPLIT_BYTES // (self.d * self.values.itemsize))
        counted = np.flatnonzero(weights > 0.0)
        for start in range(0, len(counted), length):
            part: Any = slice(start, start + length)
            part = part if len(counted) == len(weights) else counted[part]
            tile = self._tile(part)
            roots = np.sqrt(weights[part]).astype(tile.dtype, copy=False)
            tile = np.ascontiguousarray(tile) if (roots == 1.0).all() else roots[:, None] * tile

            def add(block: slice, tile: Any = tile, roots: Any = roots) -> None:
                columns = tile[:, block]
                upper[block, block] += columns.T @ columns
                upper[block, block.stop :] += columns.T @ tile[:, block.stop :]
                total[block] += roots @ columns

            run_all(add, column_blocks(self.d))
        return total


class SparseChunk(Chunk):
    """Rows of a CSR array.

    The origin is subtracted from the entries of columns that most rows store. Elsewhere it is
    subtracted from products: a column that few rows store has a mean that is small beside its
    deviation, so that no digits are lost.
    """

    @cached_property
    def _stored(self) -> tuple[Any, Doubles | None]:
        """A CSR array and an offset (d,), or None: the rows are their difference."""
        stored, offset = self.values, self.origin.copy()
        moved = np.flatnonzero(offset)
        if len(moved):
            counts = np.bincount(stored.indices, minlength=self.d)
            moved = moved[2 * counts[moved] > len(self)]
        if len(moved):
            count = len(self)
            parts = (
                np.tile(offset[moved], count),
                np.tile(moved, count),
                np.arange(count + 1) * len(moved),
            )
            stored = sparse.csr_array(stored - sparse.csr_array(parts, shape=stored.shape))
            offset[moved] = 0.0
        if self.scale is not None:
            data = stored.data / self.scale[stored.indices]
            stored = sparse.csr_array((data, stored.indices, stored.indptr), shape=stored.shape)
            offset /= self.scale
        return stored, offset if offset.any() else None

    def __getitem__(self, part: slice) -> Self:
        some = super().__getitem__(part)
        if "_stored" in self.__dict__:
            stored, offset = self._stored
            some.__dict__["_stored"] = rows_in(stored, part), offset
        return some

    @cached_property
    def _squares(self) -> Any:
        """The squares of the stored entries, as a CSR array."""
        stored, _ = self._stored
        data = stored.data.astype(np.float64) ** 2
        return sparse.csr_array((data, stored.indices, stored.indptr), shape=stored.shape)

    @cached_property
    def energies(self) -> Doubles:
        stored, offset = self._stored
        squares = np.asarray(self._squares @ np.ones(self.d))
        if offset is not None:
            squares = (squares - 2.0 * (stored @ offset) + offset @ offset).clip(min=0.0)
        return squares

    def inner(self, directions: NDArray[np.floating]) -> Doubles:
        stored, offset = self._stored
        products = np.asarray(stored @ np.ascontiguousarray(directions.T), np.float64)
        return products if offset is None else products - directions @ offset

    def combine(self, coefficients: Doubles) -> Doubles:
        """Return ``coefficients @ rows`` (m, d), in Fortran order, in which products are fast."""
        stored, offset = self._stored
        combined = np.asarray(transposed(stored) @ np.ascontiguousarray(coefficients.T), np.float64)
        if offset is not None:
            combined -= np.outer(offset, coefficients.sum(axis=1))
        return combined.T

    def measure(self, point: Doubles, directions: Doubles | None = None) -> tuple[Doubles, Doubles]:
        directions = np.zeros((0, self.d)) if directions is None else directions
        return self.measure_along(point, directions)[:2]

    def measure_along(
        self, point: Doubles, directions: Doubles
    ) -> tuple[Doubles, Doubles, Doubles]:
        inner = self.inner(np.vstack([point, directions]))
        along = inner[:, 1:] - directions @ point
        squares = np.einsum("ij,ij->i", point[None], point[None])
        distances = np.maximum(self.energies - 2.0 * inner[:, 0] + squares, 0.0)
        return distances, distances - np.einsum("ij,ij->i", along, along), along

    @cached_property
    def gram(self) -> Doubles:
        stored, offset = self._stored
        products = sparse_gram(stored)
        if offset is not None:
            across = stored @ offset
            products -= across[:, None] + across - offset @ offset
        return products

    def column_squares(self, weights: Doubles) -> Doubles:
        stored, offset = self._stored
        squares = np.asarray(transposed(self._squares) @ weights)
        if offset is not None:
            squares += offset * (weights.sum() * offset - 2.0 * (stored.T @ weights))
        return squares.clip(min=0.0)

    def part_sums(self, weights: Doubles, edges: list[int], frame: Doubles) -> PartSums:
        stored, offset = self._stored
        inner, heavy = self.inner(frame), np.add.reduceat(weights, edges[:-1])
        means, squares = np.empty((len(heavy), self.d)), np.empty((len(heavy), self.d))
        products = []
        for number, (start, stop) in enumerate(pairwise(edges)):
            part = slice(start, stop)
            shares = weights[part] / max(heavy[number], TINY)
            columns = transposed(rows_in(stored, part))
            # Coordinates about their mean add up to zero, so that no point of the rows matters.
            apart = inner[part] - shares @ inner[part]
            products.append(columns @ (weights[part, None] * apart))
            means[number] = mean = columns @ shares
            squares[number] = transposed(rows_in(self._squares, part)) @ weights[part]
            squares[number] -= heavy[number] * mean**2
        means = means if offset is None else means - offset
        return PartSums(heavy, means, squares.clip(min=0.0), products)

    def add_outer(self, weights: Doubles, matrix: Doubles) -> Doubles:
        stored, offset = self._stored
        stored.sort_indices()

        parts = thread_count()
        single = self.sums_single and self.d >= SPLIT_COLUMNS and fits_single(stored)
        arrays = *csr_arrays(stored), weights

        def add(part: int) -> None:
            _core.add_sparse_outer(matrix.T, *arrays, single=single, part=part, parts=parts)

        run_all(add, range(parts))  # any number of parts gives the same bits
        if offset is not None:
            half = 0.5 * float(weights.sum()) * offset - stored.T @ weights
            dsyr2(1.0, offset, half, lower=1, a=matrix, overwrite_a=1)
        return self.combine(weights[None])[0]

    def dense(self) -> Iterator[tuple[slice, Doubles]]:
        stored, offset = self._stored
        length = max(1, TILE_BYTES // (8 * self.d))
        for start in range(0, len(self), length):
            part = slice(start, start + length)
            tile = stored[part].toarray().astype(np.float64, copy=False)
            yield part, tile if offset is None else tile - offset


def column_blocks(d: int) -> list[slice]:
    """Return blocks of the columns of a lower triangle (d, d) of about as many entries each."""
    # The first j columns of the triangle have about d^2 / 2 - (d - j)^2 / 2 entries.
    shares = np.linspace(0.0, 1.0, SPLIT_BLOCKS + 1)
    edges = (d * (1.0 - np.sqrt(1.0 - shares))).astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(edges)]


def csr_arrays(rows: Any) -> tuple[NDArray[np.floating], NDArray[np.int32], NDArray[np.int32]]:
    """Return the arrays of a csr_array as the core takes them."""
    indices, starts = (a.astype(np.int32, copy=False) for a in (rows.indices, rows.indptr))
    return rows.data, indices, starts


def sparse_gram(rows: Any) -> Doubles:
    """Return the products (r, r) of rows of a csr_array (r, d) with each other."""
    columns = sparse.csr_array(rows.T)  # the products are the sum of their outer products
    gram, weights = np.zeros((rows.shape[0],) * 2), np.ones(rows.shape[1])
    _core.add_sparse_outer(gram, *csr_arrays(columns), weights)
    both = gram + gram.T  # the lower triangle was zero
    both.flat[:: len(gram) + 1] = gram.diagonal()
    return both
