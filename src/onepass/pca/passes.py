"""Principal directions from rows that can be read several times, or that are kept.

The rows are a matrix A = sum of w (x - mean) (x - mean)' of which only products with a few
directions are formed, one in each pass over the rows: block Krylov iteration on the rows
themselves. The first pass finds the mean and the scale, and random combinations of the rows, whose
span is where the iteration starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from onepass.moments.chunk import Chunk, DenseChunk, Scale, chunk_about
from onepass.moments.krylov import Krylov, with_random
from onepass.moments.moment import deviations, sums_about_mean
from onepass.precision import TINY, Doubles
from onepass.threads import run_all

BESIDE = 10  # directions besides those wanted: the iteration converges faster by what it costs
MOST_PASSES = 8  # over rows in memory
ENOUGH = 1e-4  # of the captured variance: what further passes would add is below it when they end
# Of the first value: where the last one wanted is below, float32 rows are multiplied in double.
SINGLE_RANGE = 1e-5
PART_BYTES = 2**24  # of dense rows whose product is added to those of others in double precision
PART_ENTRIES = 2**22  # of sparse rows: adding a product of many columns takes as long as 30 each
GROUP = 4  # parts whose products are found at the same time: a fixed number, so fixed bits
# Columns are moved where the square of the mean is so many times the variance. Elsewhere the mean
# is taken off products, which loses two digits there, and nothing has to be copied.
FAR = 1e4
Block = tuple[Any, Doubles]  # rows (r, d), an array or CSR, and their weights (r,)
Read = Callable[[], Iterable[Block]]


@dataclass(frozen=True)
class Sums:
    """Sums over all rows: their weight, their mean, and squares about it, shape (d,)."""

    weight: float
    mean: Doubles
    columns: Doubles


@dataclass(frozen=True)
class Iterated:
    """What passes have found.

    Attributes
    ----------
    sums : Sums
    scale : ndarray of shape (d,), or None
        What columns were divided by.
    directions, values : ndarray of shape (m, d) and (m,)
        Ritz pairs: orthonormal directions and the sums of squares along them, largest first.
    passes : int
        How often rows were read.
    """

    sums: Sums
    scale: Scale
    directions: Doubles
    values: Doubles
    passes: int


def left_of(growth: float, slower: float) -> float:
    """Return what growth in a pass promises of all further passes, after `slower` growth before.

    It falls by about the same factor in each pass: what is left is a geometric series.
    """
    return growth * growth / max(slower - growth, TINY)


def iterate(
    read: Read,
    k: int,
    *,
    center: bool = True,
    scale: bool = False,
    start: Doubles | None = None,
    sums: Sums | None = None,
    passes: int | None = None,
    last: Callable[[Any, Doubles, Doubles, Scale, Doubles], None] | None = None,
) -> Iterated:
    """Return the leading directions of rows that are read a few times.

    Parameters
    ----------
    read : callable
        Returns the rows from the first on, in blocks with their weights; each call is a pass.
    k : int
        How many directions are wanted; ten more are iterated on.
    center, scale : bool
        Whether the mean is taken off, and whether columns are divided by their deviations.
    start : ndarray of shape (m, d), optional
        Directions to start from, in units of the scale; given with `sums`, they save a pass.
    sums : Sums, optional
        Of the same rows.
    passes : int, optional
        How many; as many as it takes but at most 8 if not given. One is for `last` if there is one.
    last : callable, optional
        Called as ``last(values, weights, mean, scale, directions)`` with each block in the last
        pass and the k leading directions.
    """
    used, fewest = 0, -(-(3 * k + 24) // (k + BESIDE))
    most = (MOST_PASSES if passes is None else passes) - (last is not None)
    if sums is None or start is None:
        sums, start = _first_pass(read(), k + BESIDE, center, start)
        used = 1
        start = start if not scale else start / deviations(sums.columns, sums.weight)
    divisor = deviations(sums.columns, sums.weight) if scale else None
    rows = CentredRows(read, sums, divisor)
    krylov = Krylov(with_random(start, min(k + BESIDE, rows.d), rows.d))
    captured, growth = 0.0, 0.0
    while used < most and krylov.block.shape[1]:
        krylov.add(rows.times(krylov.block))
        used += 1
        before, captured = captured, krylov.captured(k)
        slower, growth = growth, captured - before
        enough = left_of(growth, slower) <= ENOUGH * captured
        if passes is None and used >= fewest and enough:
            break
        rows.is_double |= krylov.values[:k].min() < SINGLE_RANGE * krylov.values[0]
    found = min(max(3 * k + 24, k), len(krylov.values))
    directions, values = krylov.directions(found), krylov.values[:found].clip(min=0.0)
    if last is not None:
        for block, weights in read():
            last(block, weights, sums.mean, divisor, directions[:k])
        used += 1
    return Iterated(sums, divisor, directions, values, used)


class CentredRows:
    """Rows that can be read again, about a mean (d,) and divided by a scale (d,) if there is one.

    Dense rows are moved to the mean where it is far from zero; elsewhere, and for sparse rows, it
    is taken off products.
    """

    def __init__(self, read: Read, sums: Sums, scale: Scale) -> None:
        self.read, self.scale, self.d = read, scale, len(sums.mean)
        far = sums.weight * sums.mean**2 > FAR * sums.columns
        self.origin = np.where(far, sums.mean, 0.0)
        self.step = np.where(far, 0.0, sums.mean)  # from there to the mean
        self.is_double = False

    def times(self, columns: Doubles) -> Doubles:
        """Return the product (d, m) of A with columns (d, m): a pass over the rows."""
        raw = columns if self.scale is None else columns / self.scale[:, None]
        offset, product = self.step @ raw, np.zeros(raw.shape[::-1])
        along, kinds = np.zeros(raw.shape[1]), (np.float64, np.float32)
        typed = {np.dtype(kind): np.ascontiguousarray(raw, kind) for kind in kinds}

        def add(rows: Chunk) -> tuple[Doubles, Doubles]:
            dense, values = isinstance(rows, DenseChunk), rows.values
            if dense and self.origin.any():
                values = values - self.origin.astype(values.dtype)
            inner = values @ typed[values.dtype] if dense else rows.inner(raw.T)
            inner -= offset.astype(inner.dtype)
            inner *= rows.weights[:, None].astype(inner.dtype)
            across = np.ascontiguousarray(inner.T)  # few by many is faster than many by few
            product = across @ values if dense else rows.combine(across)
            return product, across.sum(axis=1, dtype=np.float64)

        parts = self.parts()
        while group := list(islice(parts, GROUP)):
            for found, total in run_all(add, group):
                product += found
                along += total
        product -= np.outer(along, self.step)
        product = product.T if self.scale is None else (product / self.scale).T
        return np.ascontiguousarray(product)

    def parts(self) -> Iterator[Chunk]:
        """Yield the rows a few at a time, in double precision if need be."""
        for values, weights in self.read():
            for part in _slices(values):
                rows = values[part].astype(np.float64) if self.is_double else values[part]
                yield chunk_about(rows, weights[part], self.origin)


def _slices(values: Any) -> Iterator[slice]:
    """Yield slices of rows (r, d) that are worked on at a time."""
    count, d = values.shape
    length = PART_BYTES // (d * values.dtype.itemsize)
    if sparse.issparse(values):
        length = PART_ENTRIES * count // max(values.nnz, 1)
    length = max(length, 16)
    for start in range(0, count, length):
        yield slice(start, start + length)


def _first_pass(
    blocks: Iterable[Block], width: int, center: bool, start: Doubles | None
) -> tuple[Sums, Doubles]:
    """Return sums over all rows, and random combinations of them (m, d) about their mean.

    Where a start is given it is returned instead of these.
    """
    rng = np.random.default_rng(0)
    origin: Doubles | None = None
    weight, mixed, shares = 0.0, np.zeros((0, 0)), np.zeros(width)
    for values, weights in blocks:
        if origin is None:
            origin = _near(values) if center else np.zeros(values.shape[1])
            total, squares = np.zeros(len(origin)), np.zeros(len(origin))
            mixed = np.zeros((width, len(origin)))
        for part in _slices(values):
            rows, share = chunk_about(values[part], weights[part], origin), weights[part]
            weight += float(share.sum())
            total += rows.combine(share[None])[0]
            squares += rows.column_squares(share)
            if start is None:
                mixing = rng.normal(size=(len(share), width)).T * np.sqrt(share)
                mixed += rows.combine(mixing)
                shares += mixing @ np.ones(len(share))
    assert origin is not None
    if not center:
        return Sums(weight, origin, squares), mixed if start is None else start
    mixed -= np.outer(shares, total / weight)
    sums = Sums(weight, origin + total / weight, sums_about_mean(squares, total, weight))
    return sums, mixed if start is None else start


def _near(values: Any) -> Doubles:
    """Return a point (d,) near the first rows, in their type, where they are far from zero."""
    rows = values[:256].toarray() if sparse.issparse(values) else values[:256]
    first, deviation = rows.mean(axis=0), rows.std(axis=0)
    return np.where(np.abs(first) > deviation, first, 0.0).astype(np.float64)
