"""Standard errors of components, variances and the share captured, from segments of the stream.

Let C be the second moment of all rows, v_j and lambda_j its eigenpairs, and C_s that of segment s,
about the same mean, which has the share w_s of the rows. To first order (Kato, Perturbation Theory
for Linear Operators, 1966; for Gaussian rows Anderson 1963), the segment moves component j by w_s
times

    move_s = sum over l != j of  v_l v_l' (C_s - C) v_j / (lambda_j - lambda_l),

and its variance by w_s v_j' (C_s - C) v_j. Moves add up to zero. Their spread gives the variance of
their sum (batch means), sum of w_s^2 move_s^2 / (1 - S_2) with S_m = sum of w_s^m, which has
(1 - S_2)^2 / (S_2 - 2 S_3 + S_2^2) degrees of freedom of Student's t: S - 1 of S equal segments.

New rows are captured less than the rows seen. Without segment s, C is smaller by
w_s (C_s - C) / (1 - w_s), and the components capture of the segment less by

    2 w_s / (1 - w_s)  sum over j <= k < l of  (v_l' (C_s - C) v_j)^2 / (lambda_j - lambda_l),

the mean of which is taken off. The standard error is the spread between segments of captured energy
less share times energy, and a quarter of what was taken off, which is of first order only.

Three changes:

- ``scale``: columns are divided by deviations, which have errors, too. With e_s the relative change
  of the variances in the segment, C_s - C loses (E C + C E) / 2, E = diag(e_s).
- ``robust``: components are eigenvectors of another second moment B, of bounded rows. Then moves
  come from B, and variances change by v_j' (C_s - C) v_j + 2 v_j' C move_s.
- Gaps: C_s is that of completed rows, x^ = G x with G a projection for each pattern of gaps. They
  hold the part r_j = E[v_j' G v_j] of the variance along v_j; the rest is the covariance of what
  was filled in. C is a fixed point of EM, at which a change of C comes back, so that the sum over
  segments is E[G (change of C) G'], not the change itself (missing information; Louis 1982). So
  v_l' (C_s - C) v_j is divided by r_l r_j.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from onepass.moments.chunk import Scale
from onepass.moments.segments import MOST_COMPONENTS, Segments
from onepass.persistence.fields import Array, Field, Number, Part, Size, State, String
from onepass.precision import TINY, Doubles

# Fewer say nothing of their own spread: five degrees of freedom, and 16 rows in each of 8 segments.
LEAST_SEGMENTS, LEAST_STREAM = 6, 128
TIED = 1e-12  # of the first variance: a difference below which two of them are the same
SPANNED = 1e-3  # part of a direction that has to be new, for it to count as another one
DETERMINED, WELL_DETERMINED = 45.0, 10.0  # degrees up to which a component is, and well
DRIFT_PARTS = 4  # of the stream, in each of which two segments at least tell the spread
DRIFTS = 0.01  # probability of so large a statistic, below which the share captured drifts
LEAST_HELD = 0.01  # of a variance, that completed rows hold: errors grow by its inverse
MOST_CURVE = 4096  # points of a learning curve in a file: far more than segments are kept
MOST_FEATURES = 2**31 - 1  # that 32-bit indices of sparse rows can count
TAKEN_OFF_ERROR = 0.25  # of what is taken off the share captured, which is right to first order


@dataclass(frozen=True)
class Captured(State):
    """The share of the variance of new rows that the components capture.

    Attributes
    ----------
    mean, standard_error : float
        NaN where they are not known, for a `reason`.
    reason : str
    degrees_of_freedom : float
        Of Student's t, for an interval.
    """

    mean: float
    standard_error: float
    reason: str = field(default="", compare=False)
    degrees_of_freedom: float = field(default=np.inf, compare=False)

    def fields(self) -> dict[str, Field]:
        number = Number(most=np.inf, gaps=True)
        return {
            "mean": Number(most=1.0, gaps=True),
            "standard_error": number,
            "reason": String(),
            "degrees_of_freedom": number,
        }

    @property
    def is_known(self) -> bool:
        """Whether there is a number."""
        return not isnan(self.mean)


@dataclass(frozen=True)
class Drift(State):
    """Whether the share captured drifts: an F test of four parts of the stream; NaN if unknown."""

    statistic: float = nan
    probability: float = nan

    def fields(self) -> dict[str, Field]:
        number = Number(most=np.inf, gaps=True)
        return {"statistic": number, "probability": number}

    @property
    def is_there(self) -> bool:
        """Whether the components capture other shares of some parts than of others."""
        return self.probability < DRIFTS


def unknown(reason: str) -> Captured:
    """Return a share that is not known, for a reason."""
    return Captured(nan, nan, reason)


@dataclass(frozen=True, eq=False)
class StandardErrors(State):
    """What segments of the stream say about components (k, d); NaN where there is a `reason`.

    Attributes
    ----------
    components, variances : ndarray of shape (k, d) and (k,)
        The errors of their entries and of the variances along them; NaN beyond the first 32.
    angles : ndarray of shape (k,)
        In degrees, from the component of the population.
    degrees : float
        Degrees of freedom of Student's t for an interval.
    planes, plane_angles : ndarray of shape (k,)
        Components that cannot be told apart have the number of the first of them, and their angle
        together.
    captured : Captured
    curve : ndarray of shape (segments, 3)
        Rows up to the end of each segment, the share captured of it, and its standard error.
    drift : Drift
    reason : str
    """

    components: NDArray[np.floating]
    variances: NDArray[np.floating]
    angles: Doubles
    degrees: float
    planes: NDArray[np.int64]
    plane_angles: Doubles
    captured: Captured
    curve: Doubles
    drift: Drift = field(default_factory=Drift)
    reason: str = ""

    def fields(self) -> dict[str, Field]:
        k, (_, d) = Size("components", MOST_FEATURES), self.components.shape
        angle = Array((k,), least=0.0, most=90.0, gaps=True)
        return {
            "components": Array((k, d), (self.components.dtype.name,), 0.0, 1.0, gaps=True),
            "variances": Array((k,), ("float32", "float64"), least=0.0, gaps=True),
            "angles": angle,
            "degrees": Number(most=np.inf, gaps=True),
            "planes": Array((k,), ("int64",), 0, MOST_FEATURES),
            "plane_angles": angle,
            "captured": Part(),
            "curve": Array((Size("points of the curve", MOST_CURVE), 3), least=-1e150, most=1e150),
            "drift": Part(),
            "reason": String(),
        }

    @property
    def quantile(self) -> float:
        """Of Student's t: so many standard errors to each side are a 95% interval."""
        return float(stdtrit(self.degrees, 0.975))

    def says(self, component: int) -> str:
        """Return in words how well a component is determined; nothing if it is not known."""
        angle = self.angles[component]
        if isnan(angle):
            return ""
        if angle <= DETERMINED:
            how = "well" if angle <= WELL_DETERMINED else "roughly"
            return f"{how} determined, {degrees(angle)}"
        plane = np.flatnonzero(self.planes == self.planes[component])
        others = plane[plane != component]
        if not len(others):
            return "not determined: cannot be told apart from discarded directions"
        kind = "a plane" if len(plane) == 2 else "a space"
        return f"not determined: shares {kind} with {numbered(others)}"

    def indistinct(self) -> list[str]:
        """Return a sentence for each group of components that cannot be told apart."""
        found = []
        for first, angle in enumerate(self.plane_angles):
            plane = np.flatnonzero(self.planes == first)
            if len(plane) > 1:
                known = f"; together they are known to {degrees(angle)}"
                rest = ", nor from discarded directions" if angle > DETERMINED else known
                found.append(f"{numbered(plane)} cannot be told apart{rest}")
        return found

    def may_be_zero(self, components: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which entries (k, d) have 0 in their 95% interval, or are not determined."""
        close = np.abs(components) <= self.quantile * self.components
        return close | (self.angles > DETERMINED)[:, None]


def numbered(components: NDArray[np.int64]) -> str:
    """Return components in words, counted from 0 as in `pca0`: ``components 3 and 4``."""
    *most, last = map(str, components)
    return f"components {', '.join(most)} and {last}" if most else f"component {last}"


def degrees(angle: float) -> str:
    """Return an angle with its unit."""
    number = f"{angle:.1g}" if angle < 1.0 else f"{angle:.0f}"
    return f"{number} degree" if number == "1" else f"{number} degrees"


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenpairs of a second moment (q, d) and (q,), components first.

    `rest` is the mean of the other eigenvalues; `held` (q,) and `rest_held` are the parts of the
    eigenvalues that completed rows hold.
    """

    directions: Doubles
    values: Doubles
    held: Doubles
    rest: float
    rest_held: float

    def split(self, columns: Doubles) -> tuple[Doubles, Doubles]:
        """Return coordinates (q, m) of columns (d, m) along the directions, and the rest (d, m)."""
        inside = self.directions @ columns
        return inside, columns - self.directions.T @ inside

    def times(self, columns: Doubles) -> Doubles:
        """Return the second moment times columns (d, m)."""
        inside, outside = self.split(columns)
        return self.directions.T @ (self.values[:, None] * inside) + self.rest * outside

    def informed(self, changes: Doubles) -> Doubles:
        """Return changes (d, m) times the first m directions, by the parts that rows hold."""
        if (self.held == 1.0).all():
            return changes
        inside, outside = self.split(changes)
        whole = self.directions.T @ (inside / self.held[:, None]) + outside / self.rest_held
        return np.asarray(whole / self.held[: changes.shape[1]])


class Turns:
    """What changes of a second moment turn the first `read` of its k components by."""

    def __init__(self, spectrum: Spectrum, k: int, read: int) -> None:
        self.spectrum, self.k, values = spectrum, k, spectrum.values
        least = max(TIED * float(values[0]), TINY)
        gaps, outside = values[:read] - values[:, None], values[:read] - spectrum.rest
        has_rest = len(values) < spectrum.directions.shape[1]
        self.tied = (np.abs(gaps) <= least) & ~np.eye(len(values), read, dtype=bool)
        self.tied_outside = (np.abs(outside) <= least) & has_rest
        self.inverse = _inverse(gaps, least)  # (q, read)
        self.inverse_outside = _inverse(outside, least) * has_rest
        self.cost = 1.0 / np.maximum(gaps[k:], least)
        self.cost_outside = has_rest / np.maximum(outside, least)

    def moves(self, inside: Doubles, outside: Doubles) -> Doubles:
        """Return the moves (d, read) of components."""
        moved = self.spectrum.directions.T @ (inside * self.inverse)
        return np.asarray(moved + outside * self.inverse_outside)

    def lost(self, inside: Doubles, outside: Doubles, plain: Doubles) -> float:
        """Return half of what moves out of the span of components cost, with changes (d, read)."""
        within, without = self.spectrum.split(plain)
        lost = np.vdot(inside[self.k :] * self.cost, within[self.k :])
        return float(lost + np.einsum("ij,ij->j", outside, without) @ self.cost_outside)


def _inverse(gaps: Doubles, least: float) -> Doubles:
    """Return 1 / gaps, and 0 where they are next to nothing."""
    return np.divide(1.0, gaps, out=np.zeros_like(gaps), where=np.abs(gaps) > least)


class SegmentMoments:
    """The second moments C_s of segments about the mean of all, in units of a scale (d,).

    Their mean C has leading eigenpairs (k, d) and (k,) and a trace `total`; `held` is the part of
    all variances that completed rows hold, and None where segments tell it.
    """

    def __init__(
        self,
        segments: Segments,
        units: Doubles,
        center: bool,
        directions: Doubles,
        values: Doubles,
        total: float,
        held: float | None,
    ) -> None:
        self.segments, self.units = segments, units
        weights, means = segments.weights, segments.means
        weight = float(weights.sum())
        self.shares = weights / weight
        # About the first mean, so that the mean of equal ones is exact.
        middle = means[0] + self.shares @ (means - means[0])
        self.apart = (means - float(center) * middle) / units
        within = segments.squares / weights[:, None] / units**2
        self.columns = within + self.apart**2  # (S, d), the diagonals of all C_s
        self.mean_columns = self.shares @ self.columns
        product = sum(part.astype(np.float64) for part in segments.parts)
        self.product = np.asarray(product) / weight
        self.spectrum = self._spectrum(directions, values, total, held)

    def times(self, number: int, directions: Doubles) -> Doubles:
        """Return C_s v for directions (m, d) of what the frame spans of them, shape (d, m)."""
        apart = self.apart[number]
        product = self.segments.parts[number] / self.segments.weights[number]
        return self._within(product, directions) + np.outer(apart, directions @ apart)

    def mean_times(self, directions: Doubles) -> Doubles:
        """Return the mean of the same over all segments."""
        between = (self.apart * self.shares[:, None]).T @ (self.apart @ directions.T)
        return self._within(self.product, directions) + between

    def _within(self, product: Doubles, directions: Doubles) -> Doubles:
        """Return a product with the frame (d, K) as one with directions (m, d)."""
        along = self.segments.frame @ (directions / self.units).T * self.segments.unit
        return np.asarray(product @ along / self.units[:, None])

    def change(self, first: Doubles, number: int, plain: SegmentMoments, scale: Scale) -> Doubles:
        """Return (C_s - C) v_j for the first components (m, d), times w_s over that of `plain`."""
        changes = self.times(number, first) - self.mean_times(first)
        changes *= self.shares[number] / plain.shares[number]
        changes = self.spectrum.informed(changes)
        if scale is not None:  # C changes by -(E C + C E) / 2
            average = np.maximum(plain.mean_columns, TINY)
            relative, columns = (plain.columns[number] / average - 1.0)[:, None], first.T
            times = self.spectrum.times
            changes -= 0.5 * (relative * times(columns) + times(relative * columns))
        return changes

    def gain(self, first: Doubles, number: int) -> tuple[float, float]:
        """Return what a segment has more than all, along the first components and in all."""
        change, spectrum = self.times(number, first) - self.mean_times(first), self.spectrum
        gain = np.einsum("ji,ij->j", first, change)
        along = float((gain / spectrum.held[: len(first)] ** 2).sum())
        beside = float((self.columns[number] - self.mean_columns).sum() - gain.sum())
        return along, along + beside / spectrum.rest_held

    def _spectrum(
        self, directions: Doubles, values: Doubles, total: float, held: float | None
    ) -> Spectrum:
        """Return the leading eigenpairs, and about those that the frame knows besides."""
        k, d = directions.shape
        further, found = self._further(directions, values)
        most, missing, rest_held = float(values.min(initial=np.inf)), 0.0, held or 1.0
        known = np.append(np.einsum("ij,ji->i", directions, self.mean_times(directions)), found)
        if held is None:  # what is missing besides the components is taken for evenly spread
            outside = max(total - float(values.sum()), 0.0)
            rest_held = float(self.mean_columns.sum() - known[:k].sum()) / max(outside, TINY)
            rest_held = min(max(rest_held, LEAST_HELD), 1.0)
            missing = (1.0 - rest_held) * outside / max(d - k, 1)
        together = np.append(values, np.minimum(found.clip(min=0.0) + missing, most))
        parts = np.full(len(together), rest_held)
        if held is None:
            parts = (known / np.maximum(together, TINY)).clip(LEAST_HELD, 1.0)
        rest = max(total - float(together.sum()), 0.0) / max(d - len(together), 1)
        both = np.vstack([directions, further])
        return Spectrum(both, together, parts, min(rest, most), rest_held)

    def _further(self, directions: Doubles, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return further eigenpairs in the span of the frame, besides directions (k, d)."""
        k, d = directions.shape
        spanned = self.segments.frame * self.units  # the matrix times these is known
        beside = spanned - (spanned @ directions.T) @ directions
        left, sizes, further = np.linalg.svd(beside, full_matrices=False)
        kept = sizes > SPANNED * max(float(sizes.max(initial=0.0)), TINY)
        kept[max(d - k, 0) :] = False
        further = further[kept]
        combined = (left[:, kept] / sizes[kept]).T @ spanned
        images = self.mean_times(combined).T
        images = images - (combined @ directions.T * values) @ directions
        inner = images @ further.T
        found, turn = np.linalg.eigh(0.5 * (inner + inner.T))
        return turn[:, ::-1].T @ further, found[::-1]


def nothing(components: NDArray[np.floating], reason: str) -> StandardErrors:
    """Return that nothing is known about components (k, d), for a reason."""
    k, d = components.shape
    none = np.full(k, nan)
    return StandardErrors(
        np.full_like(components, nan),
        none.astype(components.dtype),
        none,
        nan,
        np.arange(k),
        none,
        Captured(1.0, 0.0) if k == d else unknown(reason),
        np.zeros((0, 3)),
        reason=reason,
    )


def standard_errors(
    segments: Segments,
    components: NDArray[np.floating],
    variances: Doubles,
    total: float,
    *,
    center: bool = True,
    scale: Scale = None,
    bounded: tuple[Segments, Doubles, float] | None = None,
    held: float | None = 1.0,
) -> StandardErrors:
    """Return what segments say about components (k, d).

    Parameters
    ----------
    segments : Segments
    components, variances : ndarray of shape (k, d) and (k,)
        Orthonormal, and the variances along them, divided by the weight of all rows.
    total : float
        The trace of the second moment, scaled.
    center : bool
        Whether second moments are about the mean or about zero.
    scale : ndarray of shape (d,), optional
        What columns are divided by.
    bounded : tuple, optional
        Segments of bounded rows with their eigenvalues (k,) and trace, if components are theirs.
    held : float, optional
        The part of the variance that rows hold along any direction, less than 1 where they had
        gaps; None where it is what segments have of the second moment.
    """
    rows, (k, d), spanned = float(segments.rows.sum()), components.shape, len(segments.frame)
    if rows < LEAST_STREAM or len(segments) < LEAST_SEGMENTS:
        return nothing(
            components,
            f"standard errors need at least {LEAST_STREAM} rows in {LEAST_SEGMENTS} segments: "
            f"there are {rows:,.0f} rows in {len(segments)}",
        )
    units, directions = np.ones(d) if scale is None else scale, components.astype(np.float64)
    plain = moving = SegmentMoments(segments, units, center, directions, variances, total, held)
    if bounded is not None:
        moving = SegmentMoments(bounded[0], units, center, directions, *bounded[1:], held)
    # Nothing is known of the components that the frame does not span.
    read = min(k, spanned if spanned == d else max(spanned - 2, 1))
    turns, first = Turns(moving.spectrum, k, read), directions[:read]
    squares, changes = np.zeros((d, read)), np.zeros(read)
    pairs, leaks = np.zeros((len(moving.spectrum.values), read)), np.zeros(read)
    images, gains, owed = plain.mean_times(first), [], []
    for number, share in enumerate(plain.shares.tolist()):
        change = moved = plain.change(first, number, plain, scale)
        if moving is not plain:
            moved = moving.change(first, number, plain, scale)
        inside, outside = turns.spectrum.split(moved)
        moves, along = turns.moves(inside, outside), np.einsum("ji,ij->j", first, change)
        if moving is not plain:
            along = along + 2.0 * np.einsum("ij,ij->j", images, moves)
        squares += share**2 * moves**2
        changes += share**2 * along**2
        pairs += share**2 * (inside * turns.inverse) ** 2
        leaks += share**2 * (outside**2).sum(axis=0) * turns.inverse_outside**2
        gains.append(plain.gain(first, number))
        owed.append(2.0 * share / (1.0 - share) * turns.lost(inside, outside, change))
    second, third = (float((plain.shares**power).sum()) for power in (2, 3))
    factor = 1.0 / (1.0 - second)
    freedom = (1.0 - second) ** 2 / (second - 2.0 * third + second**2)
    pairs, leaks = factor * pairs, factor * leaks
    pairs[turns.tied], leaks[turns.tied_outside] = np.inf, np.inf
    errors = np.sqrt(factor * squares).clip(max=1.0)
    errors[:, turns.tied.any(axis=0) | turns.tied_outside] = 1.0
    shown, angles = min(read, MOST_COMPONENTS), _angle(pairs.sum(axis=0) + leaks)
    planes, plane_angles = _planes(pairs, leaks, shown)
    captured, curve, drift = Captured(1.0, 0.0), np.tile([1.0, 0.0], (len(segments), 1)), Drift()
    if k < d and not total > 0.0:
        captured, curve = unknown("the rows do not vary"), curve[:0]
    elif k < d:
        energies = np.array(gains) + [variances.sum(), total]
        captured, curve = _captured(
            plain.shares, energies, np.array(owed), variances, total, freedom
        )
        # Segments are measured along the frames of their time. On noise, these are far from the
        # final directions and fit the rows that they were found from.
        if segments.is_whole or angles.max() <= WELL_DETERMINED:
            drift = _drift(curve[:, 0], plain.shares * energies[:, 1])
    if read < k < d and len(curve):
        captured = unknown(f"it is estimated for at most {read} components")

    def filled(found: Doubles) -> Doubles:
        width = [(0, k - shown), *[(0, 0)] * (found.ndim - 1)]
        return np.pad(found[:shown], width, constant_values=nan)

    return StandardErrors(
        filled(errors.T).astype(components.dtype),
        filled(np.sqrt(factor * changes)).astype(components.dtype),
        filled(angles),
        freedom,
        np.append(planes, np.arange(shown, k)),
        filled(plane_angles),
        captured,
        np.column_stack([np.cumsum(segments.rows)[: len(curve)], curve]),
        drift,
    )


def _captured(
    shares: Doubles,
    energies: Doubles,
    owed: Doubles,
    variances: Doubles,
    total: float,
    freedom: float,
) -> tuple[Captured, Doubles]:
    """Return the share captured of new rows, and those of segments with their errors (S, 2).

    Segments have energies (S, 2) along components and in all, and are `owed` (S,) of the first.
    """
    got, energy = energies.T
    less = float(shares @ owed) / total
    new = got - owed
    terms = (new - float(shares @ new) / total * energy) / total
    spread = float((shares**2 * terms**2).sum()) / (1.0 - float((shares**2).sum()))
    error = float(np.hypot(np.sqrt(spread), TAKEN_OFF_ERROR * less))
    seen = float(variances.sum()) / total
    captured = Captured(float(np.clip(seen - less, 0.0, 1.0)), error, "", freedom)
    energy = np.maximum(energy, TINY)
    share, single = np.clip(got / energy, 0.0, 1.0), np.sqrt(spread / np.maximum(shares, TINY))
    return captured, np.column_stack([share, single * total / energy])


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

    A component that is not determined is in one plane with the one that it shares most with. It is
    turned by known directions with squared angles `pairs` (q, read), by others with `leaks`.
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
