"""The share of variance that a model captures of rows that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.moments.accumulator import Accumulator

MAX_SEGMENTS = 64
RECENT = 0.1  # of the stream: earlier rows were scored by earlier, worse models
MOST_PERIODS = 16
LARGEST_RATIO = 1e100  # of energies, so that sums of their squares stay finite


@dataclass(frozen=True)
class Captured:
    """The share of the variance of new rows that the components capture.

    Attributes
    ----------
    mean : float
        Captured energy over energy; NaN where too few rows were scored.
    standard_error : float
        Of the mean, as of a ratio of two sums over independent rows.
    """

    mean: float
    standard_error: float


class CapturedScore(Accumulator):
    """Scores of rows by the model held before it learned from them, in segments of the stream.

    Neighbouring segments are merged when there are too many, so that each is at most 1/16 of the
    stream and the last tenth can be told from the rest.
    """

    def __init__(self) -> None:
        self.unit = 0.0  # energies are kept relative to this one, so that their squares stay finite
        # One row per segment: rows, and the sums of c, e, c^2, c e, e^2 (captured and energy).
        self.segments: NDArray[np.float64] = np.zeros((0, 6))
        self.segment_rows = 1  # after which a segment is full

    def add(self, captured: NDArray[np.float64], energy: NDArray[np.float64]) -> None:
        """Add rows with these captured energies and energies, both of shape (r,)."""
        if not self.unit:
            self.unit = float(energy.max(initial=0.0))
        if not self.unit or not len(energy):
            return
        with np.errstate(over="ignore"):
            c = np.clip(captured / self.unit, -LARGEST_RATIO, LARGEST_RATIO)
            e = np.clip(energy / self.unit, 0.0, LARGEST_RATIO)
        sums = np.array([len(e), c.sum(), e.sum(), c @ c, c @ e, e @ e])
        segments = self.segments
        if len(segments) and segments[-1, 0] < self.segment_rows:
            self.segments = np.vstack([segments[:-1], segments[-1] + sums])
        else:
            self.segments = np.vstack([segments, sums])
        while len(self.segments) > MAX_SEGMENTS:
            pairs = len(self.segments) // 2
            merged = self.segments[: 2 * pairs].reshape(pairs, 2, 6).sum(axis=1)
            self.segments = np.vstack([merged, self.segments[2 * pairs :]])
            self.segment_rows = int(2 * max(self.segment_rows, merged[:, 0].min()))

    def merge(self, other: CapturedScore) -> None:
        """Include the rows of another stream, as if its segments and these came alternately."""
        if not other.unit:
            return
        if not self.unit:
            self.__dict__.update(other.copy().__dict__)
            return
        powers = np.array([0, 1, 1, 2, 2, 2])
        theirs = other.segments * (other.unit / self.unit) ** powers
        both = np.vstack([self.segments, theirs])
        place = np.concatenate(
            [(np.arange(len(part)) + 1) / len(part) for part in (self.segments, theirs)]
        )
        self.segments = both[np.argsort(place, kind="stable")]
        self.segment_rows = max(self.segment_rows, other.segment_rows)

    def value(self) -> Captured:
        """Return the share of the last tenth of the rows, which the last models were scored on."""
        if not len(self.segments):
            return Captured(float("nan"), float("nan"))
        later = np.cumsum(self.segments[::-1, 0])
        used = 1 + int(np.searchsorted(later, RECENT * later[-1]))
        count, c, e, cc, ce, ee = self.segments[::-1][:used].sum(axis=0)
        if count < 2 or not e > 0.0:
            return Captured(float("nan"), float("nan"))
        mean = c / e
        spread = max(cc - 2 * mean * ce + mean * mean * ee, 0.0) * count / (count - 1)
        return Captured(float(mean), float(np.sqrt(spread) / e))

    def curve(self) -> NDArray[np.float64]:
        """Return rows, share captured and its standard error for each segment, shape (p, 3)."""
        segments = self.segments[(self.segments[:, 0] > 1.0) & (self.segments[:, 2] > 0.0)]
        count, c, e, cc, ce, ee = segments.T
        share = c / e
        spread = np.maximum(cc - 2.0 * share * ce + share**2 * ee, 0.0) * count / (count - 1.0)
        return np.column_stack([np.cumsum(count), share, np.sqrt(spread) / e])


UNSURE = 0.25  # of a correction, where two estimates agree
EXPLAINED = 2.0  # standard errors between two estimates that sampling explains
START, ROWS, GAP, CAPTURED, ENERGY = range(5)  # columns of the periods of `Foresight`


class Foresight(Accumulator):
    """The share of variance that the final directions will capture of new rows.

    Directions from t rows capture s - a / t of a new row's energy on average, and of the rows that
    they are from s + a / t: they have seen these. Between two times when directions are asked for,
    the gap between what the new ones capture of the rows since and what the old ones have captured
    of them, before they were learned from, is a / t for each row. So `a` is known from rows that
    were scored, and there are two estimates of the share that the final directions will capture:

    - what they capture of the rows that they are from, less 2 a / n;
    - what earlier directions captured of the latest rows, more a (1 / t - 1 / n).

    The error of each is that of a mean over independent rows, and that of the correction: as much
    as the two estimates differ, and a quarter of the correction. It is at most the correction, as
    long as the two differ by no more than sampling explains. The estimate with the smaller error is
    reported.
    """

    fading = ("periods", "squares", "inside")
    changed = ("periods",)

    def __init__(self) -> None:
        self.unit = 0.0  # energies are kept relative to this one
        # For each period: rows before it, rows in it, gap, captured and whole energy of its rows.
        self.periods: NDArray[np.float64] = np.zeros((0, 5))
        self.squares: NDArray[np.float64] = np.zeros(4)  # of all rows: number, c^2, c e, e^2
        self.inside = 0.0  # energy along the directions when they were asked for

    def ask(self, rows: float, inside: float) -> None:
        """Begin a period after some rows, of whose energy `inside` is along new directions."""
        self.inside = inside
        self.periods = np.vstack([self.periods[1 - MOST_PERIODS :], [rows, 0.0, 0.0, 0.0, 0.0]])

    def close(self, inside: float) -> None:
        """End the current period: what the same candidate's directions capture by now."""
        if len(self.periods) and self.unit:
            gain = np.clip((inside - self.inside) / self.unit, -LARGEST_RATIO, LARGEST_RATIO)
            self.periods[-1, GAP] = gain - self.periods[-1, CAPTURED]

    def add(
        self, captured: NDArray[np.float64], energy: NDArray[np.float64], weight: float
    ) -> None:
        """Include rows (r,) about the mean of `weight` rows before them."""
        self.unit = self.unit or float(energy.max(initial=0.0))
        if not self.unit:
            return
        # About a mean of so many rows, energies are larger by what that mean is uncertain.
        with np.errstate(over="ignore"):
            both = np.stack([captured, energy]) / self.unit
        c, e = np.clip(both, -LARGEST_RATIO, LARGEST_RATIO) * (weight / (weight + 1.0))
        self.periods[-1, [ROWS, CAPTURED, ENERGY]] += [len(e), c.sum(), e.sum()]
        self.squares = self.squares + [len(e), c @ c, c @ e, e @ e]

    def value(self, rows: float, inside: float, energy: float) -> Captured:
        """Return the share that directions capture of new rows.

        Parameters
        ----------
        rows, inside, energy : float
            How many rows they are from, the energy of these along them, and all of it.
        """
        periods = self.periods[self.periods[:, ROWS] > 0.0]
        number, cc, ce, ee = self.squares
        if number < 2.0 or not len(periods) or not energy > 0.0:
            return Captured(float("nan"), float("nan"))
        start, count, gap, captured, scored = periods.T
        last = start >= 0.5 * start.max()
        whole = float(scored[last].sum())
        if not whole > 0.0:  # nothing varies any more
            return Captured(float("nan"), float("nan"))
        share = captured.sum() / scored.sum()
        variance = max(cc - 2.0 * share * ce + share * share * ee, 0.0) / (number - 1.0)
        late = start >= 0.25 * start.max()
        a = max(float(gap[late].sum() / (count[late] / start[late]).sum()), 0.0)
        inside, energy = inside / self.unit, energy / self.unit
        more = a * float((count[last] * np.maximum(1.0 / start[last] - 1.0 / rows, 0.0)).sum())
        seen = (inside - 2.0 * a) / energy
        new = (float(captured[last].sum()) + more) / whole
        shares, corrections = np.array([seen, new]), np.array([a / energy, more / whole])
        sampling = np.sqrt(variance * np.array([rows, count[last].sum()])) / [energy, whole]
        apart = abs(seen - new)
        unsure = np.hypot(apart, UNSURE * corrections)
        if apart < EXPLAINED * np.hypot(*sampling):
            unsure = np.minimum(unsure, corrections)
        errors = np.hypot(sampling, unsure)
        best = int(errors.argmin())
        return Captured(float(np.clip(shares[best], 0.0, 1.0)), float(errors[best]))

    def curve(self) -> NDArray[np.float64]:
        """Return rows, share captured and its standard error for each period, shape (p, 3)."""
        periods = self.periods[self.periods[:, ENERGY] > 0.0]
        start, count, _, captured, scored = periods.T
        number, cc, ce, ee = self.squares
        if not len(periods) or number < 2.0:
            return np.zeros((0, 3))
        share = captured.sum() / scored.sum()
        variance = max(cc - 2.0 * share * ce + share * share * ee, 0.0) / (number - 1.0)
        error = np.sqrt(count * variance) / scored
        return np.column_stack([start + count, captured / scored, error])

    def merge(self, other: Foresight) -> None:
        """Include the periods of another stream, both of which have been closed."""
        if not other.unit:
            return
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit
        theirs = other.periods * [1.0, 1.0, ratio, ratio, ratio]
        both = np.vstack([self.periods, theirs])
        order = np.argsort(both[:, START], kind="stable")
        self.periods = both[order][-MOST_PERIODS:]
        self.squares = self.squares + other.squares * [1.0, ratio**2, ratio**2, ratio**2]
