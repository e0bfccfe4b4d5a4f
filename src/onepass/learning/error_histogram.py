"""How far rows were from the subspace, each before it was learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A bin is named by the leading bits of its numbers: the exponent and five bits of the fraction.
# Bins are the same for all streams, so that histograms add up, and at most 1/32 wide.
DROPPED_BITS = 47
LEAST_BIN, INFINITE_BIN = 32, 2047 * 32  # of normal numbers; smaller ones are taken for zero


class ErrorHistogram:
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
        self.counts: NDArray[np.float64] = np.zeros((2, 1))
        self.weight = 0.0
        self.next_window = 0.0

    def add(self, errors: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Include rows with these squared distances (r,) and weights (r,)."""
        if not len(errors):
            return
        bins = np.ascontiguousarray(errors, np.float64).view(np.int64) >> DROPPED_BITS
        vanishing = bins < LEAST_BIN  # zero, and what rounding has made negative
        largest = int(bins.max())
        if largest >= LEAST_BIN:
            least = int(np.where(vanishing, largest, bins).min())
            self._widen(least, largest)
        self.weight += float(weights.sum())
        if not self.next_window:
            self.next_window = 2.0 * self.weight
        elif self.weight > self.next_window:
            self.next_window *= 2.0
            self.counts = np.stack([self.counts[1], np.zeros_like(self.counts[1])])
        columns = np.where(vanishing, 0, bins - (self.low - 1))
        added = np.bincount(columns, weights, minlength=self.counts.shape[1])
        self.counts = np.stack([self.counts[0], self.counts[1] + added])

    def quantile(self, share: float) -> float:
        """Return the upper edge of the bin that a share of the rows reaches; NaN without rows."""
        totals = np.cumsum(self.counts.sum(axis=0))
        if not totals[-1] > 0.0:
            return float("nan")
        column = int(np.searchsorted(totals, share * totals[-1] * (1.0 - 1e-12)))
        if column == 0:
            return 0.0
        edge = min(self.low + column, INFINITE_BIN) << DROPPED_BITS
        return float(np.array(edge, np.int64).view(np.float64))

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.counts = factor * self.counts
        self.weight, self.next_window = factor * self.weight, factor * self.next_window

    def merge(self, other: ErrorHistogram) -> None:
        """Include the rows of another stream."""
        theirs = other.copy()
        for ours, its in ((self, theirs), (theirs, self)):
            if its.counts.shape[1] > 1:
                ours._widen(its.low, its.low + its.counts.shape[1] - 2)
        self.counts = self.counts + theirs.counts
        self.weight, self.next_window = (
            self.weight + other.weight,
            self.next_window + other.next_window,
        )

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

    def copy(self) -> ErrorHistogram:
        """Return a copy; no array is changed in place."""
        twin = ErrorHistogram()
        twin.__dict__.update(self.__dict__)
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return dict(self.__dict__)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ErrorHistogram:
        """Return the histogram of a checked state."""
        histogram = cls()
        histogram.__dict__.update(state)
        return histogram
