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

from math import ceil

import numpy as np

from onepass.moments.standard_errors import Captured, unknown
from onepass.persistence.fields import Array, Field, Number, Size, State
from onepass.precision import LARGEST_RATIO, Doubles

# Parts of the stream that sums are kept of, at least half of them full: each is at most a
# thirty-second of the stream, so that "the last half" begins within 3% of where it should.
PARTS = 64

LATEST = 0.5  # of the stream: earlier directions were too far from their limit for a / t to hold
# Standard error above which a share says nothing: two errors to each side are 40 of 100 per cent.
LARGEST_ERROR = 0.1
LEAST_ROWS = 32  # that were held out: from fewer, the spread of rows is not known
# Of the rows so far: what comes into one part at most, unless that is fewer than the rows above.
# Chunks of the algorithms have different lengths, and all of them are to cover the same rows.
PART_SHARE = 1 / 16
# Columns of the table: rows, the sums of 1 / t and of c, e, c^2, c e, e^2 (captured, energy), and
# the power of the factor with which each of them fades.
FADING_POWERS = (1, 1, 1, 1, 2, 2, 2)


class HeldOut(State):
    """Shares captured of rows by directions that had not learned from them."""

    def __init__(self) -> None:
        self.unit = 0.0  # energies are kept relative to this one
        self.table: Doubles = np.zeros((0, len(FADING_POWERS)))  # a part of the stream in each row
        self.full = 1.0  # the number of rows from which on a part is full

    def fields(self) -> dict[str, Field]:
        shape = (Size("parts of held-out rows", PARTS), len(FADING_POWERS))
        return {
            "unit": Number(),
            "table": Array(shape, fades=FADING_POWERS),
            "full": Number(float, 1.0, 1e300),
        }

    def add(self, captured: Doubles, energies: Doubles, learned: float | Doubles) -> None:
        """Include rows with these captured and whole energies (r,).

        `learned` is the number of rows that the directions of each row are from.
        """
        self.unit = self.unit or float(energies.max(initial=0.0))
        if not self.unit or not len(energies):
            return
        with np.errstate(over="ignore"):
            c = np.clip(captured / self.unit, -LARGEST_RATIO, LARGEST_RATIO)
            e = np.clip(energies / self.unit, 0.0, LARGEST_RATIO)
        inverse = np.broadcast_to(1.0 / np.asarray(learned), len(e))
        rows = float(self.table[:, 0].sum()) + len(e)
        length = max(LEAST_ROWS, ceil(rows * PART_SHARE))
        terms = np.stack([np.ones(len(e)), inverse, c, e, c * c, c * e, e * e])
        for sums in np.add.reduceat(terms, np.arange(0, len(e), length), axis=1).T:
            if len(self.table) and self.table[-1, 0] < self.full:
                self.table = np.vstack([self.table[:-1], self.table[-1] + sums])
            else:
                self.table = np.vstack([self.table, sums])
            self._shorten()

    def _shorten(self) -> None:
        """Add up neighbours until there are few enough."""
        while len(self.table) > PARTS:
            pairs = len(self.table) // 2
            head = self.table[: 2 * pairs].reshape(pairs, 2, -1).sum(axis=1)
            self.table = np.vstack([head, self.table[2 * pairs :]])
            self.full = 2.0 * max(self.full, float(head[:, 0].min()))

    def _latest(self, rows: float, share: float) -> Doubles:
        """Return the parts (s, 7) that hold the last share of so many rows, and perhaps more."""
        held = np.cumsum(self.table[::-1, 0])
        return self.table[::-1][: 1 + int(np.searchsorted(held, share * rows * (1.0 - 1e-12)))]

    def estimate(self, rows: float, seen: float) -> Captured:
        """Return what directions from so many rows will capture of new ones.

        `seen` is the share that they capture of the rows that they are from.
        """
        count, inverse, c, e, cc, ce, ee = self._latest(rows, LATEST).sum(axis=0)
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
        """Return rows, share captured and its standard error for each part, shape (p, 3)."""
        table = self.table
        table = table[(table[:, 0] > 1.0) & (table[:, 3] > 0.0)]
        count, _, c, e, cc, ce, ee = table.T
        share = c / e
        spread = np.sqrt(np.maximum(cc - 2.0 * share * ce + share**2 * ee, 0.0))
        return np.column_stack([np.cumsum(count), share, spread / e])

    def merge(self, other: HeldOut) -> None:
        """Include the rows of another stream, as if both had come alternately.

        What the streams differ in is then no difference between earlier and later rows.
        """
        if not other.unit:
            return
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit
        fine, coarse = self.table, other.table * ratio ** np.array([0, 0, 1, 1, 2, 2, 2])
        if len(fine) < len(coarse):
            fine, coarse = coarse, fine
        if len(coarse):
            place, end = (np.cumsum(table[:, 0]) for table in (fine, coarse))
            place, end = place / place[-1], np.append(0.0, end / end[-1])
            sums = np.vstack([np.zeros(coarse.shape[1]), np.cumsum(coarse, axis=0)])
            until = np.stack([np.interp(place, end, column) for column in sums.T], axis=1)
            fine = fine + np.diff(until, axis=0, prepend=0.0)
        self.table = fine
        self.full = max(self.full, other.full, float(fine[:, 0].max(initial=0.0)))
