"""The second moment of rows whose energies are bounded, for directions that long rows cannot turn.

The energy of a row is its squared distance from a robust centre, ``e = |x - c|^2``. In the bounded
second moment no row counts more than a typical one, of energy tau: a row has the weight

    1 / max(e, tau),

so that its energy there is at most one. The typical energy is that of the rows so far. Rows that
came while it was larger than in the end, because of outliers among the first rows, count less for
it, not more. Its directions are near those of the spatial-sign covariance matrix (Visuri, Koivunen
and Oja 2000), which for elliptical rows are the principal ones, whatever the tails.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from onepass.moments.chunk import Chunk, Scale
from onepass.moments.moment import Moment
from onepass.moments.segments import Segments
from onepass.persistence.fields import Array, Field, Number, Part, State, point
from onepass.precision import LARGEST_RATIO, TINY, Doubles

# The typical energy is the power mean with this exponent, mean(e^p)^(1/p). It exists wherever the
# lengths have a moment of order 1/2, and a share of s outliers moves it by at most a factor of
# (1 + s (E/e)^p)^(1/p), for energies E.
TYPICAL_POWER = 0.25
WEISZFELD_STEPS = 30  # for the centre of the first rows, which later rows improve
LEAST_LENGTH = 0.1  # of the typical one: rows that are nearer to the centre do not pull it more


class Bounded(State):
    """A centre and an energy that a few rows cannot move, and the second moment bounded by them.

    The centre is a running mean of the rows with weights 1 / |x - centre|, which for one batch is
    Weiszfeld's iteration for the spatial median. The typical energy is the power mean
    ``mean(e^(1/4))^4``.

    Parameters
    ----------
    moment, segments
        Of no rows yet; the learner adds rows to both.

    Attributes
    ----------
    centre : ndarray of shape (d,)
        Zeros where rows are not centred.
    pull : float
        The sum of the weights of the rows in it.
    unit : float
        The median energy of the first rows, in which energies and weights are measured.
    sums : ndarray of shape (2,)
        Of w and w e^(1/4) over the rows.
    """

    def __init__(self, moment: Moment, segments: Segments) -> None:
        self.moment, self.segments = moment, segments
        self.centre: Doubles = np.zeros(moment.d)
        self.pull = self.unit = 0.0
        self.sums: Doubles = np.zeros(2)

    def fields(self) -> dict[str, Field]:
        return {
            "moment": Part(),
            "segments": Part(),
            "centre": point(len(self.centre)),
            "pull": Number(fades=1),
            "unit": Number(),
            "sums": Array((2,), least=0.0, fades=1),
        }

    def take(self, content: dict[str, object]) -> None:
        super().take(content)
        if not np.isfinite(self.typical):
            raise ValueError("sums have no typical energy")

    @property
    def typical(self) -> float:
        """The typical energy of a row."""
        mean = float(self.sums[1] / max(self.sums[0], TINY))
        return self.unit * mean ** (1.0 / TYPICAL_POWER)

    def weigh(self, rows: Chunk) -> Doubles:
        """Return the weights (r,) that rows count with, in units of the scale.

        They come into the centre and the typical energy.
        """
        if not self.sums[0] > 0.0:
            self._start(rows)
        energies, _ = rows.measure(rows.at(self.centre))
        self._include(rows, energies)
        if not self.unit:
            return rows.weights
        share = np.minimum(self.unit / np.maximum(energies, self.typical), LARGEST_RATIO)
        return rows.weights * share

    def _start(self, rows: Chunk) -> None:
        """Find the centre of the first rows: their spatial median."""
        if not self.moment.center:
            return
        shares, gram = rows.weights / rows.weights.sum(), rows.gram
        for _ in range(WEISZFELD_STEPS):
            inner = gram @ shares  # with the centre, which is shares @ rows
            away = np.sqrt(np.maximum(gram.diagonal() - 2.0 * inner + shares @ inner, 0.0))
            away = np.maximum(away, LEAST_LENGTH * np.median(away))
            if not away.all():  # more than half of the rows are the same
                break
            shares = rows.weights / away
            shares /= shares.sum()
        centre = rows.combine(shares[None])[0]
        self.centre = rows.origin + centre * (1.0 if rows.scale is None else rows.scale)

    def _include(self, rows: Chunk, energies: Doubles) -> None:
        """Include rows with these energies (r,) in the typical energy and the centre."""
        weights = rows.weights
        self.unit = self.unit or float(np.median(energies)) or float(energies.max(initial=0.0))
        if not self.unit:
            self.sums = self.sums + [float(weights.sum()), 0.0]
            return
        ratios = np.minimum(energies / self.unit, LARGEST_RATIO)
        low = float(weights @ np.sqrt(np.sqrt(ratios)))  # ratio**TYPICAL_POWER, ten times as fast
        self.sums = self.sums + [float(weights.sum()), low]
        if self.moment.center:
            least = LEAST_LENGTH**2 * self.typical
            pull = weights / np.sqrt(np.maximum(energies, max(least, TINY)))
            added = float(pull.sum())
            step = rows.combine(pull[None])[0] - added * rows.at(self.centre)
            self.pull += added
            scale = 1.0 if rows.scale is None else rows.scale
            self.centre = self.centre + scale * step / self.pull

    def merge(self, other: Self, scale: Scale) -> None:
        """Include another stream: centres are weighted as running means are.

        `scale` (d,) is what columns were divided by.
        """
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit if self.unit else 0.0
        moment, segments = other.moment, other.segments
        if ratio not in (0.0, 1.0):
            moment, segments = moment.copy(), segments.copy()
            moment.fade(1.0 / ratio)
            segments.reweigh(1.0 / ratio)
        self.moment.merge(moment, scale)
        self.segments.merge(segments)
        self.sums = self.sums + other.sums * [1.0, ratio**TYPICAL_POWER]
        together = self.pull + other.pull
        if together > 0.0:
            self.centre = self.centre + other.pull / together * (other.centre - self.centre)
        self.pull = together
