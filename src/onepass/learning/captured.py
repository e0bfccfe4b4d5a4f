"""The share of variance that a model captures of rows that it has not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SEGMENTS = 64
RECENT = 0.1  # of the stream: earlier rows were scored by earlier, worse models


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


class CapturedScore:
    """Scores of rows by the model held before it learned from them, in segments of the stream.

    Neighbouring segments are merged when there are too many, so that each is at most 1/32 of the
    stream and the last tenth can be told from the rest.
    """

    def __init__(self) -> None:
        self.unit = 0.0  # energies are kept relative to this one, so that their squares stay finite
        # One row per segment: rows, and the sums of c, e, c^2, c e, e^2 (captured and energy).
        self.segments: NDArray[np.float64] = np.zeros((0, 6))
        self.segment_rows = 1  # after which a segment is full

    def copy(self) -> CapturedScore:
        """Return a copy; no array is changed in place."""
        twin = CapturedScore()
        twin.__dict__.update(self.__dict__)
        return twin

    def add(self, captured: NDArray[np.float64], energy: NDArray[np.float64]) -> None:
        """Add rows with these captured energies and energies, both of shape (r,)."""
        if not self.unit:
            self.unit = float(energy.max(initial=0.0))
        if not self.unit or not len(energy):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            c, e = captured / self.unit, energy / self.unit
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

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.segments = factor * self.segments

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

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {
            "unit": self.unit,
            "segment_rows": self.segment_rows,
            "segments": self.segments,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CapturedScore:
        """Return the score of a checked state."""
        score = cls()
        score.__dict__.update(state)
        return score
