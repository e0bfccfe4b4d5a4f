"""Standard errors of components, variances and the share captured, from segments of the stream.

Let C be the second moment of all rows, v_j and lambda_j its eigenpairs, and C_s that of segment s,
about the same mean, which has the share w_s of the rows. To first order (Kato, Perturbation Theory
for Linear Operators, 1966; for Gaussian rows Anderson 1963), the segment moves component j by w_s
times

    move_s = sum over l != j of  v_l v_l' (C_s - C) v_j / (lambda_j - lambda_l),

and its variance by w_s v_j' (C_s - C) v_j. Moves add up to zero. Their spread gives the variance of
their sum (batch means),

    sum of w_s^2 move_s^2 / (1 - S_2),   S_m = sum of w_s^m,

with (1 - S_2)^2 / (S_2 - 2 S_3 + S_2^2) degrees of freedom of Student's t: S - 1 of S equal ones.

The share captured of new rows is that of the rows seen, less what the components owe to having
seen them. Without segment s, C is smaller by w_s (C_s - C) / (1 - w_s), and the components capture
of the segment less by

    2 w_s / (1 - w_s)  sum over j <= k < l of  (v_l' (C_s - C) v_j)^2 / (lambda_j - lambda_l).

Moves within the k components cancel, so close variances among them do no harm. The standard error
is the spread between segments of captured energy less share times energy; to this a quarter of what
was taken off is added, which is of first order only.

Whether that share drifts along the stream is an analysis of variance of the segments' shares in
four parts of the stream, one after the other.

Two changes:

- ``scale``: columns are divided by deviations, which have errors, too. With e_s the relative change
  of the variances in the segment, C_s - C loses (E C + C E) / 2, E = diag(e_s).
- ``robust``: components are eigenvectors of another second moment B, of bounded rows. Then moves
  come from B, and variances change by v_j' (C_s - C) v_j + 2 v_j' C move_s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from onepass.moments.chunk import Scale
from onepass.moments.segments import MOST_COMPONENTS, Segment, Segments
from onepass.precision import TINY, Doubles

# Fewer say nothing of their own spread: five degrees of freedom, and 16 rows in each of 8 segments.
LEAST_SEGMENTS, LEAST_STREAM = 6, 128
TIED = 1e-12  # of the first variance: a difference below which two of them are the same
SPANNED = 1e-3  # part of a direction that has to be new, for it to count as another one
DETERMINED, WELL_DETERMINED = 45.0, 10.0  # degrees up to which a component is, and well
DRIFT_PARTS = 4  # of the stream, in each of which two segments at least tell the spread
DRIFTS = 0.01  # probability of so large a statistic, below which the share captured drifts
TAKEN_OFF_ERROR = 0.25  # of what is taken off the share captured, which is right to first order


@dataclass(frozen=True)
class Captured:
    """The share of the variance of new rows that the components capture.

    Attributes
    ----------
    mean : float
        Captured energy over energy; NaN where it is not known.
    standard_error : float
    reason : str
        Why there is no number; empty where there is one.
    degrees_of_freedom : float
        Of Student's t, for an interval.
    """

    mean: float
    standard_error: float
    reason: str = field(default="", compare=False)
    degrees_of_freedom: float = field(default=np.inf, compare=False)

    @property
    def is_known(self) -> bool:
        """Whether there is a number."""
        return not isnan(self.mean)


class Drift(NamedTuple):
    """An F statistic of the shares captured of parts of the stream, and its probability.

    Both are NaN where there are too few segments.
    """

    statistic: float = nan
    probability: float = nan

    @property
    def is_there(self) -> bool:
        """Whether the components capture other shares of some parts than of others."""
        return self.probability < DRIFTS


UNKNOWN_DRIFT = Drift()


def unknown(reason: str) -> Captured:
    """Return a share that is not known, for a reason."""
    return Captured(nan, nan, reason)


@dataclass(frozen=True)
class StandardErrors:
    """What segments of the stream say about components (k, d).

    Attributes
    ----------
    components : ndarray of shape (k, d)
        Of their entries; NaN beyond the first 32, and where there is a reason.
    variances, angles : ndarray of shape (k,)
        Of the variances along them; the angle in degrees from the component of the population.
    degrees : float
        Degrees of freedom of Student's t for an interval; NaN with a reason.
    planes : ndarray of shape (k,)
        Components that cannot be told apart have the number of the first of them; the others have
        their own.
    plane_angles : ndarray of shape (k,)
        The angle in degrees of such components together.
    captured : Captured
    curve : ndarray of shape (segments, 3)
        Rows up to the end of each segment, the share that the components capture of it, and the
        standard error of that share.
    drift : Drift
        Whether that share drifts along the stream.
    reason : str
        Why nothing is known.
    """

    components: NDArray[np.floating]
    variances: NDArray[np.floating]
    angles: Doubles
    degrees: float
    planes: NDArray[np.int64]
    plane_angles: Doubles
    captured: Captured
    curve: Doubles
    drift: Drift = UNKNOWN_DRIFT
    reason: str = ""

    @property
    def quantile(self) -> float:
        """Of Student's t: so many standard errors to each side are a 95% interval."""
        return float(stdtrit(self.degrees, 0.975))

    def says(self, component: int) -> str:
        """Return in words how well a component is determined; nothing if it is not known."""
        angle = self.angles[component]
        if isnan(angle):
            return ""
        if angle <= WELL_DETERMINED:
            return f"well determined, {degrees(angle)}"
        if angle <= DETERMINED:
            return f"roughly determined, {degrees(angle)}"
        plane = np.flatnonzero(self.planes == self.planes[component])
        others = plane[plane != component]
        if not len(others):
            return "not determined: cannot be told from what is left out"
        kind = "a plane" if len(plane) == 2 else "a space"
        return f"not determined: shares {kind} with {numbered(others)}"

    def indistinct(self) -> list[str]:
        """Return a sentence for each group of components that cannot be told apart."""
        return [
            f"{numbered(plane)} cannot be told apart; "
            f"together they are known to {degrees(self.plane_angles[first])}"
            for first in range(len(self.planes))
            if len(plane := np.flatnonzero(self.planes == first)) > 1
        ]


def numbered(components: NDArray[np.int64]) -> str:
    """Return components in words, counted from 0 as in `pca0`: ``components 3 and 4``."""
    *most, last = map(str, components)
    return f"components {', '.join(most)} and {last}" if most else f"component {last}"


def degrees(angle: float) -> str:
    """Return an angle with its unit."""
    number = f"{angle:.1g}" if angle < 1.0 else f"{angle:.0f}"
    return f"{number} degree" if number == "1" else f"{number} degrees"


class Spectrum(NamedTuple):
    """Orthonormal directions, a symmetric matrix times them, and its mean eigenvalue elsewhere.

    Of directions (q, d), the first ones are components; `values` (q,) are the diagonal.
    """

    directions: Doubles
    images: Doubles  # (d, q)
    values: Doubles
    rest: float

    def times(self, columns: Doubles) -> Doubles:
        """Return the matrix times columns (d, m)."""
        inside = self.directions @ columns
        outside = columns - self.directions.T @ inside
        known = self.images @ inside + self.directions.T @ (self.images.T @ outside)
        return known + self.rest * outside


class Turns:
    """What a change of a second moment turns its eigenvectors by, to first order.

    Parameters
    ----------
    spectrum : Spectrum
    k, read : int
        How many components there are, and how many of them are read.
    """

    def __init__(self, spectrum: Spectrum, k: int, read: int) -> None:
        self.directions, values, self.k = spectrum.directions, spectrum.values, k
        least = TIED * max(float(values[0]), TINY)
        gaps = values[:read] - values[:, None]  # (q, read)
        self.tied = (np.abs(gaps) <= least) & ~np.eye(len(values), read, dtype=bool)
        self.inverse = _inverse(gaps, least)
        outside = values[:read] - spectrum.rest
        self.has_rest = len(values) < self.directions.shape[1]
        self.tied_outside = (np.abs(outside) <= least) & self.has_rest
        self.inverse_outside = _inverse(outside, least) * self.has_rest
        self.gaps = np.maximum(gaps[k:], least)
        self.gaps_outside = np.maximum(outside, least)

    def split(self, changes: Doubles) -> tuple[Doubles, Doubles]:
        """Return coordinates (q, read) of columns (d, read) along directions, and the rest."""
        inside = self.directions @ changes
        return inside, changes - self.directions.T @ inside

    def moves(self, inside: Doubles, outside: Doubles) -> Doubles:
        """Return the moves (d, read) of components."""
        return self.directions.T @ (inside * self.inverse) + outside * self.inverse_outside

    def lost(self, inside: Doubles, outside: Doubles, plain: Doubles) -> float:
        """Return half of what moves out of the span of components cost, with changes (d, read)."""
        within, without = self.split(plain)
        lost = float(np.vdot(inside[self.k :] / self.gaps, within[self.k :]))
        if self.has_rest:
            lost += float(np.einsum("ij,ij->j", outside, without) @ (1.0 / self.gaps_outside))
        return lost


def _inverse(gaps: Doubles, least: float) -> Doubles:
    """Return 1 / gaps, and 0 where they are next to nothing."""
    return np.divide(1.0, gaps, out=np.zeros_like(gaps), where=np.abs(gaps) > least)


def standard_errors(
    segments: Segments,
    components: NDArray[np.floating],
    variances: Doubles,
    total: float,
    *,
    center: bool = True,
    scale: Scale = None,
    bounded: tuple[Segments, Doubles, float] | None = None,
) -> StandardErrors:
    """Return what segments say about components (k, d).

    Parameters
    ----------
    segments : Segments
    components : ndarray of shape (k, d)
        Orthonormal.
    variances : ndarray of shape (k,)
        Along them, divided by the weight of all rows.
    total : float
        The trace of the second moment, scaled.
    center : bool
        Whether second moments are about the mean or about zero.
    scale : ndarray of shape (d,), optional
        What columns are divided by.
    bounded : tuple, optional
        Segments of bounded rows with their eigenvalues (k,) and trace, if components are theirs.
    """
    reason = _too_few(segments)
    if reason:
        return nothing(components, reason)
    return _Reading(segments, components, variances, total, center, scale, bounded).result()


def nothing(components: NDArray[np.floating], reason: str) -> StandardErrors:
    """Return that nothing is known about components (k, d), for a reason."""
    k = len(components)
    none, captured = np.full(k, nan), unknown(reason)
    if k == components.shape[1]:
        captured = Captured(1.0, 0.0)
    return StandardErrors(
        np.full_like(components, nan),
        none.astype(components.dtype),
        none,
        nan,
        np.arange(k),
        none,
        captured,
        np.zeros((0, 3)),
        reason=reason,
    )


def _too_few(segments: Segments) -> str:
    """Return why segments say nothing; an empty text if they do."""
    rows = float(segments.rows.sum())
    if rows >= LEAST_STREAM and len(segments) >= LEAST_SEGMENTS:
        return ""
    return (
        f"errors need at least {LEAST_STREAM} rows that count, in {LEAST_SEGMENTS} segments: "
        f"there are {rows:,.0f} rows in {len(segments)}"
    )


class _Reading:
    """Segments, components and their spectrum, in the units of the components."""

    def __init__(
        self,
        segments: Segments,
        components: NDArray[np.floating],
        variances: Doubles,
        total: float,
        center: bool,
        scale: Scale,
        bounded: tuple[Segments, Doubles, float] | None,
    ) -> None:
        self.segments, self.center = segments, center
        self.components = components
        self.k, self.d = components.shape
        # Nothing is known of the components that the frame does not span.
        spanned = len(segments.frame)
        self.read = min(self.k, spanned if spanned == self.d else max(spanned - 2, 1))
        self.directions = components.astype(np.float64)
        self.units = np.ones(self.d) if scale is None else scale
        self.is_scaled = scale is not None
        self.total = total
        weights = segments.weights
        self.shares = weights / weights.sum()
        plain = _Moment(segments, self.units, center)
        if bounded is None:
            self.moving = plain
            self.spectrum = plain.spectrum(self.directions, variances, total)
            self.plain_spectrum = self.spectrum
        else:
            moving, values, trace = bounded
            self.moving = _Moment(moving, self.units, center)
            self.spectrum = self.moving.spectrum(self.directions, values, trace)
            images = plain.mean_of(self.directions)
            rest = max(total - float(variances.sum()), 0.0) / max(self.d - self.k, 1)
            self.plain_spectrum = Spectrum(self.directions, images, variances, rest)
        self.plain, self.variances = plain, variances

    def _changes(self, moment: _Moment, spectrum: Spectrum, part: Segment, own: Segment) -> Doubles:
        """Return (C_s - C) v_j for the components that are read, (d, k)."""
        directions = self.directions[: self.read]
        changes = moment.times(own, directions) - moment.mean_of(directions)
        if own is not part:  # bounded rows have other weights
            changes *= own.weight / moment.weight * self.plain.weight / part.weight
        if self.is_scaled:  # C changes by -(E C + C E) / 2
            relative = self.plain.energies(part) - self.plain.mean_energies
            turned = spectrum.times(relative[:, None] * directions.T)
            images = spectrum.images[:, : self.read]
            changes -= 0.5 * (relative[:, None] * images + turned)
        return changes

    def _changes_of_segments(self) -> Iterator[tuple[float, Segment, Doubles, Doubles]]:
        """Yield share, segment, and the changes (d, k) of plain and of bounded second moment."""
        both = zip(self.shares, self.segments, self.moving.segments, strict=True)
        for share, part, own in both:
            plain = self._changes(self.plain, self.plain_spectrum, part, part)
            moving = plain
            if self.moving is not self.plain:
                moving = self._changes(self.moving, self.spectrum, part, own)
            yield float(share), part, plain, moving

    def result(self) -> StandardErrors:
        """Return everything that is read from the segments."""
        k, read, first = self.k, self.read, self.directions[: self.read]
        turns = Turns(self.spectrum, k, read)
        images = self.plain_spectrum.images[:, :read]
        squares, variances = np.zeros((self.d, read)), np.zeros(read)
        pairs, leaks = np.zeros((len(self.spectrum.values), read)), np.zeros(read)
        got, energies, owed = [], [], []
        for share, part, plain, moving in self._changes_of_segments():
            inside, outside = turns.split(moving)
            moves = turns.moves(inside, outside)
            changes = np.einsum("ji,ij->j", first, plain)
            if moving is not plain:
                changes = changes + 2.0 * np.einsum("ij,ij->j", images, moves)
            squares += share**2 * moves**2
            variances += share**2 * changes**2
            pairs += share**2 * (inside * turns.inverse) ** 2
            leaks += share**2 * (outside**2).sum(axis=0) * turns.inverse_outside**2
            gain = self.plain.times(part, first) - self.plain.mean_of(first)
            got.append(float(self.variances.sum() + np.vdot(first.T, gain)))
            energies.append(float(self.plain.energies(part).sum()))
            owed.append(2.0 * share / (1.0 - share) * turns.lost(inside, outside, plain))
        second, third = (float((self.shares**power).sum()) for power in (2, 3))
        factor = 1.0 / (1.0 - second)
        freedom = (1.0 - second) ** 2 / (second - 2.0 * third + second**2)
        pairs, leaks = factor * pairs, factor * leaks
        pairs[turns.tied], leaks[turns.tied_outside] = np.inf, np.inf
        shown = min(read, MOST_COMPONENTS)
        errors = np.sqrt(factor * squares).clip(max=1.0)
        errors[:, turns.tied.any(axis=0) | turns.tied_outside] = 1.0
        planes, plane_angles = _planes(pairs, leaks, shown)
        energy = np.array(energies)
        captured, curve = self._captured(np.array(got), energy, np.array(owed), freedom)
        dtype = self.components.dtype

        def filled(found: Doubles) -> Doubles:
            width = [(0, k - shown), *[(0, 0)] * (found.ndim - 1)]
            return np.pad(found[:shown], width, constant_values=nan)

        return StandardErrors(
            filled(errors.T).astype(dtype),
            filled(np.sqrt(factor * variances)).astype(dtype),
            filled(_angle(pairs.sum(axis=0) + leaks)),
            freedom,
            np.append(planes, np.arange(shown, k)),
            filled(plane_angles),
            captured,
            curve,
            _drift(curve[:, 1], self.shares * energy) if k < self.d else UNKNOWN_DRIFT,
        )

    def _captured(
        self, got: Doubles, energy: Doubles, owed: Doubles, freedom: float
    ) -> tuple[Captured, Doubles]:
        """Return the share captured of new rows, and that of each segment, from energies (S,)."""
        shares = self.shares
        rows = np.cumsum(self.segments.rows)
        if self.k == self.d:
            whole = np.column_stack([rows, np.ones_like(rows), np.zeros_like(rows)])
            return Captured(1.0, 0.0), whole
        mean = float(shares @ energy)
        if not mean > 0.0:
            return unknown("the rows do not vary"), np.zeros((0, 3))
        seen = float(self.variances.sum()) / mean
        less = float(shares @ owed) / mean
        new = got - owed
        terms = (new - float(shares @ new) / mean * energy) / mean
        spread = float((shares**2 * terms**2).sum()) / (1.0 - float((shares**2).sum()))
        error = float(np.hypot(np.sqrt(spread), TAKEN_OFF_ERROR * less))
        single = np.sqrt(spread * (1.0 / np.maximum(shares, TINY)))
        share = np.clip(got / np.maximum(energy, TINY), 0.0, 1.0)
        curve = np.column_stack([rows, share, single * mean / np.maximum(energy, TINY)])
        if self.read < self.k:
            return unknown(f"of more than {self.read} components it is not known"), curve
        return Captured(float(np.clip(seen - less, 0.0, 1.0)), error, "", freedom), curve


def _drift(shares: Doubles, weights: Doubles) -> Drift:
    """Return whether shares captured (S,) drift, from the energies that they are of (S,)."""
    count = len(shares)
    if count < 2 * DRIFT_PARTS:
        return Drift()
    starts = np.arange(DRIFT_PARTS) * count // DRIFT_PARTS
    together = np.add.reduceat(weights, starts)
    means = np.add.reduceat(weights * shares, starts) / np.maximum(together, TINY)
    lengths = np.diff(np.append(starts, count))
    between = float(together @ (means - weights @ shares / weights.sum()) ** 2)
    within = float(weights @ (shares - np.repeat(means, lengths)) ** 2)
    freedom = DRIFT_PARTS - 1, count - DRIFT_PARTS
    if not within > 0.0:
        return Drift()
    statistic = between / freedom[0] / (within / freedom[1])
    return Drift(statistic, float(fdtrc(*freedom, statistic)))


def _angle(squares: Doubles) -> Doubles:
    """Return expected angles (m,) in degrees from sums of squared errors, at most 90."""
    return np.minimum(np.rad2deg(np.sqrt(squares)), 90.0)


def _planes(pairs: Doubles, leaks: Doubles, shown: int) -> tuple[NDArray[np.int64], Doubles]:
    """Return the first component (shown,) of the plane of each one, and the angles of planes.

    A component that is not determined is in one plane with the one that it shares most with.

    Parameters
    ----------
    pairs : ndarray of shape (q, read)
        Squared angles by which each known direction turns each component.
    leaks : ndarray of shape (read,)
        The same for everything else.
    shown : int
        How many components planes are made of.
    """
    angles = _angle(pairs.sum(axis=0) + leaks)[:shown]
    planes, turned = np.arange(shown), np.zeros(shown)
    for j in np.flatnonzero(angles > DETERMINED):
        other = int(pairs[:, j].argmax())
        if other < shown and pairs[other, j] >= leaks[j]:
            both = planes[j], planes[other]
            planes[np.isin(planes, both)] = min(both)
    for first in set(planes.tolist()):
        inside = np.flatnonzero(planes == first)
        outside = np.delete(pairs[:, inside], inside, axis=0)
        turned[inside] = outside.sum() + leaks[inside].sum()
    return planes, _angle(turned)


class _Moment:
    """The second moments C_s of segments about the mean of all, in units of a scale (d,)."""

    def __init__(self, segments: Segments, units: Doubles, center: bool) -> None:
        self.segments, self.units = segments, units
        weights, means = segments.weights, segments.means
        self.weight = float(weights.sum())
        self.shares = weights / self.weight
        # About the first mean, so that the mean of equal ones is exact.
        self.point = means[0] + self.shares @ (means - means[0]) if center else np.zeros(segments.d)
        self.apart = means - self.point
        self.product = np.tensordot(np.ones(len(segments)), segments.products, 1) * segments.unit
        self.mean_energies = self.shares @ np.array([self.energies(part) for part in segments])

    def energies(self, part: Segment) -> Doubles:
        """Return the second moments (d,) of the columns of a segment."""
        return (part.squares / part.weight + (part.mean - self.point) ** 2) / self.units**2

    def times(self, part: Segment, directions: Doubles) -> Doubles:
        """Return C_s v for directions (m, d) of what the frame spans of them, shape (d, m)."""
        raw = directions / self.units
        apart = part.mean - self.point
        along = self.segments.frame @ raw.T
        unit = self.segments.unit / part.weight
        product = unit * (part.product @ along) + np.outer(apart, raw @ apart)
        return product / self.units[:, None]

    def mean_of(self, directions: Doubles) -> Doubles:
        """Return the mean of the same over all segments."""
        raw = directions / self.units
        along = self.segments.frame @ raw.T
        between = (self.apart * self.shares[:, None]).T @ (self.apart @ raw.T)
        return (self.product @ along / self.weight + between) / self.units[:, None]

    def spectrum(self, directions: Doubles, values: Doubles, total: float) -> Spectrum:
        """Return eigenpairs: the leading ones, and about those that the frame knows besides.

        Parameters
        ----------
        directions, values : ndarray of shape (k, d) and (k,)
        total : float
            The sum of all eigenvalues.
        """
        k, d = directions.shape
        spanned = self.segments.frame * self.units  # the matrix times these is known
        beside = spanned - (spanned @ directions.T) @ directions
        left, sizes, further = np.linalg.svd(beside, full_matrices=False)
        kept = sizes > SPANNED * max(float(sizes.max(initial=0.0)), TINY)
        kept[max(d - k, 0) :] = False
        further = further[kept]
        coefficients = (left[:, kept] / sizes[kept]).T
        images = self.mean_of(coefficients @ spanned).T
        images = images - ((coefficients @ spanned) @ directions.T * values) @ directions
        inner = images @ further.T
        found, turn = np.linalg.eigh(0.5 * (inner + inner.T))
        found, further = found[::-1], turn[:, ::-1].T @ further
        most = float(values.min(initial=np.inf))
        found = np.minimum(found.clip(min=0.0), most)
        both = np.vstack([directions, further])
        together = np.append(values, found)
        rest = max(total - float(together.sum()), 0.0) / max(d - len(both), 1)
        return Spectrum(both, both.T * together, together, min(rest, most))
