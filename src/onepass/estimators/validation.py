"""Progressive validation: whether a challenger captures more of rows not yet learned from.

Every chunk of rows is scored by incumbent and challenger before either learns from it. One score is
the energy that the challenger captured beyond the incumbent; the other is the same as a share of
the chunk's energy, so that a few huge rows do not decide alone. Later chunks count more, because
both have become better. The scores are gathered in segments of equal length, whose spread says how
sure the difference is. On a stream that drifts, the next rows say little about all rows, so
evidence counts only while chunks look exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_SEGMENTS = 32
LEAST_SEGMENTS = 8  # to believe a challenger
FEW_SEGMENTS = 4  # to give it up for the time being
SURE = 1.75  # standard errors by which a challenger has to be better
DRIFTING = 3.0  # standard errors by which chunks may resemble their neighbours
RECENT = 4  # power of the time with which recent chunks are weighted


@dataclass(frozen=True)
class Expert:
    """Which expert answered, and with what evidence.

    Attributes
    ----------
    name : {"sketch", "average"}
        The second moment of the rows, or an average of Capped MSG iterates.
    evidence : float
        By how many standard errors the average was better on rows not yet learned from: the lesser
        of its two scores; NaN while there are too few segments. This and what follows is 0 where
        no average is kept, because the number of components is to be found.
    segments : int
        How many segments the evidence is from.
    drift : float
        By how many standard errors neighbouring chunks resemble each other.
    step_scale : float
        The scale of the steps of the average that the evidence is about: of several, the best.
    """

    name: str
    evidence: float
    segments: int
    drift: float
    step_scale: float


class Validation:
    """Scores of a challenger against an incumbent, on a stream of chunks."""

    def __init__(self) -> None:
        self.filled = 0.0  # chunks in the current segment
        self.unit = 0.0
        self.length = 1
        self.segments = np.zeros((0, 2))
        self.current = np.zeros(2)
        self.recent = np.zeros(2)
        self.scores = [float("nan")] * 2  # in standard errors; NaN for very few segments

    def copy(self) -> Validation:
        """Return a copy; nothing is changed in place."""
        twin = Validation()
        twin.__dict__.update(self.__dict__)
        return twin

    def add(self, gain: float, energy: float, time: float, chunks: float = 1.0) -> None:
        """Add the next chunk, of some energy of which the challenger captured `gain` more.

        It may be as long as several of the first ones.
        """
        score = self._add(gain, energy, time, chunks, chunks)
        self.recent = self.recent + time**RECENT * score

    def add_apart(self, gain: float, energy: float, counts: float, chunks: float = 1.0) -> None:
        """Add a chunk, or several at once, that came at no time of this stream.

        It counts that much in the evidence, as one look, and nothing in what was recent.
        """
        self._add(gain, energy, counts, chunks, 1.0)

    def _add(
        self, gain: float, energy: float, counts: float, chunks: float, looks: float
    ) -> NDArray[np.float64]:
        """Add a score of several chunks that fills so much of a segment; return it."""
        if energy <= 0.0:
            return np.zeros(2)
        self.unit = self.unit or energy / max(chunks, 1.0)
        score = np.array([gain / self.unit, chunks * gain / energy])
        self.current = self.current + counts * score
        self.filled += looks
        if self.filled >= self.length:
            self.filled = 0.0
            self.segments = np.vstack([self.segments, self.current])
            self.current = np.zeros(2)
            if len(self.segments) == MOST_SEGMENTS:
                self.segments = self.segments[0::2] + self.segments[1::2]
                self.length *= 2
            self._judge()
        return score

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.segments, self.current = factor * self.segments, factor * self.current
        self.recent = factor * self.recent

    def merge(self, other: Validation) -> None:
        """Include the chunks of another stream."""
        unit = self.unit or other.unit
        ratio = np.array([other.unit / unit if unit else 1.0, 1.0])
        self.unit, self.length = unit, max(self.length, other.length)
        self.segments = np.vstack([self.segments, other.segments * ratio])
        while len(self.segments) >= MOST_SEGMENTS:
            odd = np.zeros((len(self.segments) % 2, 2))
            self.segments = np.vstack([self.segments, odd])
            self.segments = self.segments[0::2] + self.segments[1::2]
            self.length *= 2
        self.current, self.recent = (
            self.current + other.current * ratio,
            self.recent + (other.recent * ratio),
        )
        self._judge()

    @property
    def gain(self) -> float:
        """The shares of energy that the challenger captured beyond the incumbent, added up."""
        return float(self.segments[:, 1].sum() + self.current[1])

    @property
    def evidence(self) -> float:
        """The lesser of both scores in standard errors; NaN while there are too few segments."""
        return min(self.scores) if len(self.segments) >= LEAST_SEGMENTS else float("nan")

    def convincing(self) -> bool:
        """Whether the challenger is better beyond doubt."""
        return self.evidence > SURE and self.lasting()

    def lasting(self) -> bool:
        """Whether the challenger was not worse of late."""
        return bool(self.recent.min() >= 0.0)

    def hopeless(self) -> bool:
        """Whether the challenger is worse beyond doubt."""
        return max(self.scores) < -SURE and self.recent.max() <= 0.0

    def _judge(self) -> None:
        """Work the scores out."""
        if len(self.segments) >= FEW_SEGMENTS:
            self.scores = [_sure(s.sum(), float(s @ s)) for s in self.segments.T]


class Drift:
    """How much chunks of a stream resemble their neighbours."""

    def __init__(self) -> None:
        self.resemblance = np.zeros(2)  # sums of cosines and of their squares
        self.last = np.zeros(0)

    def copy(self) -> Drift:
        """Return a copy; nothing is changed in place."""
        twin = Drift()
        twin.__dict__.update(self.__dict__)
        return twin

    def add(self, step: NDArray[np.float64]) -> None:
        """Note how far a chunk's mean is from the mean before, as a vector of shape (d,)."""
        size = float(np.abs(step).max(initial=0.0))
        if size > 0.0:
            step = step / size / np.linalg.norm(step / size)
            if self.last.size:
                cosine = float(step @ self.last)
                self.resemblance = self.resemblance + [cosine, cosine * cosine]
            self.last = step

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.resemblance = factor * self.resemblance

    def merge(self, other: Drift) -> None:
        """Include the chunks of another stream."""
        self.resemblance = self.resemblance + other.resemblance

    @property
    def size(self) -> float:
        """The resemblance of neighbours in standard errors."""
        return _sure(self.resemblance[0], self.resemblance[1])


def _sure(total: float, squares: float) -> float:
    """Return a sum in units of its standard error."""
    return float(total / np.sqrt(squares)) if squares > 0.0 else 0.0
