"""What is kept of rows and their errors: a histogram, and a sample of rows to look at.

The error of a row is its squared distance from the subspace, before it was learned from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from onepass.persistence.fields import (
    MOST_ROWS,
    Array,
    Field,
    Number,
    Size,
    State,
    directions,
    point,
    weight,
    whole,
)
from onepass.precision import Doubles
from onepass.rows.rows import Rows

# A bin is named by the leading bits of its numbers: the exponent and five bits of the fraction.
# Bins are the same for all streams, so that histograms add up, and at most 1/32 wide.
DROPPED_BITS = 47
LEAST_BIN, INFINITE_BIN = 32, 2047 * 32  # of normal numbers; smaller ones are taken for zero

# Rows of a sample: as many points as a picture shows apart. Of wide rows, whose products take time,
# there are fewer, so that they have 2**21 values, but enough to see a shape.
SAMPLE_ROWS, LEAST_SAMPLE_ROWS, SAMPLED_VALUES = 400, 50, 2**21
LARGEST_ROWS = 12  # with the largest errors: what a page lists
MOST_DIRECTIONS = 8  # along which coordinates are kept: pictures show pairs of the first ones
SAME_SPAN = 1e-6  # relative size of what is taken for rounding: half the digits of float64
ONE_BY_ONE_ROWS = (
    16  # BLAS copies both factors of a product; with so few rows that is most of the work
)
# The frame turns when there are 1.5 times as many rows, and eight times in a half-life: it follows
# the components, and the number of turns grows as slowly as the logarithm of the rows.
FRAME_GROWTH, TURNS_IN_HALF_LIFE = 1.5, 8


class ErrorHistogram(State):
    """Squared distances of rows from the subspace, in fixed logarithmic bins.

    Only the rows of the last half to three quarters of the stream count: earlier models were
    worse. Histograms of several streams add up exactly.

    Attributes
    ----------
    low : int
        The bin that column 1 of the counts stands for; the next ones follow.
    counts : ndarray of shape (2, 1 + bins)
        Weights of rows in two windows of the stream, the older one first; column 0 is zero error.
    weight, next_window : float
        Of all rows so far, and that at which the windows move on.
    """

    def __init__(self) -> None:
        self.low = LEAST_BIN
        self.counts: Doubles = np.zeros((2, 1))
        self.weight = 0.0
        self.next_window = 0.0

    def fields(self) -> dict[str, Field]:
        return {
            "low": Number(int, 0, INFINITE_BIN),
            "counts": Array((2, Size("bins", INFINITE_BIN)), least=0.0, fades=1),
            "weight": weight(),
            "next_window": weight(),
        }

    def add(self, errors: Doubles, weights: Doubles) -> None:
        """Include rows with these squared distances (r,) and weights (r,)."""
        if not len(errors):
            return
        bins = np.ascontiguousarray(errors, np.float64).view(np.int64) >> DROPPED_BITS
        positive = bins[bins >= LEAST_BIN]  # not zero, nor what rounding has made negative
        if len(positive):
            self._widen(int(positive.min()), int(positive.max()))
        self.weight += float(weights.sum())
        if not self.next_window:
            self.next_window = 2.0 * self.weight
        elif self.weight > self.next_window:
            self.next_window *= 2.0
            self.counts = np.stack([self.counts[1], np.zeros_like(self.counts[1])])
        columns = np.maximum(bins - (self.low - 1), 0)
        self.counts = self.counts.copy()
        self.counts[1] += np.bincount(columns, weights, minlength=self.counts.shape[1])

    @property
    def total(self) -> float:
        """The weight of the rows that count."""
        return float(self.counts.sum())

    def quantile(self, share: float, unit: float = 1.0) -> float:
        """Return an error that at most a share 1 - `share` of new rows exceed; NaN if unknown.

        Of n rows and a new one, in any order alike, the new one is above the r-th smallest error of
        the others with probability 1 - r / (n + 1). So r is `share` (n + 1), rounded up, and too
        few rows know nothing if that is above n (split conformal prediction; Vovk, Gammerman and
        Shafer 2005). The upper edge of its bin is returned. With a share of 1 it is the largest
        error. `unit` is the weight of a row.
        """
        totals = np.cumsum(self.counts.sum(axis=0))
        total = float(totals[-1])
        rank = total if share == 1.0 else share * (total + unit)
        if not 0.0 < rank <= total * (1.0 + 1e-12):
            return float("nan")
        column = int(np.searchsorted(totals, rank * (1.0 - 1e-9)))
        if column == 0:
            return 0.0
        edge = min(self.low + column, INFINITE_BIN) << DROPPED_BITS
        return float(np.array(edge, np.int64).view(np.float64))

    def merge(self, other: ErrorHistogram) -> None:
        """Include the rows of another stream."""
        theirs = other.copy()
        for ours, its in ((self, theirs), (theirs, self)):
            if its.counts.shape[1] > 1:
                ours._widen(its.low, its.low + its.counts.shape[1] - 2)
        self.counts = self.counts + theirs.counts
        self.weight += other.weight
        self.next_window += other.next_window

    def _widen(self, least: int, largest: int) -> None:
        """Make room for bins."""
        bins = self.counts.shape[1] - 1
        if not bins:
            self.low = least
        high = max(largest, self.low + bins - 1)
        before, after = max(self.low - least, 0), high - (self.low + bins - 1)
        if before or after:
            zero, rest = self.counts[:, :1], self.counts[:, 1:]
            self.counts = np.hstack([zero, np.pad(rest, ((0, 0), (before, after)))])
            self.low -= before


def crossed_errors(rows: Rows, k: int, center: bool) -> Doubles | None:
    """Return errors (r,) of the first rows of a stream, from directions that did not see them.

    One of these rows, if it is long enough, turns a direction to itself: along the directions of
    all of them it has no error. So each half of the rows is measured along the k directions of the
    other half, about its mean where rows are centred. Later rows are measured along directions from
    at least half of the rows, too. Where a half has no k directions there are no errors.
    """
    gram, weights, count = rows.gram, rows.weights, len(rows)
    first = np.arange(count) < count // 2
    if count // 2 <= k:
        return None
    errors = np.empty(count)
    for seen in (first, ~first):
        shares = np.where(seen, weights, 0.0)
        shares *= float(center) / shares.sum()
        with_mean = gram @ shares  # the products of the rows with the mean
        centred = gram - with_mean - with_mean[:, None] + shares @ with_mean
        roots = np.sqrt(weights[seen])
        inside = roots[:, None] * centred[np.ix_(seen, seen)] * roots
        last = len(inside) - 1
        sums, vectors = eigh(inside, subset_by_index=(last - k + 1, last), check_finite=False)
        kept = sums > SAME_SPAN**2 * sums[-1]
        coefficients = np.zeros((int(kept.sum()), count))
        coefficients[:, seen] = (roots[:, None] * vectors[:, kept] / np.sqrt(sums[kept])).T
        along = centred @ coefficients.T
        found = np.maximum(centred.diagonal() - np.einsum("ij,ij->i", along, along), 0.0)
        if rows.is_completed:
            directions = rows.combine(coefficients - np.outer(coefficients.sum(axis=1), shares))
            mean = rows.combine(shares[None])[0] * (1.0 if rows.scale is None else rows.scale)
            found = rows.observed_errors(found, rows.origin + mean, directions)
        errors[~seen] = found[~seen]
    return errors


class RowSample(State):
    """Coordinates of some rows along the directions of the model when they came.

    A row is in the sample if its priority, a number that depends on nothing but its position in the
    stream, is among the smallest: so a sample merges with another, and how rows are split into
    chunks changes nothing. The rows with the largest errors are kept beside it. Coordinates are
    along a frame of a few directions that turns with the model; what is outside of it is lost.

    Parameters
    ----------
    d : int
        The number of columns.
    half_life : float or None
        With it later rows are more likely to be in the sample, by a factor of two for each.

    Attributes
    ----------
    rows : int
        How many rows have been offered.
    directions : ndarray of shape (m, d)
        The frame, orthonormal.
    point : ndarray of shape (d,)
        From which coordinates are measured.
    numbers : ndarray of shape (s,)
        Positions of the rows in the stream, counted from 0.
    priorities, errors : ndarray of shape (s,)
        The error is the squared distance from the subspace, before the row was learned from.
    coordinates : ndarray of shape (s, m)
    """

    def __init__(self, d: int, half_life: float | None = None) -> None:
        self.half_life, self.rows = half_life, 0
        self.size = min(SAMPLE_ROWS, max(LEAST_SAMPLE_ROWS, SAMPLED_VALUES // d))
        # Directions that the frame is filled up to: less than d, so that rows cannot be had back
        # from coordinates, unless the components themselves are as many as the columns.
        self.frame_size = min(MOST_DIRECTIONS, d - 1)
        self.directions: Doubles = np.zeros((0, d))
        self.point: Doubles = np.zeros(d)
        self.numbers: NDArray[np.int64] = np.zeros(0, np.int64)
        self.priorities: Doubles = np.zeros(0)
        self.errors: Doubles = np.zeros(0)
        self.coordinates: Doubles = np.zeros((0, 0))

    def fields(self) -> dict[str, Field]:
        d = len(self.point)
        sampled = Size("sampled", SAMPLE_ROWS + LARGEST_ROWS)
        frame = Size("sample directions", MOST_DIRECTIONS)
        return {
            "rows": whole(),
            "directions": directions(frame, d),
            "point": point(d),
            "numbers": Array((sampled,), ("int64",), 0, MOST_ROWS),
            "priorities": Array((sampled,)),
            "errors": Array((sampled,), least=0.0),
            "coordinates": Array((sampled, frame)),
        }

    def add(
        self,
        rows: Any,
        errors: Doubles,
        directions: NDArray[np.floating],
        point: Doubles,
        numbers: NDArray[np.int64] | None = None,
    ) -> None:
        """Offer rows (r, d) with errors (r,), about a point (d,), along directions (m, d).

        They are the next ones of the stream, or have the numbers (r,): rows with gaps may wait.
        """
        before, self.rows = self.rows, self.rows + rows.shape[0]
        if not len(directions):
            return
        if numbers is None:
            numbers = np.arange(before, self.rows)
        errors = np.where(np.isfinite(errors), errors, 0.0)
        least = _nth_smallest(self.priorities, self.size, np.inf)
        large = errors > -_nth_smallest(-self.errors, LARGEST_ROWS, 0.0)
        offered = np.flatnonzero(self._may_be_below(least, numbers) | large)
        # To turn with each chunk would take longer than to learn from it.
        turning = not len(self.directions) or self._turns(before) < self._turns(self.rows)
        if not len(offered) and not turning:
            return
        numbers, errors = numbers[offered], errors[offered].clip(0.0)
        new = self._select(numbers, self._priorities(numbers), errors)
        if turning:
            self.turn(directions[:MOST_DIRECTIONS], point)
        chosen = offered[new]
        if sparse.issparse(rows) or len(chosen) > ONE_BY_ONE_ROWS:
            inner = rows[chosen].astype(np.float64, copy=False) @ self.directions.T
        else:
            along = [self.directions @ rows[i] for i in chosen]
            inner = np.reshape(along, (len(chosen), len(self.directions)))
        inner = inner - self.directions @ self.point
        self.coordinates = np.vstack([self.coordinates, inner])

    def _turns(self, rows: int) -> int:
        """Return how many times the frame has turned within so many rows."""
        faded = 0.0 if self.half_life is None else TURNS_IN_HALF_LIFE * rows / self.half_life
        return int(np.log(max(rows, 1)) / np.log(FRAME_GROWTH)) + int(faded)

    def _select(
        self, numbers: NDArray[np.int64], priorities: Doubles, errors: Doubles
    ) -> NDArray[np.bool_]:
        """Drop rows that are neither in the sample nor among the largest, for others (r,).

        Returns which of the others are in the sample now; their coordinates are still to be added.
        """
        held = len(self.numbers)
        numbers = np.concatenate([self.numbers, numbers])
        priorities = np.concatenate([self.priorities, priorities])
        errors = np.concatenate([self.errors, errors])
        kept = np.zeros(len(numbers), dtype=bool)
        kept[np.lexsort((numbers, priorities))[: self.size]] = True
        largest = np.lexsort((numbers, -errors))[:LARGEST_ROWS]
        kept[largest[errors[largest] > 0.0]] = True
        self.numbers, self.priorities, self.errors = numbers[kept], priorities[kept], errors[kept]
        self.coordinates = self.coordinates[kept[:held]]
        return kept[held:]

    def turn(self, directions: NDArray[np.floating], point: Doubles) -> None:
        """Measure coordinates also along new directions (m, d), and from another point (d,).

        The frame becomes the new directions, and where the sample varies most besides.
        """
        new, old = directions.astype(np.float64, copy=False), self.directions
        if np.abs(new @ new.T - np.eye(len(new))).max() > SAME_SPAN:
            new = np.linalg.qr(new.T)[0].T
        inside = new @ old.T
        if len(new) - np.linalg.norm(inside) ** 2 < SAME_SPAN**2:
            new = old
        elif len(new) < self.frame_size:
            besides = [(self.coordinates, old - inside.T @ new)]
            new = np.vstack([new, _varying(besides, self.frame_size - len(new))])
        self._move(new, point)

    def _move(self, frame: Doubles, point: Doubles) -> None:
        """Measure coordinates along a frame (m, d) from a point (d,)."""
        inside = self.coordinates @ (self.directions @ frame.T)
        self.coordinates = inside + (self.point - point) @ frame.T
        self.directions, self.point = frame, point.astype(np.float64)

    def along(self, components: NDArray[np.floating], point: NDArray[np.floating]) -> Doubles:
        """Return the coordinates (s, m) of the sample along the first components (k, d)."""
        components = components[:MOST_DIRECTIONS].astype(np.float64)
        turned = self.coordinates @ (self.directions @ components.T)
        return turned + (self.point - point) @ components.T

    def largest(self) -> NDArray[np.intp]:
        """Return where in the sample the rows with the largest errors are, largest first."""
        order = np.lexsort((self.numbers, -self.errors))[:LARGEST_ROWS]
        return order[self.errors[order] > 0.0]

    def merge(self, other: RowSample, after: int | None = None) -> None:
        """Include another sample, whose rows count as coming after so many: after these."""
        other, after = other.copy(), self.rows if after is None else after
        if not len(self.directions):
            self._move(other.directions, other.point)
        elif len(other.directions):
            both = [(part.coordinates, part.directions) for part in (self, other)]
            frame = _varying(both, max(self.frame_size, 1))
            for part in (self, other):
                part._move(frame, self.point)
        numbers, priorities = other.numbers + after, other.priorities
        if self.half_life is not None:
            priorities = priorities - after / self.half_life * np.log(2.0)
        self.rows += other.rows
        if len(numbers):
            new = self._select(numbers, priorities, other.errors)
            self.coordinates = np.vstack([self.coordinates, other.coordinates[new]])

    def _priorities(self, numbers: NDArray[np.int64]) -> Doubles:
        """Return the priorities (r,) of rows: logarithms of exponential variates.

        With a half-life, variates of later rows are smaller, by a factor of two for each.
        """
        priorities = np.log(-np.log(_uniform(numbers)))
        if self.half_life is not None:
            priorities -= numbers / self.half_life * np.log(2.0)
        return priorities

    def _may_be_below(self, priority: float, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows may have a lower priority than this one: all that have, and few more.

        Logarithms of all rows would take longer than to learn from narrow ones.
        """
        if not np.isfinite(priority):
            return np.ones(len(numbers), dtype=bool)
        if self.half_life is not None:
            priority += float(numbers.max(initial=0)) / self.half_life * np.log(2.0)
        with np.errstate(over="ignore"):
            return _uniform(numbers) >= np.exp(-np.exp(priority)) * (1.0 - 1e-12)


def _uniform(numbers: NDArray[np.int64]) -> Doubles:
    """Return numbers between 0 and 1, hashes of positions (r,) by splitmix64."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashes: NDArray[np.uint64] = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    return hashes.astype(np.float64) * 2.0**-53 + 2.0**-54


def _varying(parts: list[tuple[Doubles, Doubles]], count: int) -> Doubles:
    """Return orthonormal directions (m, d), m <= count, along which rows vary most.

    The rows are given in parts, each by its coordinates (s, m) along directions (m, d).
    """
    rows = [np.linalg.qr(coordinates)[1] @ directions for coordinates, directions in parts]
    _, sizes, vectors = np.linalg.svd(np.vstack(rows), full_matrices=False)
    return vectors[sizes > SAME_SPAN * sizes.max(initial=0.0)][:count]


def _nth_smallest(values: Doubles, n: int, otherwise: float) -> float:
    """Return the n-th smallest value, or another number where there are fewer."""
    return float(np.partition(values, n - 1)[n - 1]) if len(values) >= n else otherwise
