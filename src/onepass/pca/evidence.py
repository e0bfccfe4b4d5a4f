"""What held-out rows say about each bound, and the choice between them.

Each candidate's directions are found from time to time, and the rows that follow are evaluated
with them before they are learned from (progressive validation; Blum, Kalai and Langford 1999). For
a row of energy e, in typical energies, let g be the share of its energy that a robust candidate
captures more than the plain one. What counts in the end is the energy gained, E[e g], but no test
can decide on its sign where energies have no variance. By the layer cake,

    E[min(e, M) g] = integral from 0 to M of T(t) dt,   T(t) = E[g 1(e > t)],

and each T(t) is a mean of terms between -1 and 1, which can be tested whatever the tails. A sum of
terms over the root of the sum of their squares (a self-normalised sum) needs no moments: where
terms are symmetric, P(sum > z root) <= exp(-z^2 / 2) (de la Pena, Lai and Shao 2009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import fdtri, ndtr, ndtri

from onepass.evaluation.segments import Segments
from onepass.pca.bounds import BOUNDED, BOUNDS, MILD, PLAIN
from onepass.persistence.fields import MOST_SUM, Array, Field, Number, Part, State
from onepass.precision import TINY, Doubles

# Standard errors that count as sure, for and against: one in 44 by chance where terms are normal.
SURE = 2.0
CUT = BOUNDS[MILD]  # typical energies at which the energy of a row counts in the gain
# Levels t at which T(t) is tested: steps of two in length, from typical ones to a row whose energy
# is that of 1e14 typical ones.
LEVELS = 4.0 ** np.arange(24)
# Shares that differ by less are the same: of candidates that learned the same, they differ by
# rounding, and a sum of such gains over its own error would be anything.
SAME = 1e-12
TERM_ROWS = 16  # whose gains make one term of a sum: neighbouring rows may be dependent
# Of the stream: earlier directions say little about those that are read. That of `HeldOut` has
# another reason, and is varied by itself in the benchmark of constants.
LATEST = 0.5
# The risk that a stream of independent rows counts as one that drifts. It is small, because a false
# alarm costs the robust components, and streams in natural order are far beyond any limit.
DRIFT_RISK = 1e-4
# Of a segment at least, eight terms: fewer rows, with the same directions, tell little.
SEGMENT_ROWS = 8.0 * TERM_ROWS
ROBUST = (BOUNDED, MILD)
# Columns of the table: rows, the sums of the tightest candidate's shares, of their squares and of
# 1 / t, then for each robust candidate the sum of its gains and of their squares, by terms. And the
# power of the factor with which each of them fades.
POWERS = (1, 1, 1, 1, 1, 2, 1, 2)


@dataclass(frozen=True)
class Choice:
    """Which candidate is chosen, and why.

    All numbers but `drift` are of the robust candidate that gains most over ordinary PCA on rows
    not yet learned from. It is chosen if ``gain > 2``, unless ``tail < -1`` and ``energy < 0``, or
    the stream drifts: ``drift > 1``.

    Attributes
    ----------
    name : {"plain", "mild", "bounded"}
        The candidate that is chosen.
    gain : float
        What it captures more on the last half of the stream, of energies cut at 16 typical ones, in
        standard errors. What lies between merged streams counts as lost.
    tail : float
        The least, over lengths, of what it captures more of the rows that are longer, as a share of
        their energies, in units of what would be sure for so many lengths.
    energy : float
        The least, over cuts, of the energy that it captures more with energies cut there, in
        typical energies per row.
    drift : float
        Variance of captured shares between segments of the stream over what rows within them
        explain, an F statistic, in units of the value that one stream of independent rows in
        10,000 exceeds.
    gained : float
        The energy that it captures more than ordinary PCA, with energies cut at 16 typical ones, in
        typical energies per row of the last half of the stream.
    """

    name: str
    gain: float = 0.0
    tail: float = 0.0
    energy: float = 0.0
    drift: float = 0.0
    gained: float = 0.0

    def __str__(self) -> str:
        if self.name == PLAIN:
            return "The components are those of ordinary PCA."
        counted = "a typical length" if self.name == BOUNDED else "four typical lengths"
        return (
            f"Some rows are longer than the rest: for the directions of the components, a row "
            f"counts with at most {counted}. Means and variances are those of all rows. Use "
            "robust=False (--no-robust) for ordinary PCA."
        )


class Evidence(State):
    """Gains of the robust candidates over the plain one, on rows not yet learned from.

    Attributes
    ----------
    segments : Segments
        Gains of energies cut at 16, and the shares for the test of drift.
    tails : ndarray of shape (robust candidates, levels, 3)
        For each level t: the sum of g over rows with e > t, its sum of squares by terms, and the
        sum of min(e, t) g.
    between : float
        The energy between the centres of merged streams that sampling does not explain, in typical
        energies: no row was evaluated about the common centre, so it is not known which candidate
        captures it.
    """

    def __init__(self) -> None:
        self.segments = Segments("evidence", POWERS, SEGMENT_ROWS)
        self.tails: Doubles = np.zeros((len(ROBUST), len(LEVELS), 3))
        self.between = 0.0

    def fields(self) -> dict[str, Field]:
        tails = Array(self.tails.shape, fades=(1, 2, 1))
        return {
            "segments": Part(),
            "tails": tails,
            "between": Number(float, -MOST_SUM, MOST_SUM, 1),
        }

    def add(
        self, shares: dict[str, Doubles], ratios: Doubles, weights: Doubles, learned: float
    ) -> None:
        """Include rows (r,) with energies in typical ones, and shares captured by each candidate.

        Parameters
        ----------
        shares : dict of str to ndarray of shape (r,)
            Between 0 and 1.
        ratios : ndarray of shape (r,)
            Energies in units of the typical one.
        weights : ndarray of shape (r,)
        learned : float
            The number of rows t that the directions are from.
        """
        tightest = shares[BOUNDED]
        # With a very short half-life, directions are from less than a row.
        inverse = len(ratios) / max(learned, 1.0)
        sums = [len(ratios), float(tightest.sum()), float(tightest @ tightest), inverse]
        gains = np.zeros((len(ROBUST), len(ratios)))
        for which, name in enumerate(ROBUST):
            if name in shares:
                gain = shares[name] - shares[PLAIN]
                gains[which] = weights * np.where(np.abs(gain) > SAME, gain, 0.0)
        self.segments.add(np.append(sums, _sums_of_terms(gains * np.minimum(ratios, CUT))))
        tails = self.tails.copy()
        levels = 1 + int(np.searchsorted(LEVELS, ratios.max(initial=0.0)))
        for number, level in enumerate(LEVELS[:levels]):
            tails[:, number, :2] += _sums_of_terms(gains * (ratios > level))
            tails[:, number, 2] += gains @ np.minimum(ratios, level)
        tails[:, levels:, 2] += (gains @ ratios)[:, None]
        self.tails = tails

    def drift(self, rows: float) -> float:
        """Return the F statistic of captured shares between segments of the latest rows.

        One-way analysis of variance: the mean square between segments over that within them, in
        units of its critical value. The tightest candidate's shares are used, which no row can
        dominate. Directions from t rows capture a / t less than they will (see `HeldOut`), so that
        shares that grow with t are no drift: what a regression on 1 / t explains is taken off.
        """
        table = self.segments.latest(rows, LATEST)
        count, total, squares, inverse = table[table[:, 0] >= TERM_ROWS][:, :4].T
        groups = len(count)
        if groups < 2:
            return 0.0
        free = max(float(count.sum()) - groups, 1.0)
        within = (squares - total**2 / count).sum() / free
        share, learning = (sums / count - sums.sum() / count.sum() for sums in (total, inverse))
        slope = min(float(count @ (share * learning)) / max(float(count @ learning**2), TINY), 0.0)
        degrees = groups - 1 - (slope < 0.0)
        if not degrees:
            return 0.0
        between = float(count @ (share - slope * learning) ** 2) / degrees
        return between / max(float(within), TINY) / float(fdtri(degrees, free, 1.0 - DRIFT_RISK))

    def choose(self, rows: float, *, drifts_count: bool = True) -> Choice:
        """Return which candidate is chosen for a stream of so many rows.

        A robust one is chosen if its gain G over the plain one, of energies cut at 16, is sure,

            G > 2 root of the sum of squares of its terms,

        unless the rows beyond some length surely say the opposite, T(t) < -z root for a level t,
        and with energies cut at some level it loses energy. There, z is such that one of m levels
        is beyond it as rarely as one is beyond 2: Phi(-z) = Phi(-2) / m, the union bound. From G,
        the energy between merged streams is taken off, as if only the plain candidate captured it.
        Of several, the one that gains most is chosen. Where captured shares differ between segments
        of the stream, the rows so far say little about all rows, and ordinary PCA is chosen;
        `drifts_count` is False with a half-life, where it is the next rows that matter.
        """
        latest, drift = self.segments.latest(rows, LATEST).sum(axis=0), self.drift(rows)
        lost = max(self.between, 0.0) * float(latest[0]) / max(rows, 1.0)
        found = []
        for which, name in enumerate(ROBUST):
            gain, squares = (float(value) for value in latest[4 + 2 * which : 6 + 2 * which])
            gain -= lost
            tail, tail_squares, energy = self.tails[which].T
            levels = max(int(np.count_nonzero(tail_squares)), 1)
            limit = -float(ndtri(ndtr(-SURE) / levels))
            choice = Choice(
                name,
                gain=gain / max(squares, TINY) ** 0.5,
                tail=float((tail / np.sqrt(np.maximum(tail_squares, TINY))).min()) / limit,
                energy=float(energy.min()) / max(rows, 1.0),
                drift=drift,
                gained=gain / max(float(latest[0]), 1.0),
            )
            is_against = choice.tail < -1.0 and choice.energy < 0.0
            wins = choice.gain > SURE and not is_against
            found.append((wins and not (drifts_count and drift > 1.0), gain, choice))
        wins, _, best = max(found, key=lambda entry: entry[:2])
        return best if wins else replace(best, name=PLAIN)

    def merge(self, other: Self, energy_between: float) -> None:
        """Include the evidence of another stream, with so much energy between the centres."""
        self.segments.merge(other.segments)
        self.tails = self.tails + other.tails
        self.between += other.between + energy_between


def _sums_of_terms(gains: Doubles) -> Doubles:
    """Return the sum of gains (m, r) and the sum of squares of their terms, shape (m, 2)."""
    terms = np.add.reduceat(gains, np.arange(0, gains.shape[1], TERM_ROWS), axis=1)
    return np.stack([terms.sum(axis=1), np.einsum("ij,ij->i", terms, terms)], axis=1)
