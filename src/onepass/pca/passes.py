"""Further passes over rows that can be read again, where no exact second moment is kept.

The rows are a matrix A = sum of w (x - mean) (x - mean)' of which only products with a few
directions are formed, one in each pass over the rows: block Krylov iteration on the rows
themselves. The first pass finds the mean and the scale, and directions to start from. The last one
measures rows along the directions that were found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Self

import numpy as np

from onepass.learner import ChunkTaker
from onepass.moments.chunk import Chunk, DenseChunk, Scale, chunk_about
from onepass.moments.krylov import Krylov
from onepass.moments.moment import sums_about_mean
from onepass.moments.row_errors import ErrorHistogram, LongRows
from onepass.moments.segments import Segments
from onepass.persistence.fields import Array, Field, Number, Part, Size, directions, point, whole
from onepass.precision import TINY, Doubles, Rows
from onepass.stream import Stream
from onepass.threads import run_all

BESIDE = 10  # directions besides those wanted: the iteration converges faster by what it costs
MOST_PASSES = 8  # over rows in memory
ENOUGH = 1e-4  # of the captured variance: what further passes would add is below it when they end
# Of the first value: where the last one wanted is below, float32 rows are multiplied in double.
SINGLE_RANGE = 1e-5
PART_BYTES = 2**23  # of dense rows whose product is added to those of others in double precision
PART_ENTRIES = 2**22  # of sparse rows: adding a product of many columns takes as long as 30 each
GROUP = 4  # parts whose products are found at the same time: a fixed number, so fixed bits
SPARSE_ROWS = 8192  # of a chunk of sparse rows
# Columns are moved where the square of the mean is so many times the variance. Elsewhere the mean
# is taken off products, which loses two digits there, and nothing has to be copied.
FAR = 1e4
MOST_LEVERAGE = 0.99  # of a row: what it has to itself of a direction
Block = tuple[Rows, Doubles]  # rows (r, d), an array or CSR, and their weights (r,)


@dataclass(frozen=True)
class Sums:
    """Sums over all rows: their weight, their mean, and squares about it, shape (d,)."""

    weight: float
    mean: Doubles
    columns: Doubles

    def energy(self, scale: Scale = None) -> float:
        """Return the sum of all squares, of columns divided by a scale (d,) if there is one."""
        return float((self.columns if scale is None else self.columns / scale**2).sum())

    def origin(self) -> Doubles:
        """Return the mean (d,) in columns where it is far from zero, and zero elsewhere."""
        return np.where(self.weight * self.mean**2 > FAR * self.columns, self.mean, 0.0)


def pairs_for(k: int) -> int:
    """Return how many directions are kept at least, with sums along them, where k are wanted."""
    return 3 * k + 24


class FurtherPass(ChunkTaker):
    """One more pass over rows that were learned from before: it multiplies them, or measures them.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.

    Attributes
    ----------
    number : int
        Which pass over the rows it is; the first one has found their mean and scale.
    mean, origin : ndarray of shape (d,)
        Of all rows, and a point near them where the mean is far from zero.
    divisor : ndarray of shape (d,)
        What columns are divided by, ones if they are not.
    unit : float
        The sum of all squares, in units of which A is.
    is_double : bool
        Whether float32 rows are multiplied in double precision.
    krylov : Krylov
        The iteration before this pass.
    captured, growth : float
        By the leading directions, and how much that grew in the pass before.
    product, along : ndarray of shape (m, d) and (m,)
        Sums over the rows of this pass: with its block, and of the rows along it.
    directions, energies : ndarray of shape (k, d) and (k,)
        That rows are measured along, and the sums of squares along them; none in other passes.
    segments, errors, lengths
        What measuring finds, as in the learner.
    """

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        d = stream.d
        self.number = 1
        self.mean = self.origin = np.zeros(d)
        self.divisor: Doubles = np.ones(d)
        self.unit, self.is_double = 1.0, False
        self.krylov = Krylov(np.zeros((0, d)))
        self.captured = self.growth = self.slower = 0.0
        self.product, self.along = np.zeros((0, d)), np.zeros(0)
        self.directions, self.energies = np.zeros((0, d)), np.zeros(0)
        self.segments = Segments(d, stream.dtype)
        self.errors, self.lengths = ErrorHistogram(), LongRows()

    def fields(self) -> dict[str, Field]:
        d, block, wanted = self.stream.d, Size("a product", self.stream.d), Size("measured", 2**31)
        return {
            **super().fields(),
            "number": whole(1),
            "mean": point(d),
            "origin": point(d),
            "divisor": Array((d,), least=1e-150),
            "unit": Number(float, TINY),
            "is_double": Number(bool, 0, 1),
            "krylov": Part(),
            "captured": Number(),
            "growth": Number(float, -1.0),
            "product": Array((block, d)),
            "along": Array((block,)),
            "directions": directions(wanted, d),
            "energies": Array((wanted,), least=0.0),
            "segments": Part(),
            "errors": Part(),
            "lengths": Part(),
        }

    @classmethod
    def after_first(cls, stream: Stream, sums: Sums, scale: Scale, is_double: bool) -> Self:
        """Return what follows the first pass, from the sums that it has found."""
        made = cls(stream)
        made.mean, made.origin = sums.mean, sums.origin()
        made.divisor = made.divisor if scale is None else scale
        made.unit, made.is_double = sums.energy(scale), is_double
        return made

    def multiplying(self, krylov: Krylov) -> Self:
        """Return the next pass, which multiplies the block of an iteration."""
        made = self._next()
        made.krylov = krylov
        made.product = np.zeros(krylov.block.shape[::-1])
        made.along = np.zeros(krylov.block.shape[1])
        return made

    def measuring(self, directions: Doubles, energies: Doubles, frame: Doubles) -> Self:
        """Return the next pass, which measures rows along directions (k, d), with a frame (K, d).

        `energies` (k,) are sums of squares along the directions.
        """
        made = self._next()
        made.krylov = Krylov(np.zeros((0, self.stream.d)))
        made.directions, made.energies = directions, energies
        made.segments.frame = frame
        return made

    def _next(self) -> Self:
        """Return the next pass, with nothing to do so far."""
        made = type(self)(self.stream)
        kept = ("mean", "origin", "divisor", "unit", "is_double", "captured", "growth")
        vars(made).update({name: getattr(self, name) for name in kept})
        made.number = self.number + 1
        return made

    def fresh(self) -> Self:
        """Return this pass without any row, for a part of them that is read elsewhere."""
        made = self.measuring(self.directions, self.energies, self.segments.frame)
        made.number = self.number
        if not self.measures:
            made.krylov = Krylov(np.zeros((0, self.stream.d)))
            made.krylov.block = self.krylov.block
            made.product, made.along = np.zeros_like(self.product), np.zeros_like(self.along)
        return made

    @property
    def measures(self) -> bool:
        """Whether it measures rows."""
        return not len(self.product)

    @property
    def scale(self) -> Scale:
        """What columns are divided by, (d,), or None."""
        return None if (self.divisor == 1.0).all() else self.divisor

    def chunk_rows(self) -> int:
        if self.stream.is_sparse:
            return SPARSE_ROWS
        return max(16, GROUP * PART_BYTES // (self.stream.d * self.stream.dtype.itemsize))

    def learn_with_gaps(self, values: Rows, weights: Doubles) -> None:
        raise ValueError(f"pass {self.number} over X finds missing entries, and the first did not")

    def learn(self, values: Rows, weights: Doubles) -> None:
        if self.measures:
            self._measure(values, weights)
            return
        parts = parts_of(values, weights, self.origin, self.is_double)
        raw = self.krylov.block / self.divisor[:, None]
        self.product, self.along = self.product.copy(), self.along.copy()
        add_products(self.product, self.along, parts, raw, self.mean - self.origin)

    def _measure(self, values: Rows, weights: Doubles) -> None:
        """Measure how far rows are from the mean and the directions, and add to the segments.

        The directions have seen each row. Without it, its error would be larger by one over the
        square of one less its leverage (PRESS, Allen 1974), the share that it has of the sums along
        them.
        """
        rows = chunk_about(values, weights, self.origin)
        self.segments.add(rows, weights)
        scaled = rows if self.scale is None else rows.scaled(self.scale)
        mean = scaled.at(self.mean)
        distances, errors = scaled.measure(mean, self.directions)
        self.lengths.add(distances, weights)
        if len(self.directions):
            along = scaled.inner(self.directions) - self.directions @ mean
            leverage = weights * (along**2 @ (1.0 / self.energies.clip(min=TINY)))
            self.errors.add(errors / (1.0 - leverage.clip(max=MOST_LEVERAGE)) ** 2, weights)

    def merge(self, other: Self) -> None:
        """Include the rows of the same pass that were read elsewhere; no row waits in either."""
        self.product, self.along = self.product + other.product, self.along + other.along
        self.segments.merge(other.segments)
        self.errors.merge(other.errors)
        self.lengths.merge(other.lengths)
        self.rows_learned += other.rows_learned

    def iterated(self, k: int) -> tuple[Doubles, Doubles]:
        """Take a step of the iteration with the product, after all rows.

        Ritz pairs are returned: orthonormal directions (m, d), and the sums (m,) along them.
        """
        product = self.product - np.outer(self.along, self.mean - self.origin)
        self.krylov.add(np.ascontiguousarray((product / self.divisor).T) / self.unit)
        before, self.captured = self.captured, self.krylov.captured(k)
        self.slower, self.growth = self.growth, self.captured - before
        values = self.krylov.values[: pairs_for(k)].clip(min=0.0)
        self.is_double |= float(values[:k].min()) < SINGLE_RANGE * float(values[0])
        return self.krylov.directions(len(values)), values * self.unit

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left to be found, after a step of the iteration."""
        return not self.krylov.block.shape[1]

    def has_converged(self, k: int) -> bool:
        """Return whether further passes promise too little, after a step of the iteration.

        Growth falls by about the same factor in each pass: what is left is a geometric series.
        """
        left = self.growth**2 / max(self.slower - self.growth, TINY)
        are_enough = len(self.krylov.values) >= min(pairs_for(k), self.stream.d)
        return are_enough and left <= ENOUGH * self.captured


class CentredRows:
    """Rows that can be read again, about a mean (d,) and divided by a scale (d,) if there is one.

    Dense rows are moved to the mean where it is far from zero; elsewhere, and for sparse rows, it
    is taken off products.
    """

    def __init__(self, read: Callable[[], Iterable[Block]], sums: Sums, scale: Scale) -> None:
        self.read, self.scale, self.d = read, scale, len(sums.mean)
        self.origin = sums.origin()
        self.step = sums.mean - self.origin
        self.is_double = False

    def times(self, columns: Doubles) -> Doubles:
        """Return the product (d, m) of A with columns (d, m): a pass over the rows."""
        raw = columns if self.scale is None else columns / self.scale[:, None]
        product, along = np.zeros(raw.shape[::-1]), np.zeros(raw.shape[1])
        add_products(product, along, self.parts(), raw, self.step)
        product -= np.outer(along, self.step)
        product = product.T if self.scale is None else (product / self.scale).T
        return np.ascontiguousarray(product)

    def parts(self) -> Iterator[Chunk]:
        """Yield the rows a few at a time, in double precision if need be."""
        for values, weights in self.read():
            yield from parts_of(values, weights, self.origin, self.is_double)


def parts_of(values: Rows, weights: Doubles, origin: Doubles, is_double: bool) -> Iterator[Chunk]:
    """Yield rows (r, d) a few at a time, about an origin (d,), in double precision if need be."""
    for part in _slices(values):
        rows = values[part].astype(np.float64) if is_double else values[part]
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


def _slices(values: Rows) -> Iterator[slice]:
    """Yield slices of rows (r, d) that are worked on at a time."""
    count, d = values.shape
    length = PART_BYTES // (d * values.dtype.itemsize)
    if not isinstance(values, np.ndarray):
        length = PART_ENTRIES * count // max(values.nnz, 1)
    length = max(length, 16)
    for start in range(0, count, length):
        yield slice(start, start + length)


def first_pass(values: Rows, weights: Doubles, center: bool, width: int) -> tuple[Sums, Doubles]:
    """Return sums over rows in memory, and random combinations (width, d) about their mean."""
    rng = np.random.default_rng(0)
    origin = _near(values) if center else np.zeros(values.shape[1])
    total, squares = np.zeros(len(origin)), np.zeros(len(origin))
    mixed, shares = np.zeros((width, len(origin))), np.zeros(width)
    for part in _slices(values):
        rows, share = chunk_about(values[part], weights[part], origin), weights[part]
        total += rows.combine(share[None])[0]
        squares += rows.column_squares(share)
        if width:
            mixing = rng.normal(size=(len(share), width)).T * np.sqrt(share)
            mixed += rows.combine(mixing)
            shares += mixing @ np.ones(len(share))
    weight = float(weights.sum())
    if not center:
        return Sums(weight, origin, squares), mixed
    mixed -= np.outer(shares, total / weight)
    return Sums(weight, origin + total / weight, sums_about_mean(squares, total, weight)), mixed


def _near(values: Rows) -> Doubles:
    """Return a point (d,) near the first rows, in their type, where they are far from zero."""
    rows = values[:256]
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    first, deviation = rows.mean(axis=0), rows.std(axis=0)
    return np.where(np.abs(first) > deviation, first, 0.0).astype(np.float64)
