"""Progressive validation: which candidate captures more of rows that none has learned from.

All candidates are asked for their directions when the stream has grown enough, and the rows that
follow are scored by these, about the robust centre. Between two candidates there are three kinds of
evidence, each a sum over segments of the stream in units of its standard error:

share
    What a candidate captures more of each row, as a share of the row's energy: most rows decide.
energy
    The same in units of energy: the largest rows decide.
large
    The share again, of the rows that are larger than typical: these decide, but not by their size.

A robust candidate answers if the share is clearly in its favour, and neither energy nor large rows
are clearly against it, in all periods together or in the latest ones. Where large rows are signal,
they say so: directions that a few rows have in common are captured by the plain candidate in every
further row of their kind. Rows that are large in directions of their own are captured by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from onepass.learning.candidates import BOUNDED, CONSENSUS, PLAIN, Directions
from onepass.learning.captured import Captured
from onepass.moments.chunk import Chunk

PAIRS = ((CONSENSUS, PLAIN), (BOUNDED, PLAIN), (BOUNDED, CONSENSUS))
SEGMENTS = 16  # of a chunk: their spread says how sure a difference is
LARGE = 4.0  # times the typical energy
SURE = 3.0  # standard errors by which a robust candidate has to be better than the plain one
PREFERRED = 1.5  # standard errors by which one robust candidate has to be better than the other
VETO = -2.0  # standard errors by which energy or large rows may be against it
DRIFTING = 4.5  # standard errors by which neighbouring pieces of the stream may resemble each other
DRIFT_PIECES = 8  # of a chunk
LEAST_PIECE_ROWS = 16


@dataclass(frozen=True)
class Choice:
    """Which candidate answers, and why.

    Attributes
    ----------
    name : {"plain", "consensus", "bounded"}
        The candidate.
    share, energy, large : float
        Evidence for the best robust candidate against the plain one, in standard errors; 0 where
        there is none. Above 3, and not below -2, it answers.
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


class ProgressiveValidation:
    """Evidence for every pair of candidates, of earlier periods, the previous and the current one.

    Attributes
    ----------
    asked : dict of str to ndarray of shape (k, d)
        The directions that rows are scored by.
    """

    def __init__(self) -> None:
        self.asked: Directions = {}
        # For [earlier, previous, current] periods, pairs and kinds of evidence: sum, sum of squares
        self.evidence: NDArray[np.float64] = np.zeros((3, len(PAIRS), 3, 2))
        self.scored: NDArray[np.float64] = np.zeros(3)  # weight of the rows scored in them

    def ask(self, directions: Directions) -> None:
        """Score the rows that follow by these directions."""
        self.asked = directions
        if len(directions) > 1:
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
                share = gain / positive
                kinds = np.stack([share, gain / unit, share * (energies > LARGE * typical)])
                segments = np.add.reduceat(kinds, starts, axis=1)
                self.evidence[2, number, :, 0] += segments.sum(axis=1)
                self.evidence[2, number, :, 1] += (segments**2).sum(axis=1)
        self.scored[2] += float(weights.sum())

    def standard_errors(self, pair: tuple[str, str], latest: bool = False) -> NDArray[np.float64]:
        """Return the evidence (3,) of all periods, or of the latest two, in standard errors."""
        periods = self.evidence[1:] if latest else self.evidence
        total, squares = periods[:, PAIRS.index(pair)].sum(axis=0).T
        return total / np.sqrt(np.maximum(squares, 1e-300))

    def prefers(self, ours: str, theirs: str) -> bool:
        """Return whether a candidate is clearly better than another one."""
        share, energy, large = self.standard_errors((ours, theirs))
        _, energy_now, large_now = self.standard_errors((ours, theirs), latest=True)
        needed = SURE if theirs == PLAIN else PREFERRED
        # The consensus is mild: where it is right, the largest rows do not speak against it.
        energy_needed = 0.0 if ours == CONSENSUS else VETO
        return bool(
            share > needed and energy > energy_needed and min(large, energy_now, large_now) > VETO
        )

    def hopeless(self, name: str, drift: float) -> bool:
        """Return whether a candidate is clearly worse than the plain one."""
        return drift > DRIFTING or bool(self.standard_errors((name, PLAIN)).min() < -SURE)

    def choose(self, drift: float) -> Choice:
        """Return which candidate to believe; `drift` is in standard errors."""
        name = PLAIN
        for candidate in (CONSENSUS, BOUNDED):
            if self.prefers(candidate, name):
                name = candidate
        if drift > DRIFTING:
            name = PLAIN
        pair = (name if name != PLAIN else BOUNDED, PLAIN)
        share, energy, large = (float(value) for value in self.standard_errors(pair))
        gains = self.evidence[1:, PAIRS.index(pair), 0, 0].sum() / max(
            self.scored[1:].sum(), 1e-300
        )
        lost = 0.0 if name == PLAIN else float(gains)
        return Choice(name, share, energy, large, drift, lost)

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.evidence[..., 0] *= factor
        self.evidence[..., 1] *= factor * factor
        self.scored *= factor

    def merge(self, other: Self) -> None:
        """Include the evidence of another stream."""
        self.evidence = self.evidence + other.evidence
        self.scored = self.scored + other.scored

    def copy(self) -> ProgressiveValidation:
        """Return a copy."""
        twin = ProgressiveValidation()
        twin.asked = dict(self.asked)
        twin.evidence, twin.scored = self.evidence.copy(), self.scored.copy()
        return twin


class Drift:
    """How much neighbouring pieces of a stream resemble each other.

    Every row counts as a unit vector from a point that stays where it is, so that none can count
    for more than another. The mean of a piece less the mean of all pieces before it is uncorrelated
    with the next such difference where rows are exchangeable, and resembles it where they drift.

    Parameters
    ----------
    d : int
        The number of columns.
    """

    def __init__(self, d: int) -> None:
        self.point: NDArray[np.float64] = np.zeros(d)
        self.mean: NDArray[np.float64] = np.zeros(d)
        self.last: NDArray[np.float64] = np.zeros(d)
        self.rows = 0.0
        self.sums: NDArray[np.float64] = np.zeros(2)  # of cosines and of their squares

    @property
    def size(self) -> float:
        """The resemblance in standard errors."""
        return float(self.sums[0] / np.sqrt(self.sums[1])) if self.sums[1] > 0.0 else 0.0

    def add(self, chunk: Chunk) -> None:
        """Include the rows of a chunk."""
        point = chunk.rescaled(self.point - chunk.origin)
        inverse = 1.0 / np.sqrt(np.maximum(chunk.distances(point[None])[:, 0], 1e-300))
        pieces = max(1, min(DRIFT_PIECES, len(chunk) // LEAST_PIECE_ROWS))
        edges = np.linspace(0, len(chunk), pieces + 1).astype(int)
        lengths = np.diff(edges)
        which = np.repeat(np.arange(pieces), lengths)
        sums = np.zeros((pieces, len(chunk)))
        sums[which, np.arange(len(chunk))] = inverse / lengths[which]
        means = chunk.combine(sums) - np.outer(sums.sum(axis=1), point)
        for mean, length in zip(means, lengths, strict=True):
            step = mean - self.mean
            size = float(np.linalg.norm(step))
            if self.rows > 0.0 and size > 0.0:
                cosine = float(step @ self.last) / size
                self.sums = self.sums + [cosine, cosine * cosine]
                self.last = step / size
            self.rows += float(length)
            self.mean = self.mean + length / self.rows * step

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.sums = self.sums * [factor, factor * factor]
        self.rows *= factor

    def merge(self, other: Drift) -> None:
        """Include the resemblances of another stream."""
        self.sums = self.sums + other.sums

    def copy(self) -> Drift:
        """Return a copy; no array is changed in place."""
        twin = Drift(0)
        twin.__dict__.update(self.__dict__)
        return twin


# Columns of the periods of `Foresight`.
START, ROWS, GAP, CAPTURED, ENERGY = range(5)
MOST_PERIODS = 16


class Foresight:
    """The share of variance that the final directions will capture of new rows.

    Directions from t rows capture s - a / t of a new row's energy on average, and of the rows that
    they are from s + a / t: they have seen these. Between two times when directions are asked for,
    the gap between what the new ones capture of the rows since and what the old ones have captured
    of them, before they were learned from, is a / t for each row. So `a` is known from rows that
    were scored, and there are two estimates of the share that the final directions will capture:

    - what they capture of the rows that they are from, less 2 a / n;
    - what earlier directions captured of the latest rows, more a (1 / t - 1 / n).

    The error of each is that of a mean over independent rows, and that of the correction, of which
    no more is taken for granted than its sign: the one with the smaller error is reported.
    """

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
            gain = (inside - self.inside) / self.unit
            self.periods[-1, GAP] = gain - self.periods[-1, CAPTURED]

    def add(
        self, captured: NDArray[np.float64], energy: NDArray[np.float64], weight: float
    ) -> None:
        """Include rows (r,) about the mean of `weight` rows before them."""
        self.unit = self.unit or float(energy.max(initial=0.0))
        if not self.unit:
            return
        # About a mean of so many rows, energies are larger by what that mean is uncertain.
        c, e = (part / self.unit * (weight / (weight + 1.0)) for part in (captured, energy))
        self.periods[-1, [ROWS, CAPTURED, ENERGY]] += [len(e), c.sum(), e.sum()]
        with np.errstate(over="ignore"):
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
        share = captured.sum() / scored.sum()
        variance = max(cc - 2.0 * share * ce + share * share * ee, 0.0) / (number - 1.0)
        late = start >= 0.25 * start.max()
        a = max(float(gap[late].sum() / (count[late] / start[late]).sum()), 0.0)
        inside, energy = inside / self.unit, energy / self.unit
        seen = Captured(
            (inside - 2.0 * a) / energy, float(np.hypot(np.sqrt(rows * variance), a)) / energy
        )
        last = start >= 0.5 * start.max()
        more = a * float((count[last] * np.maximum(1.0 / start[last] - 1.0 / rows, 0.0)).sum())
        whole = float(scored[last].sum())
        new = Captured(
            (float(captured[last].sum()) + more) / whole,
            float(np.hypot(np.sqrt(count[last].sum() * variance), more)) / whole,
        )
        return min(seen, new, key=lambda estimate: estimate.standard_error)

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

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.periods[:, [START, ROWS, GAP, CAPTURED, ENERGY]] *= factor
        self.squares = factor * self.squares
        self.inside *= factor

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

    def copy(self) -> Foresight:
        """Return a copy."""
        twin = Foresight()
        twin.__dict__.update(self.__dict__)
        twin.periods = self.periods.copy()
        return twin
