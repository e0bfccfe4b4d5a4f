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
    """An F statistic of the shares captured of parts of the stream, and its probability.

    Both are NaN where there are too few segments.
    """

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
        if angle <= WELL_DETERMINED:
            return f"well determined, {degrees(angle)}"
        if angle <= DETERMINED:
            return f"roughly determined, {degrees(angle)}"
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
        """Return which entries of components (k, d) cannot be told from zero.

        These are all entries of components that are not determined, and others whose 95% interval
        holds zero.
        """
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
    """Leading eigenpairs of a second moment, and the mean eigenvalue of its other directions.

    Attributes
    ----------
    directions, values : ndarray of shape (q, d) and (q,)
        Components first.
    held : ndarray of shape (q,)
        The parts of the variances that completed rows hold.
    rest, rest_held : float
        The mean of the other eigenvalues, and the part of it.
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
    """What a change of a second moment turns its eigenvectors by, to first order.

    Parameters
    ----------
    spectrum : Spectrum
    k, read : int
        How many components there are, and how many of them are read.
    """

    def __init__(self, spectrum: Spectrum, k: int, read: int) -> None:
        self.spectrum, self.k, values = spectrum, k, spectrum.values
        least = max(TIED * float(values[0]), TINY)
        gaps = values[:read] - values[:, None]  # (q, read)
        self.tied = (np.abs(gaps) <= least) & ~np.eye(len(values), read, dtype=bool)
        self.inverse = _inverse(gaps, least)
        has_rest = len(values) < spectrum.directions.shape[1]
        outside = values[:read] - spectrum.rest
        self.tied_outside = (np.abs(outside) <= least) & has_rest
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
    """The second moments C_s of segments about the mean of all, in units of a scale (d,)."""

    def __init__(self, segments: Segments, units: Doubles, center: bool) -> None:
        self.segments, self.units = segments, units
        weights, means = segments.weights, segments.means
        self.weight = float(weights.sum())
        self.shares = weights / self.weight
        # About the first mean, so that the mean of equal ones is exact.
        middle = means[0] + self.shares @ (means - means[0])
        self.apart = (means - float(center) * middle) / units
        within = segments.squares / weights[:, None] / units**2
        self.columns = within + self.apart**2  # (S, d), the diagonals of all C_s
        self.mean_columns = self.shares @ self.columns
        product = sum(part.astype(np.float64) for part in segments.parts)
        self.product = np.asarray(product) / self.weight

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

    def spectrum(
        self, directions: Doubles, values: Doubles, total: float, held: float | None
    ) -> Spectrum:
        """Return eigenpairs: the leading ones, and about those that the frame knows besides.

        Parameters
        ----------
        directions, values : ndarray of shape (k, d) and (k,)
        total : float
            The sum of all eigenvalues.
        held : float or None
            The part of all variances that completed rows hold; None where segments tell it.
        """
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
    held : float, optional
        The part of the variance that rows hold along any direction, less than 1 where they had
        gaps; None where it is what segments have of the second moment.
    """
    rows = float(segments.rows.sum())
    if rows < LEAST_STREAM or len(segments) < LEAST_SEGMENTS:
        return nothing(
            components,
            f"standard errors need at least {LEAST_STREAM} rows in {LEAST_SEGMENTS} segments: "
            f"there are {rows:,.0f} rows in {len(segments)}",
        )
    return _Reading(segments, components, variances, total, center, scale, bounded, held).result()


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


class _Reading:
    """Second moments of segments, components and their spectrum, in the units of the components."""

    def __init__(
        self,
        segments: Segments,
        components: NDArray[np.floating],
        variances: Doubles,
        total: float,
        center: bool,
        scale: Scale,
        bounded: tuple[Segments, Doubles, float] | None,
        held: float | None,
    ) -> None:
        self.components, self.variances, self.total = components, variances, total
        self.k, self.d = components.shape
        # Nothing is known of the components that the frame does not span.
        spanned = len(segments.frame)
        self.read = min(self.k, spanned if spanned == self.d else max(spanned - 2, 1))
        directions = components.astype(np.float64)
        self.directions = directions[: self.read]
        self.is_scaled = scale is not None
        units = np.ones(self.d) if scale is None else scale
        self.plain = self.moving = SegmentMoments(segments, units, center)
        self.spectrum = self.plain.spectrum(directions, variances, total, held)
        self.plain_spectrum = self.spectrum
        if bounded is not None:
            self.moving = SegmentMoments(bounded[0], units, center)
            self.spectrum = self.moving.spectrum(directions, *bounded[1:], held)
        self.shares = self.plain.shares

    def _changes(self, moments: SegmentMoments, spectrum: Spectrum, number: int) -> Doubles:
        """Return (C_s - C) v_j for the components that are read, (d, read)."""
        changes = moments.times(number, self.directions) - moments.mean_times(self.directions)
        changes *= moments.shares[number] / self.shares[number]  # bounded rows weigh less
        changes = spectrum.informed(changes)
        if self.is_scaled:  # C changes by -(E C + C E) / 2
            average = np.maximum(self.plain.mean_columns, TINY)
            relative = (self.plain.columns[number] / average - 1.0)[:, None]
            columns = self.directions.T
            changes -= 0.5 * (
                relative * spectrum.times(columns) + spectrum.times(relative * columns)
            )
        return changes

    def result(self) -> StandardErrors:
        """Return everything that is read from the segments."""
        k, read, first = self.k, self.read, self.directions
        turns = Turns(self.spectrum, k, read)
        images = self.plain.mean_times(first)
        squares, variances = np.zeros((self.d, read)), np.zeros(read)
        pairs, leaks = np.zeros((len(self.spectrum.values), read)), np.zeros(read)
        gains, owed = [], []
        for number, share in enumerate(self.shares.tolist()):
            plain = moving = self._changes(self.plain, self.plain_spectrum, number)
            if self.moving is not self.plain:
                moving = self._changes(self.moving, self.spectrum, number)
            inside, outside = self.spectrum.split(moving)
            moves = turns.moves(inside, outside)
            changes = np.einsum("ji,ij->j", first, plain)
            if moving is not plain:
                changes = changes + 2.0 * np.einsum("ij,ij->j", images, moves)
            squares += share**2 * moves**2
            variances += share**2 * changes**2
            pairs += share**2 * (inside * turns.inverse) ** 2
            leaks += share**2 * (outside**2).sum(axis=0) * turns.inverse_outside**2
            gain = np.einsum("ji,ij->j", first, self.plain.times(number, first) - images)
            along = float((gain / self.plain_spectrum.held[:read] ** 2).sum())
            beside = float(
                (self.plain.columns[number] - self.plain.mean_columns).sum() - gain.sum()
            )
            gains.append((along, along + beside / self.plain_spectrum.rest_held))
            owed.append(2.0 * share / (1.0 - share) * turns.lost(inside, outside, plain))
        second, third = (float((self.shares**power).sum()) for power in (2, 3))
        factor = 1.0 / (1.0 - second)
        freedom = (1.0 - second) ** 2 / (second - 2.0 * third + second**2)
        pairs, leaks = factor * pairs, factor * leaks
        pairs[turns.tied], leaks[turns.tied_outside] = np.inf, np.inf
        shown, dtype = min(read, MOST_COMPONENTS), self.components.dtype
        errors = np.sqrt(factor * squares).clip(max=1.0)
        errors[:, turns.tied.any(axis=0) | turns.tied_outside] = 1.0
        planes, plane_angles = _planes(pairs, leaks, shown)
        captured, curve, drift = self._captured(np.array(gains), np.array(owed), freedom)
        angles = _angle(pairs.sum(axis=0) + leaks)
        # Segments are measured along the frames of their time. On noise, these are far from the
        # final directions and fit the rows that they were found from.
        if not self.plain.segments.is_whole and angles.max() > WELL_DETERMINED:
            drift = Drift()

        def filled(found: Doubles) -> Doubles:
            width = [(0, k - shown), *[(0, 0)] * (found.ndim - 1)]
            return np.pad(found[:shown], width, constant_values=nan)

        return StandardErrors(
            filled(errors.T).astype(dtype),
            filled(np.sqrt(factor * variances)).astype(dtype),
            filled(angles),
            freedom,
            np.append(planes, np.arange(shown, k)),
            filled(plane_angles),
            captured,
            curve,
            drift,
        )

    def _captured(
        self, gains: Doubles, owed: Doubles, freedom: float
    ) -> tuple[Captured, Doubles, Drift]:
        """Return the share captured of new rows, that of each segment, and its drift.

        `gains` (S, 2) are by how much segments have more energy than all rows, along components and
        in all.
        """
        shares, mean = self.shares, self.total
        rows = np.cumsum(self.plain.segments.rows)
        if self.k == self.d:
            curve = np.column_stack([rows, np.ones_like(rows), np.zeros_like(rows)])
            return Captured(1.0, 0.0), curve, Drift()
        if not mean > 0.0:
            return unknown("the rows do not vary"), np.zeros((0, 3)), Drift()
        got, energy = (gains + [self.variances.sum(), mean]).T
        less = float(shares @ owed) / mean
        new = got - owed
        terms = (new - float(shares @ new) / mean * energy) / mean
        spread = float((shares**2 * terms**2).sum()) / (1.0 - float((shares**2).sum()))
        error = float(np.hypot(np.sqrt(spread), TAKEN_OFF_ERROR * less))
        single = np.sqrt(spread / np.maximum(shares, TINY))
        share = np.clip(got / np.maximum(energy, TINY), 0.0, 1.0)
        curve = np.column_stack([rows, share, single * mean / np.maximum(energy, TINY)])
        drift = _drift(share, shares * energy)
        if self.read < self.k:
            captured = unknown(f"it is estimated for at most {self.read} components")
        else:
            seen = float(self.variances.sum()) / mean
            captured = Captured(float(np.clip(seen - less, 0.0, 1.0)), error, "", freedom)
        return captured, curve, drift


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
