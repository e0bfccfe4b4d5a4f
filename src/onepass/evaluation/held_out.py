"""The share of variance that a model captures of rows that it has not learned from.

Directions from t rows capture s - a / t of new rows on average, and s + a / t of the rows that they
are from: they have seen these. Here `a` depends on the data, and s is what the best directions
capture. With n rows in all,

- *seen*, what the final directions capture of the rows that they are from, is s + a / n;
- *new*, what earlier directions captured of rows before they learned from them, is s - a h / n on
  average, where h is the mean of n / t over these rows.

What the final directions will capture of new rows is s - a / n. That is

    w seen + (1 - w) new,   w = (h - 1) / (h + 1),

whatever `a` is. The two biases cancel only on average, so half of the correction that is left,
(seen - new) / (2 (h + 1)), counts as an error besides that of sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, isnan, nan

import numpy as np

from onepass.evaluation.segments import Segments
from onepass.persistence.fields import Field, Number, Part, State
from onepass.precision import LARGEST_RATIO, Doubles

LATEST = 0.5  # of the stream: earlier directions were too far from their limit for a / t to hold
# Standard error above which a share says nothing: two errors to each side are 40 of 100 per cent.
LARGEST_ERROR = 0.1
LEAST_ROWS = 32  # that were held out: from fewer, the spread of rows is not known
# Of the rows so far: what comes into one segment at most, unless that is fewer than the rows above.
# Chunks of the algorithms have different lengths, and all of them are to cover the same rows.
SEGMENT_SHARE = 1 / 16
# Columns of the table: rows, the sums of 1 / t and of c, e, c^2, c e, e^2 (captured, energy), and
# the power of the factor with which each of them fades.
FADING_POWERS = (1, 1, 1, 1, 2, 2, 2)


@dataclass(frozen=True)
class Captured:
    """The share of the variance of new rows that the components capture.

    Attributes
    ----------
    mean : float
        Captured energy over energy; NaN where it is not known.
    standard_error : float
        Of the mean, as of a ratio of two sums over independent rows.
    reason : str
        Why there is no number; empty where there is one.
    """

    mean: float
    standard_error: float
    reason: str = field(default="", compare=False)

    @property
    def is_known(self) -> bool:
        """Whether there is a number."""
        return not isnan(self.mean)


def unknown(reason: str) -> Captured:
    """Return a share that is not known, for a reason."""
    return Captured(nan, nan, reason)


class HeldOut(State):
    """Shares captured of rows by directions that had not learned from them."""

    def __init__(self) -> None:
        self.unit = 0.0  # energies are kept relative to this one
        self.segments = Segments("held-out rows", FADING_POWERS)

    def fields(self) -> dict[str, Field]:
        return {"unit": Number(), "segments": Part()}

    def add(self, captured: Doubles, energies: Doubles, learned: float | Doubles) -> None:
        """Include rows with these captured and whole energies, both of shape (r,).

        `learned` is the number of rows that the directions of each row are from.
        """
        self.unit = self.unit or float(energies.max(initial=0.0))
        if not self.unit or not len(energies):
            return
        with np.errstate(over="ignore"):
            c = np.clip(captured / self.unit, -LARGEST_RATIO, LARGEST_RATIO)
            e = np.clip(energies / self.unit, 0.0, LARGEST_RATIO)
        inverse = np.broadcast_to(1.0 / np.asarray(learned), len(e))
        rows = float(self.segments.table[:, 0].sum()) + len(e)
        length = max(LEAST_ROWS, ceil(rows * SEGMENT_SHARE))
        terms = np.stack([np.ones(len(e)), inverse, c, e, c * c, c * e, e * e])
        for sums in np.add.reduceat(terms, np.arange(0, len(e), length), axis=1).T:
            self.segments.add(sums)

    def estimate(self, rows: float, seen: float) -> Captured:
        """Return what directions from so many rows will capture of new ones.

        `seen` is the share that they capture of the rows that they are from.
        """
        count, inverse, c, e, cc, ce, ee = self.segments.latest(rows, LATEST).sum(axis=0)
        if count < LEAST_ROWS:
            return unknown(f"fewer than {LEAST_ROWS} rows were held out")
        if not e > 0.0:
            return unknown("the rows that were held out do not vary")
        new, h = c / e, max(rows * inverse / count, 1.0)
        w, part = (h - 1.0) / (h + 1.0), min(count / rows, 1.0)
        # The rows held out are a part of all rows, and the rest of these is independent of them.
        sampling = np.sqrt(max(cc - 2.0 * new * ce + new * new * ee, 0.0)) / e
        spread = sampling * np.sqrt((1.0 - w) ** 2 + (2.0 * w * (1.0 - w) + w * w) * part)
        error = float(np.hypot(spread, (seen - new) / (2.0 * (h + 1.0))))
        if not error <= LARGEST_ERROR:
            return unknown(f"its standard error, {error:.0%}, is above {LARGEST_ERROR:.0%}")
        return Captured(float(np.clip(w * seen + (1.0 - w) * new, 0.0, 1.0)), error)

    def curve(self) -> Doubles:
        """Return rows, share captured and its standard error for each segment, shape (p, 3)."""
        table = self.segments.table
        table = table[(table[:, 0] > 1.0) & (table[:, 3] > 0.0)]
        count, _, c, e, cc, ce, ee = table.T
        share = c / e
        spread = np.sqrt(np.maximum(cc - 2.0 * share * ce + share**2 * ee, 0.0))
        return np.column_stack([np.cumsum(count), share, spread / e])

    def merge(self, other: HeldOut) -> None:
        """Include the rows of another stream."""
        if not other.unit:
            return
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit
        theirs = other.segments.copy()
        theirs.table = theirs.table * ratio ** np.array([0, 0, 1, 1, 2, 2, 2])
        self.segments.merge(theirs)
