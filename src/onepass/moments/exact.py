"""Mean and second moment of weighted rows, exact: sums about a point near all rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import numpy as np
from scipy.linalg.blas import dsymm, dsyr, dsyr2

from onepass.moments.chunk import Chunk, PartSums, Scale, about_means
from onepass.moments.krylov import MANY, Eigenpairs, decomposed, improved, iterated, iterates
from onepass.moments.moment import Moment, sums_about_mean
from onepass.persistence.fields import Array, Field, point, triangle, weight
from onepass.precision import TINY, Doubles

# What adding the sums of a part takes, in operations of products for each entry of a matrix.
ADDING = 100
COPIED_COLUMNS = 256  # of a triangle at a time: what lies above its diagonal there is copied, too


class SecondMoment(Moment):
    """Sums over rows x of weight w about a point o: N = sum w (x-o)(x-o)', t = sum w (x-o), W.

    The mean is o + t / W and the scatter about it N - t t' / W. Sums about the same point add up,
    whatever rows they are from; about another point they are moved exactly.

    Where rows are not centred, the point is zero.

    Attributes
    ----------
    origin, total : ndarray of shape (d,)
        o and t.
    weight : float
    squares : ndarray of shape (d, d)
        N, of which only the lower triangle counts, in Fortran order.
    """

    is_additive = True

    def __init__(self, d: int, center: bool = True) -> None:
        self.d, self.center = d, center
        self.origin: Doubles = np.zeros(d)
        self.weight = 0.0
        self.total: Doubles = np.zeros(d)
        self.squares: Doubles = np.zeros((d, d), order="F")

    def fields(self) -> dict[str, Field]:
        return {
            "origin": point(self.d),
            "weight": weight(),
            "total": Array((self.d,), fades=1),
            "squares": triangle(self.d),
        }

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy. Memory above the triangle is never touched, so none is used for it."""
        twin = super().copy()
        twin.squares = np.zeros((self.d, self.d), order="F")
        for first in range(0, self.d, COPIED_COLUMNS):
            columns = slice(first, first + COPIED_COLUMNS)
            twin.squares[first:, columns] = self.squares[first:, columns]
        return twin

    @property
    def mean(self) -> Doubles:
        if not (self.center and self.weight > 0.0):
            return self.origin
        return self.origin + self.total / self.weight

    def add(self, rows: Chunk, weights: Doubles) -> None:
        """Include rows with weights (r,); their origin becomes the point."""
        self.move(rows.origin)
        if not weights.any():
            return
        self._count(rows.add_outer(weights, self.squares), weights)

    def add_parts(
        self, rows: Chunk, weights: Doubles, edges: list[int], frame: Doubles
    ) -> PartSums:
        """Include rows with weights (r,), and return the sums of parts between edges (s + 1,).

        Products with a frame (K, d) come from scatters where it is the whole space, from the rows
        where parts have few of them, and else from what each part adds to the product of all sums
        with the frame, which takes 2 d^2 K operations instead of 4 K for each entry. They are sums
        of completed rows, without the covariances of what was filled in.
        """
        count = len(edges) - 1
        if len(frame) == self.d:
            self.move(rows.origin)
            found = rows.part_sums(weights, edges, frame)
            totals = found.weights[:, None] * found.means
            self.squares += found.products.sum(axis=0) + found.means.T @ totals
            rows.add_covariances(weights, self.squares)
            self._count(totals.sum(axis=0), weights)
            return found
        by_rows = 4 * len(frame) * rows.values.size  # for CSR arrays, entries that are stored
        by_sums = count * (2 * len(frame) + ADDING) * self.d**2
        if rows.filled or by_rows < by_sums:
            self.add(rows, weights)
            return rows.part_sums(weights, edges, frame)
        self.move(rows.origin)
        totals, squares = np.empty((count, self.d)), [self.squares.diagonal().copy()]
        images = [self._image(frame)]
        for number, (start, stop) in enumerate(pairwise(edges)):
            part = slice(start, stop)
            totals[number] = rows[part].add_outer(weights[part], self.squares)
            squares.append(self.squares.diagonal().copy())
            images.append(self._image(frame))
        self._count(totals.sum(axis=0), weights)
        heavy = np.add.reduceat(weights, edges[:-1])
        return about_means(heavy, totals, np.diff(squares, axis=0), np.diff(images, axis=0), frame)

    def _count(self, total: Doubles, weights: Doubles) -> None:
        """Include the sum (d,) of rows about the point, and their weights (r,)."""
        if self.center:
            self.total = self.total + total
        self.weight += float(weights.sum())

    def _image(self, frame: Doubles) -> Doubles:
        """Return the sums about the point times directions (K, d), shape (d, K)."""
        return dsymm(1.0, self.squares, frame.T, lower=1)

    def move(self, origin: Doubles) -> None:
        """Take another point (d,)."""
        step = self.origin - origin
        if self.center and step.any() and self.weight > 0.0:
            half = self.total + 0.5 * self.weight * step
            dsyr2(1.0, step, half, lower=1, a=self.squares, overwrite_a=1)
            self.total = self.total + self.weight * step
        self.origin = origin

    def nearer_origin(self) -> Doubles:
        # The mean of columns that have most of their squares from it, and the point elsewhere.
        far = self.weight * self.squares.diagonal() < 2.0 * self.total**2
        return np.where(far, self.origin + self.total / self.weight, self.origin)

    def merge(self, other: Self, scale: Scale = None) -> None:
        theirs = other
        if not np.array_equal(other.origin, self.origin):
            if self.weight > 0.0:
                theirs = other.copy()
                theirs.move(self.origin)
            self.origin = theirs.origin
        self.squares += theirs.squares
        self.total = self.total + theirs.total
        self.weight += theirs.weight

    def column_sums(self) -> Doubles:
        total = self.total if self.center else np.zeros(self.d)
        return sums_about_mean(self.squares.diagonal(), total, self.weight)

    def energy(self, scale: Scale = None) -> float:
        sums = self.column_sums()
        return float(sums.sum() if scale is None else (sums / scale**2).sum())

    def _triangle(self, scale: Scale) -> Doubles:
        """Return the lower triangle of the scatter (d, d), in Fortran order."""
        lower = self.squares.copy(order="F")
        if self.center and self.weight > 0.0:
            dsyr(-1.0 / self.weight, self.total, lower=1, a=lower, overwrite_a=1)
        if scale is not None:
            lower /= scale
            lower /= scale[:, None]
        return lower

    def leading(self, k: int, scale: Scale = None, start: Doubles | None = None) -> Eigenpairs:
        unit, found = self.energy(scale), None
        if iterates(self.d, k) and TINY < unit < np.inf:
            start = np.zeros((0, self.d)) if start is None else start[:k]
            found = iterated(lambda columns: self.times(columns, scale) / unit, start, k)
        if found is None:
            return decomposed(self._triangle(scale), k)
        return found[0], found[1] * unit

    def improved(self, directions: Doubles, scale: Scale = None) -> Eigenpairs:
        if MANY * len(directions) > self.d:
            return self.leading(len(directions), scale)
        return improved(lambda columns: self.times(columns, scale), directions)

    def spectrum(self, scale: Scale = None) -> Doubles:
        return np.linalg.eigvalsh(self._triangle(scale))[::-1].clip(min=0.0)

    def times(self, columns: Doubles, scale: Scale = None) -> Doubles:
        divisor = 1.0 if scale is None else scale[:, None]
        raw = columns / divisor
        product = self._image(raw.T)
        if self.center and self.weight > 0.0:
            product -= np.outer(self.total, self.total @ raw / self.weight)
        return product / divisor

    def compress(self, directions: Doubles, scale: Scale = None) -> Doubles:
        return directions @ self.times(directions.T, scale)
