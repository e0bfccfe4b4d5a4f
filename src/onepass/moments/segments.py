"""Sums over segments of the stream, from which every standard error comes.

The spread of the means of long segments gives the error of a mean over rows that depend on their
neighbours or have heavy tails (batch means). So these sums are kept for at most 32 segments:

    P_s = sum over the rows of segment s of  w (x - m_s) (x - m_s)' F',

with m_s the mean of the segment and F (K, d) a frame: directions that nearly span the components.
Narrow streams have F = I, and P_s is a second moment.

The components turn while the stream goes on, and the frame follows them. What the old frame F did
not span of the new one G is not known of a single segment, but of all of them together:

    P_s G' = P_s F' F G' + w_s / w (W - sum of P_s F' F) G',

with W the scatter within the segments. So the sum over segments is exact at any time, and only the
differences between segments lose what F did not span. Rows with gaps are completed: the covariances
of what was filled in are in the second moment of all rows alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import ceil
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.moments.chunk import Chunk, PartSums
from onepass.persistence.fields import Array, Field, Number, Size, State
from onepass.precision import TINY, Doubles

# Segments at most. Student's 95% quantile is 2.04 with 31 degrees of freedom and 2.13 with 15: more
# segments would gain little, and they could not be as long.
SEGMENTS = 32
LEAST_ROWS = 16  # of a segment that is full: no single row follows from its sums
# Components that have errors: the frame has 2 k + 2 directions, and 32 segments of more of them
# would take more memory than the second moment itself.
MOST_COMPONENTS = 32
# Columns up to which a segment has the whole second moment. It is a part of the sums that the rows
# are learned with, so that it costs no product with rows; 32 of them take 4 MB.
WHOLE_COLUMNS = 128
MUCH_LARGER = 1e12  # times the unit: products of so large rows still fit in single precision
SAME_DIRECTION = 1e-6  # singular value of unit rows below which one of them is among the others


class Segments(State):
    """Sums over at most 32 segments of a stream, in its order.

    Rows that come together are cut into segments that have, when they are full, a 32nd to a 16th of
    all rows then, and at least 16 rows. When there are too many, the two neighbours with the fewest
    rows are added up. Where earlier rows fade, these are the oldest ones.

    Parameters
    ----------
    d : int
    dtype : dtype
        Of the rows, in which products are kept.
    whole : bool
        Whether the frame is the identity.

    Attributes
    ----------
    frame : ndarray of shape (K, d)
        Orthonormal directions, in the columns as they came.
    unit : float
        Products are kept in units of this energy.
    rows, weights : ndarray of shape (S,)
        How many rows each segment has, those that have faded less than one; and their weights.
    means, squares : ndarray of shape (S, d)
        The means of the segments, and sums of squares of their columns about them.
    parts : list of ndarray of shape (d, K)
        Their scatters about their means times the frame. Arrays are replaced, never changed: copies
        share them.
    """

    def __init__(self, d: int, dtype: Any = np.float64, *, whole: bool = False) -> None:
        self.d, self.dtype, self.unit = d, np.dtype(dtype), 0.0
        self.frame: Doubles = np.eye(d) if whole else np.zeros((0, d))
        self.rows: Doubles = np.zeros(0)
        self.weights: Doubles = np.zeros(0)
        self.means: Doubles = np.zeros((0, d))
        self.squares: Doubles = np.zeros((0, d))
        self.parts: list[NDArray[np.floating]] = []

    def fields(self) -> dict[str, Field]:
        count, K, d = Size("segments", SEGMENTS), Size("directions of the frame", self.d), self.d
        return {
            "unit": Number(),
            "frame": Array((K, d), least=-2.0, most=2.0, orthonormal=True),
            "rows": Array((count,), least=0.0),
            "weights": Array((count,), least=0.0),
            "means": Array((count, d)),
            "squares": Array((count, d), least=0.0),
            "products": Array((count, d, K), (self.dtype.name,)),
        }

    @property
    def is_whole(self) -> bool:
        """Whether the frame is the identity."""
        return len(self.frame) == self.d

    @property
    def products(self) -> NDArray[np.floating]:
        """The scatters of all segments times the frame, shape (S, d, K)."""
        return np.array(self.parts, self.dtype).reshape(len(self), self.d, len(self.frame))

    def __len__(self) -> int:
        return len(self.parts)

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked sums from a file."""
        self.parts = list(content.pop("products"))
        super().take(content)

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy that goes on by itself."""
        return copy.copy(self)

    def fade(self, factor: float) -> None:
        """Let all rows so far count less."""
        self.rows = factor * self.rows
        self.reweigh(factor)

    def reweigh(self, factor: float) -> None:
        """Let all weights be so many times as large."""
        self.weights, self.squares = factor * self.weights, factor * self.squares
        self.parts = [np.multiply(product, factor, dtype=self.dtype) for product in self.parts]

    def add(
        self,
        rows: Chunk,
        weights: Doubles,
        sums: Callable[[Chunk, Doubles, list[int], Doubles], PartSums] | None = None,
    ) -> None:
        """Include rows (r, d), as they came, with weights (r,).

        ``sums(rows, weights, edges, frame)`` returns the sums of parts of the rows, of which part i
        goes from edge i to the next: `Chunk.part_sums`, or what takes its place.
        """
        count = len(weights)
        if not count:
            return
        # Rows that fill a segment when so many have come: 16 times a power of two.
        shortest = 2.0 * (count + float(self.rows.sum())) / SEGMENTS
        full = LEAST_ROWS << (int(max(shortest / LEAST_ROWS, 1.0)).bit_length() - 1)
        last = float(self.rows[-1]) if self.parts else 0.0
        joins = 0.0 < last < full
        first = ceil(full - last) if joins else full
        edges = [0, *range(first, count, full), count]
        sums = sums or type(rows).part_sums
        heavy, means, squares, products = sums(rows, weights, edges, self.frame)
        self._raise_unit(_power_of_two(float(squares.sum() / max(heavy.sum(), TINY))))
        new = []
        for product in products:
            product *= 1.0 / self.unit
            new.append(product.astype(self.dtype, copy=False))
        self._append(np.diff(edges), heavy, rows.origin + means, squares, new, joins=joins)

    def _append(
        self,
        rows: Any,
        weights: Doubles,
        means: Doubles,
        squares: Doubles,
        parts: list[NDArray[np.floating]],
        *,
        joins: bool = False,
    ) -> None:
        """Append segments, and add up neighbours until few are left, none of them short.

        The first one `joins` the last one before if that is not full.
        """
        starts = self._starts([*self.rows.tolist(), *rows.tolist()], joins)
        rows, weights = np.append(self.rows, rows), np.append(self.weights, weights)
        means, squares = np.vstack([self.means, means]), np.vstack([self.squares, squares])
        parts, frame = self.parts + parts, self.frame / (self.unit or 1.0)
        self.rows, self.weights = np.add.reduceat(rows, starts), np.add.reduceat(weights, starts)
        self.means, self.squares = means[starts], squares[starts]
        self.parts = list(map(parts.__getitem__, starts))
        lengths = np.diff([*starts, len(rows)])
        for number in np.flatnonzero(lengths > 1).tolist():
            start = starts[number]
            group = slice(start, start + lengths[number])
            share = weights[group, None]
            apart = means[group] - means[start]
            step = (share * apart).sum(axis=0) / max(self.weights[number], TINY)
            apart -= step
            self.means[number] += step
            self.squares[number] = (squares[group] + share * apart**2).sum(axis=0)
            product = (share * apart).T @ (apart @ frame.T)
            for part in parts[group]:
                product += part
            self.parts[number] = product.astype(self.dtype, copy=False)

    def _starts(self, rows: list[float], joins: bool) -> list[int]:
        """Return which of some segments remain, with all up to the next one added to each."""
        starts = list(range(len(rows)))
        while len(rows) > 1:
            if joins:
                first, joins = len(self.parts) - 1, False
            elif min(rows) < min(LEAST_ROWS, max(rows)):
                first = max(rows.index(min(rows)) - 1, 0)
            elif len(rows) > SEGMENTS:
                pairs = list(map(add, rows, rows[1:]))
                first = pairs.index(min(pairs))
            else:
                break
            rows[first : first + 2] = [rows[first] + rows[first + 1]]
            del starts[first + 1]
        return starts

    def _raise_unit(self, energy: float) -> None:
        """Keep products in units of an energy if that is much larger than the present unit."""
        if energy > MUCH_LARGER * self.unit:
            self.parts = [
                np.multiply(product, self.unit / energy, dtype=self.dtype) for product in self.parts
            ]
            self.unit = energy

    def turn(
        self,
        frame: Doubles,
        times: Callable[[Doubles], Doubles],
        *,
        center: bool = True,
        has_gaps: bool = False,
    ) -> None:
        """Take another frame (K, d), orthonormal.

        ``times(columns)`` returns the scatter of all rows times columns (d, m); where rows had
        gaps, with the covariances of what was filled in.
        """
        if self.parts:
            along, weights = self.frame @ frame.T, self.weights
            apart = self.means - float(center) * (weights / weights.sum()) @ self.means

            def within(frame: Doubles) -> Doubles:
                between = (apart * weights[:, None]).T @ (apart @ frame.T)
                return np.asarray((times(frame.T) - between) / self.unit)

            turned = [product.astype(np.float64) @ along for product in self.parts]
            missing = within(frame) - sum(turned)
            if has_gaps:  # the covariances stay out
                missing -= (within(self.frame) - sum(self.parts)) @ along
            missing /= weights.sum()
            self.parts = [
                (product + weight * missing).astype(self.dtype)
                for product, weight in zip(turned, weights.tolist(), strict=True)
            ]
        self.frame = np.ascontiguousarray(frame)

    def fill(self, columns: NDArray[np.bool_], mean: Doubles, variances: Doubles) -> None:
        """Let all rows have means and variances (d,) in some columns (d,)."""
        self.means = np.where(columns, mean, self.means)
        self.squares = np.where(columns, np.outer(self.weights, variances), self.squares)

    def joint_frame(self, other: Self) -> Doubles:
        """Return a frame (K, d) that spans those of both; the identity if that is everything."""
        if self.is_whole:
            return self.frame
        both = np.vstack([self.frame, other.frame])
        _, sizes, directions = np.linalg.svd(both, full_matrices=False)
        found = directions[sizes > SAME_DIRECTION]
        return found if len(found) < self.d else np.eye(self.d)

    def merge(self, other: Self) -> None:
        """Include the segments of another stream with the same frame, after these."""
        if not other.parts:
            return
        if not self.parts:
            self.frame = other.frame
        self._raise_unit(other.unit)
        ratio = other.unit / (self.unit or 1.0)
        parts = [np.multiply(product, ratio, dtype=self.dtype) for product in other.parts]
        self._append(other.rows, other.weights, other.means, other.squares, parts)


def _power_of_two(energy: float) -> float:
    """Return a power of two near an energy, and 1 for none."""
    return float(2.0 ** np.round(np.log2(energy))) if 0.0 < energy < np.inf else 1.0
