"""Progressive validation: which candidate captures more of rows that none has learned from.

All candidates are asked for their directions when the stream has grown enough, and the rows that
follow are scored by these, about the robust centre. Between two candidates there are four kinds of
evidence, each a sum over segments of the stream in units of its standard error:

share
    What a candidate captures more of each row, as a share of the row's energy: most rows decide.
energy
    The same in units of energy: the largest rows decide.
large, huge
    The share again, of the rows that are larger or much larger than typical: these decide, but not
    by their size. Energy alone may be that of a single row, which proves nothing.

A robust candidate answers if the share is clearly in its favour, in all periods together and also
in the latest ones, and neither energy nor large nor huge rows are clearly against it in either.
Early in a stream a huge row can carry the plain candidate away, and later rows bring it back, so
that old evidence is not enough. Where large rows are signal, they say so: directions that a few
rows have in common are captured by the plain candidate in every further row of their kind. Rows
that are large in directions of their own are captured by nobody.

Where the stream drifts, the next rows say little about all rows, and the plain candidate answers.
Drift is how much neighbouring pieces of the stream resemble each other: every row counts as a unit
vector from a point that stays where it is, so that none can count for more than another. The mean
of a piece less the mean of all pieces before it is uncorrelated with the next such difference where
rows are exchangeable, and resembles it where they drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.learning.candidates import (
    BOUNDED,
    CANDIDATES,
    CONSENSUS,
    LARGEST_RATIO,
    PLAIN,
    Directions,
)
from onepass.moments.accumulator import Accumulator
from onepass.moments.chunk import Chunk

PAIRS = ((CONSENSUS, PLAIN), (BOUNDED, PLAIN), (BOUNDED, CONSENSUS))
LEAST_PERIOD = 0.1  # of all rows scored so far
SEGMENTS = 16  # of a chunk: their spread says how sure a difference is
LARGE, HUGE = 4.0, 64.0  # times the typical energy
SURE = 3.0  # standard errors by which a robust candidate has to be better than the plain one
# Standard errors by which a robust candidate has to be better than the plain one on the latest rows
# alone, and than another robust one; and by which the largest rows have to speak for the consensus.
PREFERRED = 1.5
VETO = -2.0  # standard errors by which energy, large or huge rows may be against one
DRIFTING = 4.5  # standard errors by which neighbouring pieces of the stream may resemble each other
DRIFT_ROWS, DRIFT_PIECES = 512, 8  # of a chunk: the first rows, and what they are cut into
LEAST_PIECE_ROWS = 16
APART = 16.0  # times what sampling explains: a squared distance of the centres of merged streams


@dataclass(frozen=True)
class Choice:
    """Which candidate answers, and why.

    Attributes
    ----------
    name : {"plain", "consensus", "bounded"}
        The candidate.
    share, energy, large : float
        Evidence for the best robust candidate against the plain one, in standard errors; 0 where
        there is none. If `share` is above 3, that of the latest rows above 1.5, and none below -2,
        it answers. `large` is the least of that of large and of huge rows.
    drift : float
        How much neighbouring pieces of the stream resemble each other, in standard errors. Above
        4.5 the next rows say little about all rows, and the plain candidate answers.
    lost_by_plain : float
        The share of the energy of a row that the plain candidate, batch PCA, would have captured
        less on average, on rows not yet learned from; 0 where it answers.
    """

    name: str
    share: float = 0.0
    energy: float = 0.0
    large: float = 0.0
    drift: float = 0.0
    lost_by_plain: float = 0.0

    def __str__(self) -> str:
        if self.name == BOUNDED:
            return (
                "Some rows are much larger than the rest: they are counted with a typical length. "
                "Use robust=False (--no-robust) for ordinary PCA."
            )
        if self.name == CONSENSUS:
            return (
                "A few rows dominate some directions: the components are what all parts of the "
                "rows have in common. Use robust=False (--no-robust) for ordinary PCA."
            )
        return "The components are those of ordinary PCA."


class ProgressiveValidation(Accumulator):
    """Evidence for every pair of candidates, of earlier periods, the previous and the current one.

    Parameters
    ----------
    d : int
        The number of columns.

    Attributes
    ----------
    asked : dict of str to ndarray of shape (k, d)
        The directions that rows are scored by.
    point : ndarray of shape (d,)
        From which drift is measured.
    """

    fading = ("scored", "rows")
    changed = ("evidence", "scored")

    def __init__(self, d: int) -> None:
        self.asked: Directions = {}
        # For [earlier, previous, current] periods, pairs and kinds of evidence: sum, sum of squares
        self.evidence: NDArray[np.float64] = np.zeros((3, len(PAIRS), 4, 2))
        self.scored: NDArray[np.float64] = np.zeros(3)  # weight of the rows scored in them
        self.point: NDArray[np.float64] = np.zeros(d)
        self.mean: NDArray[np.float64] = np.zeros(d)  # of unit vectors from it
        self.last: NDArray[np.float64] = np.zeros(d)
        self.rows = 0.0
        self.sums: NDArray[np.float64] = np.zeros(2)  # of cosines and of their squares

    @property
    def drift(self) -> float:
        """How much neighbouring pieces resemble each other, in standard errors."""
        return float(self.sums[0] / np.sqrt(self.sums[1])) if self.sums[1] > 0.0 else 0.0

    def ask(self, directions: Directions) -> None:
        """Score the rows that follow by these directions, in a new period if the last one is over.

        Streams that are merged one by one ask more often than periods should begin.
        """
        self.asked = directions
        if len(directions) > 1 and self.scored[2] >= LEAST_PERIOD * self.scored.sum():
            for sums in (self.evidence, self.scored):
                sums[0] += sums[1]
                sums[1], sums[2] = sums[2], 0.0

    def add(
        self,
        captured: dict[str, NDArray[np.float64]],
        energies: NDArray[np.float64],
        weights: NDArray[np.float64],
        typical: float,
    ) -> None:
        """Include rows with these energies (r,), and what each candidate captured of them (r,)."""
        if len(captured) < 2:
            return
        positive = np.maximum(energies, 1e-300)
        starts = np.unique(np.linspace(0, len(weights), SEGMENTS + 1).astype(int)[:-1])
        unit = max(typical, 1e-300)
        for number, (ours, theirs) in enumerate(PAIRS):
            if ours in captured and theirs in captured:
                gain = weights * (captured[ours] - captured[theirs])
                with np.errstate(over="ignore"):
                    share = np.clip(gain / positive, -weights, weights)
                    energy = np.clip(gain / unit, -LARGEST_RATIO, LARGEST_RATIO)
                sizes = (share * (energies > size * typical) for size in (LARGE, HUGE))
                kinds = np.stack([share, energy, *sizes])
                segments = np.add.reduceat(kinds, starts, axis=1)
                self.evidence[2, number, :, 0] += segments.sum(axis=1)
                self.evidence[2, number, :, 1] += (segments**2).sum(axis=1)
        self.scored[2] += float(weights.sum())

    def add_merged(self, captured: dict[str, NDArray[np.float64]], weight: float) -> None:
        """Include a stream of this weight, too short to be scored in segments, as one segment.

        `captured` (2,) is what each candidate of another stream captures of its rows, bounded and
        as they are, in units of the typical energy.
        """
        for number, (ours, theirs) in enumerate(PAIRS):
            if ours in captured and theirs in captured:
                gain = captured[ours] - captured[theirs]
                self.evidence[2, number, :2, 0] += gain
                self.evidence[2, number, :2, 1] += gain**2
        self.scored[2] += weight

    def add_drift(self, chunk: Chunk, energies: NDArray[np.float64]) -> None:
        """Look for drift in the first rows of a chunk, of energies (r,) about the point."""
        head = chunk.part(0, DRIFT_ROWS)
        rows, point = len(head), (self.point - chunk.origin) / chunk.scale
        inverse = 1.0 / np.sqrt(np.maximum(energies[:rows], 1e-300))
        pieces = max(1, min(DRIFT_PIECES, rows // LEAST_PIECE_ROWS))
        lengths = np.diff(np.linspace(0, rows, pieces + 1).astype(int))
        which = np.repeat(np.arange(pieces), lengths)
        shares = np.zeros((pieces, rows))
        shares[which, np.arange(rows)] = inverse / lengths[which]
        means = head.combine(shares) - np.outer(shares.sum(axis=1), point)
        for mean, length in zip(means, lengths, strict=True):
            step = mean - self.mean
            size = float(np.linalg.norm(step))
            if self.rows > 0.0 and size > 0.0:
                cosine = float(step @ self.last) / size
                self.sums = self.sums + [cosine, cosine * cosine]
                self.last = step / size
            self.rows += float(length)
            self.mean = self.mean + length / self.rows * step

    def standard_errors(self, pair: tuple[str, str], latest: bool = False) -> NDArray[np.float64]:
        """Return the evidence (4,) of all periods, or of the latest two, in standard errors."""
        periods = self.evidence[1:] if latest else self.evidence
        total, squares = periods[:, PAIRS.index(pair)].sum(axis=0).T
        return total / np.sqrt(np.maximum(squares, 1e-300))

    def prefers(self, ours: str, theirs: str) -> bool:
        """Return whether a candidate is clearly better than another one."""
        pair = (ours, theirs)
        share, energy, large, huge = self.standard_errors(pair)
        share_now, energy_now, large_now, huge_now = self.standard_errors(pair, latest=True)
        is_clear = share > PREFERRED
        if theirs == PLAIN:
            is_clear = share > SURE and share_now > PREFERRED
        if not is_clear or min(large, energy_now, large_now) <= VETO:
            return False
        if ours == CONSENSUS:  # it is mild: where it is right, the largest rows speak for it
            return bool(energy > PREFERRED)
        return bool(min(energy, huge, huge_now) > VETO)

    def hopeless(self, name: str, drift: float) -> bool:
        """Return whether a candidate is clearly worse than the plain one."""
        return drift > DRIFTING or bool(self.standard_errors((name, PLAIN)).min() < -SURE)

    def choose(self, drift: float) -> Choice:
        """Return which candidate to believe; `drift` is in standard errors."""
        better = [ours for ours in (CONSENSUS, BOUNDED) if self.prefers(ours, PLAIN)]
        if len(better) == 2:
            better = [BOUNDED if self.prefers(BOUNDED, CONSENSUS) else CONSENSUS]
        if drift > DRIFTING:
            better = []
        name = better[0] if better else PLAIN
        pair = (name if name != PLAIN else BOUNDED, PLAIN)
        share, energy, *large = (float(value) for value in self.standard_errors(pair))
        gains = self.evidence[1:, PAIRS.index(pair), 0, 0].sum() / max(
            self.scored[1:].sum(), 1e-300
        )
        lost = 0.0 if name == PLAIN else float(gains)
        return Choice(name, share, energy, min(large), drift, lost)

    def fade(self, factor: float) -> None:
        super().fade(factor)
        powers = np.array([factor, factor * factor])  # of sums, and of sums of squares
        self.evidence, self.sums = self.evidence * powers, self.sums * powers

    def merge(self, other: Self, apart: float, explained: float) -> None:
        """Include the evidence of another stream.

        Parameters
        ----------
        other : ProgressiveValidation
        apart : float
            The squared distance between the centres of the streams, in units of the typical energy.
        explained : float
            How large sampling makes it on average. Streams that lie clearly farther apart count as
            one that drifts: all pieces of the shorter one lie on the same side of the other.
        """
        self.evidence = self.evidence + other.evidence
        self.scored = self.scored + other.scored
        self.sums = self.sums + other.sums
        if apart > APART * explained:
            shift = apart / (1.0 + apart)  # squared, of the mean of unit vectors
            cosine = shift / (shift + 1.0 / LEAST_PIECE_ROWS)
            pieces = max(min(self.rows, other.rows) / LEAST_PIECE_ROWS, 1.0)
            self.sums = self.sums + [pieces * cosine, pieces * cosine**2]

    def saved(self) -> dict[str, Any]:
        asked = list(self.asked.values())
        none = np.zeros((0, 0, len(self.point)))
        return {
            "asked": np.stack(asked) if asked else none,
            "evidence": self.evidence,
            "evidence_rows": self.scored,
            "drift": {name: getattr(self, name) for name in DRIFT},
        }

    def restore(self, state: dict[str, Any]) -> None:
        names = {0: (), 1: (PLAIN,), 2: (PLAIN, BOUNDED), 3: CANDIDATES}[len(state["asked"])]
        self.asked = dict(zip(names, state["asked"], strict=True))
        self.evidence, self.scored = state["evidence"], state["evidence_rows"]
        vars(self).update(state["drift"])


DRIFT = ("point", "mean", "last", "rows", "sums")
