"""What second moments have in common, whether they are exact or a sketch."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from onepass.moments.chunk import Chunk, PartSums, Scale
from onepass.moments.krylov import Eigenpairs
from onepass.persistence.fields import Array, Field, State, point, weight
from onepass.precision import ROUNDING, TINY, Doubles


class Moment(State):
    """Weight, mean and scatter of rows of d columns, about the mean or about zero.

    A `scale` (d,) is what columns are divided by when they are read; None where they are not.
    """

    is_additive: ClassVar[bool]  # whether the sum of two of them is that of the rows of both
    d: int
    center: bool  # whether it is about the mean
    weight: float

    @property
    @abstractmethod
    def mean(self) -> Doubles:
        """The mean of the rows, shape (d,)."""

    @abstractmethod
    def nearer_origin(self) -> Doubles:
        """Return the point (d,) that the next rows should be taken about, to lose no digits."""

    @abstractmethod
    def add(self, rows: Chunk, weights: Doubles) -> None:
        """Include rows with weights (r,)."""

    def add_parts(
        self, rows: Chunk, weights: Doubles, edges: list[int], frame: Doubles
    ) -> PartSums:
        """Include rows, and return the sums of parts of them, as `Chunk.part_sums` does."""
        self.add(rows, weights)
        return rows.part_sums(weights, edges, frame)

    @abstractmethod
    def merge(self, other: Self, scale: Scale = None) -> None:
        """Include the rows of another one."""

    @abstractmethod
    def column_sums(self) -> Doubles:
        """Return the weighted sums of squares of the columns about their means, shape (d,)."""

    def deviations(self) -> Doubles:
        """Return the standard deviations (d,) of the columns; one where that is zero."""
        return deviations(self.column_sums(), self.weight)

    @abstractmethod
    def energy(self, scale: Scale = None) -> float:
        """Return the trace of the scatter."""

    @abstractmethod
    def leading(self, k: int, scale: Scale = None, start: Doubles | None = None) -> Eigenpairs:
        """Return at most k leading directions of the scatter and the sums along them (k,).

        `start` (m, d) are directions near these, if some are known.
        """

    @abstractmethod
    def improved(self, directions: Doubles, scale: Scale = None) -> Eigenpairs:
        """Return about the leading directions (k, d) and sums (k,), from previous directions."""

    @abstractmethod
    def spectrum(self, scale: Scale = None) -> Doubles:
        """Return the sums along all directions that are known, largest first."""

    @abstractmethod
    def times(self, columns: Doubles, scale: Scale = None) -> Doubles:
        """Return ``scatter @ columns``, for columns (d, m)."""

    @abstractmethod
    def compress(self, directions: Doubles, scale: Scale = None) -> Doubles:
        """Return ``directions @ scatter @ directions.T`` for orthonormal directions (k, d)."""


class ColumnSums(Moment):
    """A second moment that keeps the `centre` of the columns, and squares about it, besides."""

    def __init__(self, d: int, center: bool = True) -> None:
        self.d, self.center = d, center
        self.weight = 0.0
        self.centre: Doubles = np.zeros(d)
        self.columns: Doubles = np.zeros(d)

    def fields(self) -> dict[str, Field]:
        return {
            "weight": weight(),
            "centre": point(self.d),
            "columns": Array((self.d,), least=0.0, fades=1),
        }

    @property
    def mean(self) -> Doubles:
        return self.centre

    def nearer_origin(self) -> Doubles:
        # Zero, but for columns that have most of their squares from the mean.
        far = self.weight * self.centre**2 > self.columns
        return np.where(far & self.center, self.centre, 0.0)

    def column_sums(self) -> Doubles:
        return self.columns

    def add_columns(self, rows: Chunk, weights: Doubles) -> tuple[Doubles, Doubles]:
        """Include the columns of rows with weights (r,), which are not all zero.

        Returns the shares (r,) whose combination of the rows is their mean, zeros if it is not
        subtracted, and what the means have apart (m, d), in the units of the rows: m is 0 or 1.
        """
        added = float(weights.sum())
        scale = np.ones(self.d) if rows.scale is None else rows.scale
        shares, apart = np.zeros(len(weights)), np.zeros((0, self.d))
        squares = rows.column_squares(weights) * scale**2
        if self.center:
            shares = weights / added
            centre = rows.combine(shares[None])[0] * scale
            inside = squares - added * centre**2
            squares = np.where(inside > ROUNDING * squares, inside, 0.0)
            apart = self._pool(added, rows.origin + centre, squares) / scale
        else:
            self._pool(added, self.centre, squares)
        return shares, apart

    def merge_columns(self, other: Self) -> Doubles:
        """Include the columns of another one; return what the means have apart (m, d)."""
        return self._pool(other.weight, other.centre, other.columns)

    def _pool(self, added: float, centre: Doubles, columns: Doubles) -> Doubles:
        """Include rows of a weight, mean and sums of squares; return what is between means."""
        before, together = self.weight, self.weight + added
        self.weight, self.columns = together, self.columns + columns
        if not self.center or not added > 0.0:
            return np.zeros((0, self.d))
        step = centre - self.centre
        pooled = before / together * added  # the weight of the step
        self.columns = self.columns + pooled * step**2
        self.centre = self.centre + added / together * step
        return np.sqrt(pooled) * step[None] if before > 0.0 else np.zeros((0, self.d))


def deviations(sums: Doubles, weight: float) -> Doubles:
    """Return standard deviations (d,) from sums of squares about the mean; one where that is 0."""
    found = np.sqrt(sums / max(weight, TINY))
    return np.where(found > 0.0, found, 1.0)


def sums_about_mean(squares: Doubles, total: Doubles, weight: float) -> Doubles:
    """Return sums of squares about the mean from those about a point; 0 where all is rounding."""
    sums = squares - total**2 / weight if weight > 0.0 else squares
    return np.where(sums > ROUNDING * squares, sums, 0.0)
