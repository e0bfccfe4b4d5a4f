"""Second moments of rows whose energies are bounded, and what a typical energy is.

The energy of a row is its squared distance from a robust centre, ``e = |x - c|^2``. A candidate of
`PCA` is the second moment of the rows in which an energy counts at most as a bound b times the
typical one: a row has the weight

    min(1, b tau / e).

bounded
    b = 1: no row counts more than a typical one. Its directions are near those of the spatial-sign
    covariance matrix (Visuri, Koivunen and Oja 2000), which for elliptical rows are the principal
    ones whatever the tails.
mild
    b = 16: only rows of more than four typical lengths are cut, a winsorised second moment.
plain
    b = infinity: ordinary PCA.

By the layer cake, the weight for a bound is the sum of what the row adds between one bound and the
next. So the second moments are kept in layers: the first layer has the rows with the tightest
bound, the next one what the next bound adds to it, and so on. The sum of the layers up to a bound
is exact, no digit is lost to the larger rows, and while no row is cut there is one layer only.
"""

from __future__ import annotations

from math import inf
from typing import Any, Self

import numpy as np

from onepass.moments.eigen import STEPS, Eigenpairs, improve, iterates
from onepass.moments.exact import SecondMoment, deviations, nearer_origin, sums_about_mean
from onepass.moments.sketch import Sketch
from onepass.persistence.fields import Array, Field, Number, Part, Parts, State, point
from onepass.precision import LARGEST_RATIO, TINY, Doubles
from onepass.rows.rows import Rows, Scale, rows_about
from onepass.rows.stream import Stream

PLAIN, MILD, BOUNDED = "plain", "mild", "bounded"
# Typical energies that a row counts at most, tightest first. 16 is four typical lengths:
# exp(-10.8), two in 100,000, of Gaussian rows of two equal directions are longer.
BOUNDS = {BOUNDED: 1.0, MILD: 16.0, PLAIN: inf}
# A matrix of second moments takes at most so much memory, of dense and of sparse rows: 4,096 and
# 8,192 columns. Up to there it is exact, and about as fast as a sketch.
EXACT_BYTES, SPARSE_EXACT_BYTES = 2**27, 2**29
LADDER_COLUMNS = 2048  # up to which three matrices are kept; beyond, two: plain and bounded
# Rows are of uneven length where the mean of squared energies is so many times the square of their
# mean, which is 1 for rows of one length and 1 + 2 / d for Gaussian ones of d equal directions.
# While they are even, bounds change next to nothing, and one layer is enough.
UNEVEN = 1.25
# The typical energy is the power mean with this exponent, mean(e^p)^(1/p). It exists wherever the
# lengths have a moment of order 1/2, and a share of s outliers moves it by at most a factor of
# (1 + s (E/e)^p)^(1/p), for energies E.
TYPICAL_POWER = 0.25
WEISZFELD_STEPS = 30  # for the centre of the first rows, which later rows improve
# Of the typical length: rows that are nearer to the centre do not pull it more.
LEAST_LENGTH = 0.1
NONE: Doubles = np.zeros(0)  # energies or weights of no rows


def exact_columns(is_sparse: bool) -> int:
    """Return up to how many columns second moments are matrices."""
    return int(((SPARSE_EXACT_BYTES if is_sparse else EXACT_BYTES) / 8) ** 0.5)


class Typical(State):
    """A centre and an energy that a few rows cannot move, however large they are.

    The centre is a running mean of the rows with weights 1 / |x - centre|, which for one batch is
    Weiszfeld's iteration for the spatial median. The typical energy is the power mean
    ``mean(e^(1/4))^4``.

    Parameters
    ----------
    d : int
        The number of columns.
    center : bool
        Whether there is a centre; otherwise it is zero.

    Attributes
    ----------
    centre : ndarray of shape (d,)
    pull : float
        The sum of the weights of the rows in it.
    unit : float
        Energies are kept relative to this one.
    sums : ndarray of shape (4,)
        Of w, w e^(1/4), w e and w e^2 over the rows.
    """

    def __init__(self, d: int, center: bool) -> None:
        self.center = center
        self.centre: Doubles = np.zeros(d)
        self.pull = 0.0
        self.unit = 0.0
        self.sums: Doubles = np.zeros(4)

    def fields(self) -> dict[str, Field]:
        return {
            "centre": point(len(self.centre)),
            "pull": Number(fades=1),
            "unit": Number(),
            "sums": Array((4,), least=0.0, fades=1),
        }

    def take(self, content: dict[str, Any]) -> None:
        """Take over checked values, by the names of their fields."""
        super().take(content)
        if not np.isfinite(self.energy):
            raise ValueError("sums have no typical energy")

    @property
    def energy(self) -> float:
        """The typical energy of a row."""
        mean = float(self.sums[1] / max(self.sums[0], TINY))
        return self.unit * mean ** (1.0 / TYPICAL_POWER)

    @property
    def total(self) -> float:
        """The sum of the energies of all rows."""
        return self.unit * float(self.sums[2])

    def is_uneven(self, energies: Doubles = NONE, weights: Doubles = NONE) -> bool:
        """Return whether rows are of uneven length, with further ones of energies (r,) if given."""
        added = self._powers(energies, weights) if self.unit else np.zeros(4)
        weight, _, energy, square = self.sums + added
        return bool(energy > 0.0 and weight * square > UNEVEN * energy**2)

    def _powers(self, energies: Doubles, weights: Doubles) -> Doubles:
        """Return what rows of energies (r,) and weights (r,) add to the sums (4,)."""
        ratio = np.minimum(energies / self.unit, LARGEST_RATIO)
        weighted = weights * ratio
        low = float(weights @ np.sqrt(np.sqrt(ratio)))  # ratio**TYPICAL_POWER, ten times as fast
        return np.array([weights.sum(), low, weighted.sum(), weighted @ ratio])

    def start(self, rows: Rows) -> None:
        """Find the centre of the first rows: their spatial median."""
        if not self.center:
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

    def add(self, rows: Rows, energies: Doubles) -> None:
        """Include rows with these energies (r,) about the centre."""
        weights = rows.weights
        if not self.unit:
            self.unit = float(np.median(energies)) or float(energies.max(initial=0.0))
        if not self.unit:
            self.sums = self.sums + [float(weights.sum()), 0.0, 0.0, 0.0]
            return
        self.sums = self.sums + self._powers(energies, weights)
        if self.center:
            least = LEAST_LENGTH**2 * self.energy
            pull = weights / np.sqrt(np.maximum(energies, max(least, TINY)))
            added = float(pull.sum())
            step = rows.combine(pull[None])[0] - added * rows.at(self.centre)
            self.pull += added
            scale = 1.0 if rows.scale is None else rows.scale
            self.centre = self.centre + scale * step / self.pull

    def energy_between(self, other: Self, rows: tuple[float, float], scale: Scale) -> float:
        """Return the energy of both streams, of so many rows, that is between their centres.

        What sampling explains is taken off. A centre of n rows with weights 1 / |x - c| has the
        variance n / (sum of the weights)^2.
        """
        if not (self.pull > 0.0 and other.pull > 0.0):
            return 0.0
        apart = (other.centre - self.centre) / (1.0 if scale is None else scale)
        weights = float(self.sums[0]), float(other.sums[0])
        errors = [
            (weight / one.pull) ** 2 / max(count, 1.0)
            for one, weight, count in zip((self, other), weights, rows, strict=True)
        ]
        return weights[0] * weights[1] / sum(weights) * (float(apart @ apart) - sum(errors))

    def merge(self, other: Self) -> None:
        """Include another stream: centres are weighted as running means are."""
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit if self.unit else 0.0
        powers = np.array([1.0, ratio**TYPICAL_POWER, ratio, ratio * ratio])
        self.sums = self.sums + other.sums * powers
        together = self.pull + other.pull
        if together > 0.0:
            self.centre = self.centre + other.pull / together * (other.centre - self.centre)
        self.pull = together


class Bounds(State):
    """The second moments of the same rows for a list of bounds.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    names : tuple of str
        The candidates, tightest bound first; the last one is plain.
    rank : int or None
        Of sketches; None where second moments are exact.
    scale : bool
        Whether columns are divided by their deviations.
    at_once : bool
        Whether bounds apply from the first row on, or only once rows turn out to be uneven.

    Attributes
    ----------
    typical : Typical
    is_double : bool
        Whether float32 rows are multiplied in double precision: while it is not known whether
        single precision is enough.
    moments : list of SecondMoment or Sketch
        Layers of exact second moments; sketches, which do not add up, are one for each candidate.
        There is a single one as long as no row was cut.
    """

    def __init__(
        self,
        stream: Stream,
        names: tuple[str, ...],
        *,
        rank: int | None = None,
        scale: bool = False,
        at_once: bool = False,
    ) -> None:
        self.stream, self.names, self.rank = stream, names, rank
        self.scale, self.at_once = scale, at_once
        self.is_double = True  # until it is known that single precision is enough
        self.typical = Typical(stream.d, stream.center)
        self.moments: list[Any] = [self._moment()]

    def fields(self) -> dict[str, Field]:
        moments = Parts(self._moment, 1, len(self.names))
        return {"typical": Part(), "moments": moments, "is_double": Number(bool, 0, 1)}

    def take(self, content: dict[str, Any]) -> None:
        """Take over second moments: of one candidate, or of all."""
        if len(content["moments"]) not in (1, len(self.names)):
            raise ValueError(f"moments are {len(content['moments'])}, for {len(self.names)} bounds")
        super().take(content)

    def _moment(self) -> SecondMoment | Sketch:
        """Return an empty second moment."""
        d, center = self.stream.d, self.stream.center
        return SecondMoment(d, center) if self.rank is None else Sketch(d, self.rank, center)

    @property
    def is_exact(self) -> bool:
        """Whether second moments are matrices."""
        return self.rank is None

    @property
    def compares(self) -> bool:
        """Whether there is more than one candidate by now."""
        return len(self.moments) > 1

    @property
    def weight(self) -> float:
        """The sum of the weights of all rows."""
        return self._plain_sum("weight")

    @property
    def mean(self) -> Doubles:
        """The mean of all rows, shape (d,)."""
        if not self.is_exact:
            return self.moments[-1].mean
        moment, weight = self.moments[0], self.weight
        if not self.stream.center or not weight > 0.0:
            return moment.origin
        return moment.origin + self._plain_sum("total") / weight

    def _plain_sum(self, name: str) -> Any:
        """Return a sum over all rows: of all layers, or that of the plain sketch."""
        first, *others = self.moments if self.is_exact else self.moments[-1:]
        total = getattr(first, name)
        for other in others:
            total = total + getattr(other, name)
        return total

    def column_sums(self) -> Doubles:
        """Return the sums of squares of the columns of all rows about their means, shape (d,)."""
        if not self.is_exact:
            return self.moments[-1].column_sums()
        total = self._plain_sum("total") if self.stream.center else np.zeros(self.stream.d)
        return sums_about_mean(self._plain_sum("column_squares"), total, self.weight)

    def deviations(self) -> Doubles:
        """Return the standard deviations (d,) of the columns of all rows; one where there is none.

        Columns are divided by them if `scale` is set.
        """
        return deviations(self.column_sums(), self.weight)

    def scale_now(self) -> Scale:
        """Return what columns are divided by at present, (d,), or None."""
        return self.deviations() if self.scale else None

    def about(self, values: Any, weights: Doubles, *, measured: bool = True) -> tuple[Rows, Rows]:
        """Return rows (r, d) about a point near them, as they are and scaled.

        The centre is found from the first ones, if rows are `measured` from it.
        """
        first = not self.weight > 0.0
        origin = np.zeros(self.stream.d)
        if self.stream.center:
            origin = _first_origin(values, weights) if first else self._nearer_origin()
            origin = origin.astype(self.stream.dtype).astype(np.float64)
        if self.is_double and values.dtype == np.float32 and not hasattr(values, "rows_about"):
            values = values.astype(np.float64)
        rows = scaled = rows_about(values, weights, origin)
        rows.sums_single = not self.is_double
        if self.scale:
            scaled = rows.scaled(_deviations_of(rows) if first else self.deviations())
        if first and measured:
            self.typical.start(scaled)
        return rows, scaled

    def _nearer_origin(self) -> Doubles:
        """Return the point (d,) that the next sums should be taken about."""
        if not self.is_exact:
            return self.moments[-1].nearer_origin()
        squares, total = self._plain_sum("column_squares"), self._plain_sum("total")
        return nearer_origin(self.moments[0].origin, squares, total, self.weight)

    def add(self, rows: Rows, scaled: Rows, energies: Doubles | None) -> None:
        """Learn from rows, which when scaled have these energies (r,) about the centre.

        Without energies there is one candidate.
        """
        learned, weights = (rows if self.is_exact else scaled), rows.weights
        if energies is not None:
            self.typical.add(scaled, energies)
            if self.at_once or self.typical.is_uneven():
                self.begin()
        if not self.compares:
            self.moments[0].add(learned, weights)
            return
        assert energies is not None
        inner = np.zeros(len(weights))
        for name, moment in zip(self.names, self.moments, strict=True):
            share = np.ones(len(weights))
            if BOUNDS[name] < inf:
                limit = BOUNDS[name] * self.typical.energy
                share = limit / np.maximum(energies, max(limit, TINY))
            moment.add(learned, weights * (share - inner))
            if self.is_exact:
                inner = share

    def begin(self) -> None:
        """Tell candidates apart from now on: so far all have learned the same."""
        if self.compares:
            return
        for _ in self.names[1:]:
            first = self.moments[0]
            twin: Any = self._moment() if self.is_exact else first.copy()
            if self.is_exact:
                twin.origin = first.origin
            self.moments.append(twin)

    def of(self, name: str) -> Any:
        """Return the second moment of a candidate, to be read."""
        if not self.compares:
            return self.moments[0]
        index = self.names.index(name)
        if not self.is_exact:
            return self.moments[index]
        if not index:
            return self.moments[0]
        whole = self.moments[0].copy()
        for layer in self.moments[1 : index + 1]:
            whole.merge(layer)
        return whole

    def plain(self) -> Any:
        """Return the second moment of all rows as they came."""
        return self.of(self.names[-1])

    def directions(self, k: int, previous: Doubles, steps: int = STEPS) -> list[Eigenpairs]:
        """Return k directions (k, d) of each candidate by now, and the sums (k,) along them.

        They are what rows are evaluated with. Previous ones of each candidate, (m, k, d), or of
        the only one so far, are improved in some steps, which takes a fraction of the time.
        """
        scale, names = self.scale_now(), self.names if self.compares else self.names[-1:]
        can_improve = previous.shape[1] == k and len(previous) in (1, len(names))
        if self.is_exact and iterates(self.stream.d, k) and can_improve:
            starts = [previous[number % len(previous)] for number in range(len(names))]
            return self._improved(starts, scale, steps)
        return [self.of(name).leading(k, scale, prove=False) for name in names]

    def _improved(self, starts: list[Doubles], scale: Scale, steps: int) -> list[Eigenpairs]:
        """Return the directions of each candidate, from previous ones (k, d)."""
        divisor = np.ones(1) if scale is None else scale[:, None]
        totals = np.cumsum([moment.total for moment in self.moments], axis=0)
        weights = np.cumsum([moment.weight for moment in self.moments])

        def times(blocks: list[Doubles]) -> list[Doubles]:
            width = blocks[0].shape[1]
            raw = np.hstack(blocks) / divisor
            products = np.zeros(raw.shape)
            for number, layer in enumerate(self.moments):  # in all candidates from this one on
                products[:, number * width :] += layer.times(raw[:, number * width :])
            if self.stream.center:
                for number, (total, weight) in enumerate(zip(totals, weights, strict=True)):
                    part = slice(number * width, (number + 1) * width)
                    products[:, part] -= np.outer(total, total @ raw[:, part] / weight)
            return np.hsplit(products / divisor, len(blocks))

        return improve(times, starts, steps)

    def merge(self, other: Self) -> None:
        """Include the rows of another stream."""
        if self.compares or other.compares:
            self.begin()
        scale = self.scale_now() if self.weight > 0.0 else None
        theirs = other
        if self.compares and not other.compares:
            theirs = other.copy()
            theirs.begin()
        for ours, its in zip(self.moments, theirs.moments, strict=True):
            if isinstance(ours, Sketch):
                ours.merge(its, scale)
                continue
            # Layers are about one point; an empty one would take that of what it is merged with.
            origin = self.moments[0].origin
            if ours is not self.moments[0] and not np.array_equal(its.origin, origin):
                its = its.copy()
                its.move(origin)
            ours.move(origin)
            ours.merge(its)
        self.typical.merge(other.typical)


def _first_origin(values: Any, weights: Doubles) -> Doubles:
    """Return a point (d,) near the first rows: their mean, in columns where it is far from zero.

    Sums are taken about the first row, so that the mean of a constant column is exact.
    """
    first = rows_about(values[:1], weights[:1], np.zeros(values.shape[1])).combine(np.ones((1, 1)))
    shares = weights / weights.sum()
    rows = rows_about(values, weights, first[0])
    step = rows.combine(shares[None])[0]
    mean, variances = first[0] + step, rows.column_squares(shares) - step**2
    return np.where(mean**2 > variances, mean, 0.0)


def _deviations_of(rows: Rows) -> Doubles:
    """Return the deviations (d,) of the first rows; one where a column is constant."""
    shares = rows.weights / rows.weights.sum()
    total = rows.combine(shares[None])[0]
    return deviations(sums_about_mean(rows.column_squares(shares), total, 1.0), 1.0)
