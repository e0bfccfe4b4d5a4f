"""A histogram of the errors of rows: squared distances from the subspace before learning."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import eigh

from onepass.moments.chunk import Chunk
from onepass.persistence.fields import Array, Field, Number, Size, State, weight
from onepass.precision import Doubles

# A bin is named by the leading bits of its numbers: the exponent and five bits of the fraction.
# Bins are the same for all streams, so that histograms add up, and at most 1/32 wide.
DROPPED_BITS = 47
LEAST_BIN, INFINITE_BIN = 32, 2047 * 32  # of normal numbers; smaller ones are taken for zero
SAME_SPAN = 1e-6  # relative size of what is taken for rounding: half the digits of float64


class LogHistogram(State):
    """Sums over rows in fixed logarithmic bins, which add up exactly for several streams.

    Attributes
    ----------
    low : int
        The bin that column 1 of the counts stands for; the next ones follow.
    counts : ndarray of shape (2, 1 + bins)
        Two sums for each bin; column 0 is for rows at zero.
    """

    def __init__(self) -> None:
        self.low = LEAST_BIN
        self.counts: Doubles = np.zeros((2, 1))

    def fields(self) -> dict[str, Field]:
        bins = Size(f"bins of {type(self).__name__}", INFINITE_BIN, least=1)
        counts = Array((2, bins), least=0.0, fades=1)
        return {"low": Number(int, 0, INFINITE_BIN), "counts": counts}

    def _include(self, values: Doubles, *sums: tuple[int, Doubles]) -> None:
        """Add numbers (r,) to lines of the counts, in the bins of values (r,)."""
        bins = np.ascontiguousarray(values, np.float64).view(np.int64) >> DROPPED_BITS
        positive = bins[bins >= LEAST_BIN]  # not zero, nor what rounding has made negative
        if len(positive):
            counts = self._widened(int(positive.min()), int(positive.max()))
        else:
            counts = self.counts.copy()
        columns = np.maximum(bins - (self.low - 1), 0)
        for line, numbers in sums:
            counts[line] += np.bincount(columns, numbers, minlength=counts.shape[1])
        self.counts = counts

    def merge(self, other: Self) -> None:
        """Include the rows of another stream."""
        theirs = other.copy()
        for ours, its in ((self, theirs), (theirs, self)):
            if its.counts.shape[1] > 1:
                ours.counts = ours._widened(its.low, its.low + its.counts.shape[1] - 2)
        self.counts = self.counts + theirs.counts

    def _widened(self, least: int, largest: int) -> Doubles:
        """Return a copy of the counts that has room for some bins; it begins with `low`."""
        bins = self.counts.shape[1] - 1
        low, high = (self.low, self.low + bins - 1) if bins else (least, least - 1)
        self.low = min(least, low)
        counts = np.zeros((2, max(largest, high) - self.low + 2))
        counts[:, 0] = self.counts[:, 0]
        counts[:, 1 + low - self.low :][:, :bins] = self.counts[:, 1:]
        return counts


class LongRows(LogHistogram):
    """Weights and energies of rows, by energy: how much of the variance the longest rows hold."""

    def add(self, energies: Doubles, weights: Doubles) -> None:
        """Include rows with these squared distances (r,) from the mean and weights (r,)."""
        self._include(energies, (0, weights), (1, weights * np.maximum(energies, 0.0)))

    def share(self, part: float) -> float:
        """Return the share of all energy that the longest `part` of the rows hold."""
        weights, energies = self.counts[:, ::-1]
        total = float(energies.sum())
        if not total > 0.0:
            return float("nan")
        # Within a bin, rows are taken for equally long.
        before = np.cumsum(weights) - weights
        counted = np.clip(part * weights.sum() - before, 0.0, weights)
        held = energies * np.divide(counted, weights, out=np.zeros_like(counted), where=weights > 0)
        return float(held.sum()) / total


class ErrorHistogram(LogHistogram):
    """Squared distances of rows from the subspace.

    Only the rows of the last half to three quarters of the stream count: earlier models were worse.

    Attributes
    ----------
    counts : ndarray of shape (2, 1 + bins)
        Weights of rows in two windows of the stream, the older one first.
    weight, next_window : float
        Of all rows so far, and that at which the windows move on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = 0.0
        self.next_window = 0.0

    def fields(self) -> dict[str, Field]:
        return {**super().fields(), "weight": weight(), "next_window": weight()}

    def add(self, errors: Doubles, weights: Doubles) -> None:
        """Include rows with these squared distances (r,) and weights (r,)."""
        if not len(errors):
            return
        self.weight += float(weights.sum())
        if not self.next_window:
            self.next_window = 2.0 * self.weight
        elif self.weight > self.next_window:
            self.next_window *= 2.0
            self.counts = np.stack([self.counts[1], np.zeros_like(self.counts[1])])
        self._include(errors, (1, weights))

    @property
    def total(self) -> float:
        """The weight of the rows that count."""
        return float(self.counts.sum())

    def quantile(self, share: float, unit: float = 1.0) -> float:
        """Return an error that at most a share 1 - `share` of new rows exceed; NaN if unknown.

        It is the r-th smallest of n, r = `share` (n + 1) rounded up (split conformal prediction;
        Vovk, Gammerman and Shafer 2005), or the upper edge of its bin; with a share of 1 the
        largest error. `unit` is the weight of a row.
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

    def merge(self, other: Self) -> None:
        super().merge(other)
        self.weight += other.weight
        self.next_window += other.next_window


def crossed_errors(rows: Chunk, k: int, center: bool) -> Doubles | None:
    """Return errors (r,) of the first rows of a stream; None where a half has no k directions.

    A long row turns a direction to itself, along which it has no error. So each half of the rows is
    measured along the k directions of the other half, about its mean where rows are centred.
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
        if rows.filled:
            directions = rows.combine(coefficients - np.outer(coefficients.sum(axis=1), shares))
            found = rows.observed_errors(found, rows.combine(shares[None])[0], directions)
        errors[~seen] = found[~seen]
    return errors
