"""The candidates of `PCA`: ways to estimate the leading subspace from the same rows.

plain
    The leading eigenvectors of the second moment of all rows: batch PCA.
consensus
    The second moments S_1 ... S_4 of four parts of the stream agree on what is common to all rows.
    The leading eigenvectors of their power mean, ``mean(S_b^p)^(1/p)`` with p = 1/4, leave out
    what only one part has seen: a direction that a single huge row has put into one of them counts
    as ``4^(1 - 1/p) = 1/64`` of what it counts in the mean.
bounded
    The second moment of rows that are cut to a typical length about a robust centre: a row x has
    weight min(1, (length / |x - centre|)^2), so that no row counts more than a typical one.

Consensus and bounded begin where rows turn out to be of uneven length. While they are even,
bounding changes next to nothing and no row can dominate a part: what was learned so far is a fair
start for both, and a stream of even rows costs no more than its second moment.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.moments.chunk import Chunk
from onepass.moments.scatter import ExactScatter, spread
from onepass.moments.sketched import SketchedScatter
from onepass.threads import run_all

CANDIDATES = PLAIN, CONSENSUS, BOUNDED = "plain", "consensus", "bounded"
Directions = dict[str, NDArray[np.float64]]
Scale = NDArray[np.float64] | None

EXACT_COLUMNS = 2048  # up to which the second moment is a matrix
THREADED_COLUMNS = 512  # from which on its sums are worth two threads
PARTED_COLUMNS = 1024  # up to which four matrices are kept, for the consensus
PARTS = 4
POWER = 0.25
LEAST_RANK, MOST_WIDE_RANK = 128, 176  # of a sketch of dense rows
UNEVEN = 1.25  # mean squared energy over squared mean energy: 1 for rows of one length
ROBUST_STEPS = 30  # of Weiszfeld's iteration for the centre of the first rows
LEAST_LENGTH = 0.1  # of the typical one: closer to the centre, rows do not count more
LARGEST_RATIO = 1e100  # of energies, so that their squares stay finite


def sketch_rank(d: int, k: int, is_sparse: bool) -> int:
    """Return the rank of the sketch of rows with d columns, for k directions.

    Dense rows have noise everywhere, of which the sketch has to hold much to average it. Sparse
    rows have little, and their sketch is costlier than they are: docs/benchmarks.md has both
    measured.
    """
    if is_sparse:
        return min(d, 2 * k + 24)
    return min(d, max(3 * k + 24, LEAST_RANK, min(d // 45, MOST_WIDE_RANK)))


class Typical:
    """A centre and a length that a few rows cannot move, however large they are.

    The centre is a running mean of the rows with weights 1 / |x - centre|, which for one batch is
    Weiszfeld's iteration for the spatial median. The squared length is the power mean
    ``mean(e^(1/4))^4`` of the rows' energies e = |x - centre|^2.

    Parameters
    ----------
    d : int
        The number of columns.
    center : bool
        Whether there is a centre; otherwise it is zero.
    """

    def __init__(self, d: int, center: bool) -> None:
        self.center = center
        self.centre: NDArray[np.float64] = np.zeros(d)
        self.centre_weight = 0.0
        self.unit = 0.0  # energies are kept in units of this one
        self.sums: NDArray[np.float64] = np.zeros(4)  # of w, w e^(1/4), w e, w e^2

    @property
    def squared_length(self) -> float:
        """The typical energy of a row."""
        return self.unit * float(self.sums[1] / max(self.sums[0], 1e-300)) ** 4

    @property
    def unevenness(self) -> float:
        """The mean squared energy over the squared mean energy; 1 if all are the same."""
        weight, _, energy, square = self.sums
        return float(weight * square / energy**2) if energy > 0.0 else 1.0

    def begin(self, chunk: Chunk) -> None:
        """Find the centre of the first rows from their Gram matrix."""
        if not self.center:
            return
        gram, weights = chunk.gram, chunk.weights
        shares = weights / weights.sum()
        for _ in range(ROBUST_STEPS):
            across = gram @ shares
            away = np.maximum(gram.diagonal() - 2.0 * across + shares @ across, 0.0)
            away = np.sqrt(np.maximum(away, (LEAST_LENGTH * np.median(np.sqrt(away))) ** 2))
            if not away.all():  # more than half of the rows are the same
                break
            shares = weights / away
            shares /= shares.sum()
        self.centre = chunk.origin + chunk.unscaled(chunk.combine(shares[None])[0])

    def point(self, chunk: Chunk) -> NDArray[np.float64]:
        """Return the centre (d,) in the coordinates of a chunk."""
        return chunk.rescaled(self.centre - chunk.origin)

    def add(self, chunk: Chunk, energies: NDArray[np.float64]) -> None:
        """Include rows with these energies (r,) about the centre."""
        weights = chunk.weights
        if not self.unit:
            self.unit = float(np.median(energies)) or float(energies.max(initial=0.0))
        if not self.unit:
            self.sums = self.sums + [float(weights.sum()), 0.0, 0.0, 0.0]
            return
        ratio = np.minimum(energies / self.unit, LARGEST_RATIO)
        powers = [np.ones(len(ratio)), ratio**0.25, ratio, ratio * ratio]
        self.sums = self.sums + np.array([weights @ power for power in powers])
        if self.center:
            least = LEAST_LENGTH**2 * self.squared_length
            pull = weights / np.sqrt(np.maximum(energies, max(least, 1e-300)))
            added = float(pull.sum())
            step = chunk.combine(pull[None])[0] - added * self.point(chunk)
            self.centre_weight += added
            self.centre = self.centre + chunk.unscaled(step) / self.centre_weight

    def bounds(self, energies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights (r,) that cut rows of these energies to the typical length."""
        return np.minimum(1.0, self.squared_length / np.maximum(energies, 1e-300))

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.sums, self.centre_weight = factor * self.sums, factor * self.centre_weight

    def merge(self, other: Typical) -> None:
        """Include the rows of another stream: centres are weighted as running means are."""
        if not other.unit:
            self.sums = self.sums + other.sums * [1.0, 0.0, 0.0, 0.0]
            return
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit
        self.sums = self.sums + other.sums * np.array([1.0, ratio**0.25, ratio, ratio * ratio])
        together = self.centre_weight + other.centre_weight
        if together > 0.0:
            share = other.centre_weight / together
            self.centre = self.centre + share * (other.centre - self.centre)
        self.centre_weight = together

    def copy(self) -> Typical:
        """Return a copy; no array is changed in place."""
        twin = Typical(0, self.center)
        twin.__dict__.update(self.__dict__)
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {name: value for name, value in vars(self).items() if name != "center"}


class Answer(NamedTuple):
    """What a candidate answers with, in the units of columns divided by a scale.

    Attributes
    ----------
    directions : ndarray of shape (k, d)
    second : ndarray of shape (k, k)
        The second moment along them, that of the rows as the candidate weighs them.
    energy, weight : float
        The trace of the whole second moment, and the sum of the weights.
    mean : ndarray of shape (d,)
        In the units of the rows.
    columns : ndarray of shape (d,)
        The sums of squares of the columns about their means, in the units of the rows.
    scale : ndarray of shape (d,)
        Ones where columns are not scaled.
    """

    directions: NDArray[np.float64]
    second: NDArray[np.float64]
    energy: float
    weight: float
    mean: NDArray[np.float64]
    columns: NDArray[np.float64]
    scale: NDArray[np.float64]


class Candidates(ABC):
    """What all candidates have learned from the same rows.

    Parameters
    ----------
    d : int
        The number of columns.
    center, scale : bool
        Whether the mean is taken off, and whether columns are divided by their deviations.
    robust : "auto", True or False
        Whether the bounded candidate begins where rows are uneven, at once, or never.
    """

    def __init__(self, d: int, center: bool, scale: bool, robust: Any) -> None:
        self.d, self.center, self.scale, self.robust = d, center, scale, robust
        self.typical = Typical(d, center)
        self.has_begun = False  # consensus and bounded

    @property
    @abstractmethod
    def weight(self) -> float:
        """The sum of the weights of the rows."""

    @property
    @abstractmethod
    def mean(self) -> NDArray[np.float64]:
        """The mean of the rows, shape (d,)."""

    @abstractmethod
    def chunk(self, rows: Any, weights: NDArray[np.float64]) -> Chunk:
        """Return rows (r, d) about a point that is near to them, not scaled."""

    @abstractmethod
    def directions(self, k: int, *, prove: bool = False) -> Directions:
        """Return k directions (k, d) of every candidate that has begun, or the fewer there are."""

    @abstractmethod
    def spectrum(self, name: str) -> tuple[NDArray[np.float64], float]:
        """Return the sums of squares along all directions, descending, and all of the energy."""

    @abstractmethod
    def captured(self, directions: NDArray[np.float64]) -> tuple[float, float]:
        """Return the energy of all rows so far along directions (k, d), and all of their energy."""

    @abstractmethod
    def answer(self, name: str, directions: NDArray[np.float64]) -> Answer:
        """Return what a candidate answers with, given its directions (k, d)."""

    @abstractmethod
    def fade(self, factor: float) -> None:
        """Let everything so far count less."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Include another stream."""

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that goes on by itself."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""

    @abstractmethod
    def _begin(self) -> None:
        """Begin consensus and bounded from what was learned of rows that were even."""

    @abstractmethod
    def _add(self, chunk: Chunk, scaled: Chunk, bounded: NDArray[np.float64] | None) -> None:
        """Learn from a chunk; `bounded` are the weights (r,) of its bounded rows."""

    @abstractmethod
    def _deviations(self) -> NDArray[np.float64]:
        """Return the deviations (d,) that columns are divided by, as known so far."""

    def scaled(self, chunk: Chunk) -> Chunk:
        """Return a chunk with its columns divided by their deviations so far."""
        if not self.scale:
            return chunk
        if self.weight > 0.0:
            return chunk.divided(self._deviations())
        shares = chunk.weights / chunk.weights.sum()
        squares = chunk.column_squares(shares) - chunk.combine(shares[None])[0] ** 2
        return chunk.divided(_deviations_of(squares, 1.0))

    def add(
        self, chunk: Chunk, scaled: Chunk, energies: NDArray[np.float64], *, bounding: bool = True
    ) -> None:
        """Learn from a chunk, whose scaled rows have these energies (r,) about the centre.

        Without `bounding`, the bounded candidate leaves it out.
        """
        bounded = None
        if self.robust is not False:
            self.typical.add(scaled, energies)
            if not self.has_begun and (self.robust is True or self.typical.unevenness > UNEVEN):
                self.begin()
            if self.has_begun and bounding:
                bounded = chunk.weights * self.typical.bounds(energies)
        self._add(chunk, scaled, bounded)

    def begin(self) -> None:
        """Begin consensus and bounded."""
        if not self.has_begun:
            self.has_begun = True
            self._begin()


class ExactCandidates(Candidates):
    """Candidates whose second moments are matrices.

    The rows' sums are kept in one, two or four parts. Every chunk is cut into as many pieces as
    there are parts; each piece adds to its part, and the parts may do so at the same time: results
    do not depend on the number of threads.
    """

    def __init__(self, d: int, center: bool, scale: bool, robust: Any) -> None:
        super().__init__(d, center, scale, robust)
        count = 2 if d >= THREADED_COLUMNS else 1
        self.parts = [ExactScatter(d, center) for _ in range(count)]
        self.bounded = ExactScatter(0, center)
        self._whole: ExactScatter | None = None

    @property
    def weight(self) -> float:
        return sum(part.weight for part in self.parts)

    @property
    def mean(self) -> NDArray[np.float64]:
        first, weight = self.parts[0], self.weight
        total = sum((part.total for part in self.parts[1:]), start=first.total)
        return first.origin + total / weight if weight > 0.0 else first.origin

    def chunk(self, rows: Any, weights: NDArray[np.float64]) -> Chunk:
        if self.center and not self.weight > 0.0:
            self._move(_mean(rows, weights))
        return Chunk(rows, weights, self.parts[0].origin)

    def _move(self, origin: NDArray[np.float64]) -> None:
        """Take another reference point (d,)."""
        self._whole = None
        for scatter in [*self.parts, *([self.bounded] if self.has_begun else [])]:
            scatter.move(origin)

    def _add(self, chunk: Chunk, scaled: Chunk, bounded: NDArray[np.float64] | None) -> None:
        self._whole = None
        edges = np.linspace(0, len(chunk), len(self.parts) + 1).astype(int)
        pieces = [chunk.part(*ends) for ends in itertools.pairwise(edges)]
        jobs = [
            (part, piece, piece.weights) for part, piece in zip(self.parts, pieces, strict=True)
        ]
        if bounded is not None:
            jobs.insert(0, (self.bounded, chunk, bounded))
        run_all(lambda job: job[0].add(*job[1:]), jobs)
        away = self.mean - self.parts[0].origin
        squares = sum(float(part.squares.trace()) for part in self.parts)
        if 2.0 * self.weight * float(away @ away) > squares:  # sums about it would lose digits
            self._move(self.mean)

    def _begin(self) -> None:
        self.bounded = self.whole().copy()
        if self.robust is not True and self.d <= PARTED_COLUMNS:
            self.parts += [self.parts[0].empty() for _ in range(PARTS - len(self.parts))]

    def whole(self) -> ExactScatter:
        """Return the scatter of all rows."""
        if self._whole is None:
            self._whole = self.parts[0].copy()
            for part in self.parts[1:]:
                self._whole.merge(part)
        return self._whole

    def _deviations(self) -> NDArray[np.float64]:
        if self.has_begun:
            return _deviations_of(self.bounded.variances(), self.bounded.weight)
        squares = np.sum([part.squares.diagonal() for part in self.parts], axis=0)
        away = self.mean - self.parts[0].origin
        return _deviations_of(spread(squares, away * self.weight, self.weight), self.weight)

    def _scale(self, scatter: ExactScatter) -> NDArray[np.float64] | None:
        """Return what the columns of a scatter are divided by."""
        return _deviations_of(scatter.variances(), scatter.weight) if self.scale else None

    def directions(self, k: int, *, prove: bool = False) -> Directions:
        whole, parted = self.whole(), len(self.parts) == PARTS
        scale = self._scale(whole)
        wanted = min(self.d, 3 * k + 24) if parted else k
        span = whole.leading(wanted, scale, prove=prove)[0]
        found = {PLAIN: span[:k]}
        if parted:
            found[CONSENSUS] = self._consensus(k, span, scale)
        if self.has_begun:
            found[BOUNDED] = self.bounded.leading(k, self._scale(self.bounded), prove=prove)[0]
        return found

    def _consensus(
        self, k: int, span: NDArray[np.float64], scale: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the k leading directions (k, d) of the power mean of the parts, within a span."""
        power = np.zeros((len(span), len(span)))
        for part in self.parts:
            if part.weight > 0.0:
                values, vectors = np.linalg.eigh(part.compress(span, scale) / part.weight)
                root = (vectors * values.clip(min=0.0) ** POWER) @ vectors.T
                power += part.weight / self.weight * root
        return np.linalg.eigh(power)[1].T[::-1][:k] @ span

    def spectrum(self, name: str) -> tuple[NDArray[np.float64], float]:
        scatter = self._scatter(name)
        scale = self._scale(scatter)
        values = np.linalg.eigvalsh(scatter.matrix(scale))
        return values[::-1].clip(min=0.0), scatter.energy(scale)

    def _scatter(self, name: str) -> ExactScatter:
        """Return the scatter that the answer of a candidate is rotated and measured by."""
        return self.bounded if name == BOUNDED else self.whole()

    def captured(self, directions: NDArray[np.float64]) -> tuple[float, float]:
        whole = self.whole()
        scale = self._scale(whole)
        return float(whole.compress(directions, scale).trace()), whole.energy(scale)

    def answer(self, name: str, directions: NDArray[np.float64]) -> Answer:
        scatter = self._scatter(name)
        scale = self._scale(scatter)
        return Answer(
            directions,
            scatter.compress(directions, scale),
            scatter.energy(scale),
            scatter.weight,
            self.typical.centre if name == BOUNDED else scatter.mean,
            scatter.variances(),
            np.ones(self.d) if scale is None else scale,
        )

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self._whole = None
        for scatter in [*self.parts, self.bounded]:
            scatter.fade(factor)
        self.typical.fade(factor)

    def merge(self, other: Self) -> None:
        """Include another stream: its largest parts in the smallest of these."""
        if not self.weight > 0.0:
            self._move(other.parts[0].origin)
        theirs = other.parts
        if self.has_begun or other.has_begun:
            self.begin()
            self.bounded.merge(other.bounded if other.has_begun else other.whole())
        self._whole = None
        while len(self.parts) < len(theirs):
            self.parts.append(self.parts[0].empty())
        ours = sorted(self.parts, key=lambda part: part.weight)
        for mine, its in zip(ours, sorted(theirs, key=lambda part: -part.weight), strict=False):
            mine.merge(its)
        self.typical.merge(other.typical)

    def copy(self) -> Self:
        """Return a copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.parts, twin.bounded = [part.copy() for part in self.parts], self.bounded.copy()
        twin.typical = self.typical.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps: sums about one point, those of the bounded rows last."""
        scatters = [*self.parts, self.bounded] if self.has_begun else self.parts
        upper = np.triu_indices(self.d)
        return {
            "typical": self.typical.state(),
            "has_begun": self.has_begun,
            "origin": self.parts[0].origin,
            "weights": np.array([scatter.weight for scatter in scatters]),
            "totals": np.stack([scatter.total for scatter in scatters]),
            "triangles": np.stack([scatter.squares[upper] for scatter in scatters]),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        vars(self.typical).update(state["typical"])
        upper, scatters = np.triu_indices(self.d), []
        for weight, total, triangle in zip(
            state["weights"], state["totals"], state["triangles"], strict=True
        ):
            scatter = ExactScatter(self.d, self.center)
            scatter.origin, scatter.weight, scatter.total = state["origin"], float(weight), total
            scatter.squares[upper] = triangle
            scatter.squares.T[upper] = triangle
            scatters.append(scatter)
        self.has_begun = state["has_begun"]
        if len(scatters) < 1 + self.has_begun:
            raise ValueError("some of its sums over rows are missing")
        if self.has_begun:
            self.bounded = scatters.pop()
        self.parts, self._whole = scatters, None


class SketchedCandidates(Candidates):
    """Candidates whose second moments are sketches: plain and bounded.

    Parameters
    ----------
    rank : int
        Of the sketches.
    is_sparse : bool
        Whether rows are sparse, so that nothing can be taken off them.
    """

    def __init__(
        self, d: int, center: bool, scale: bool, robust: Any, rank: int, is_sparse: bool
    ) -> None:
        super().__init__(d, center, scale, robust)
        self.is_sparse = is_sparse
        self.plain = SketchedScatter(d, rank, center)
        self.bounded = SketchedScatter(d, rank, center)

    @property
    def weight(self) -> float:
        return self.plain.weight

    @property
    def mean(self) -> NDArray[np.float64]:
        return self.plain.mean

    def chunk(self, rows: Any, weights: NDArray[np.float64]) -> Chunk:
        if self.is_sparse or not self.center:
            return Chunk(rows, weights, np.zeros(self.d))
        return Chunk(rows, weights, self.mean if self.weight > 0.0 else _mean(rows, weights))

    def _add(self, chunk: Chunk, scaled: Chunk, bounded: NDArray[np.float64] | None) -> None:
        self.plain.add(scaled, scaled.weights)
        if bounded is not None:
            self.bounded.add(scaled, bounded)

    def _begin(self) -> None:
        self.bounded = self.plain.copy()

    def _deviations(self) -> NDArray[np.float64]:
        sketch = self.bounded if self.has_begun else self.plain
        return _deviations_of(sketch.columns, sketch.weight)

    def directions(self, k: int, *, prove: bool = False) -> Directions:
        found = {PLAIN: self.plain.leading(k)[0]}
        if self.has_begun:
            found[BOUNDED] = self.bounded.leading(k)[0]
        return found

    def spectrum(self, name: str) -> tuple[NDArray[np.float64], float]:
        sketch = self.bounded if name == BOUNDED else self.plain
        return sketch.leading(sketch.rank)[1], sketch.sum_of_squares

    def captured(self, directions: NDArray[np.float64]) -> tuple[float, float]:
        return float(self.plain.compress(directions).trace()), self.plain.sum_of_squares

    def answer(self, name: str, directions: NDArray[np.float64]) -> Answer:
        sketch = self.bounded if name == BOUNDED else self.plain
        return Answer(
            directions,
            sketch.compress(directions),
            sketch.sum_of_squares,
            sketch.weight,
            self.typical.centre if name == BOUNDED else sketch.mean,
            sketch.columns,
            self._deviations() if self.scale else np.ones(self.d),
        )

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        for part in (self.plain, self.bounded, self.typical):
            part.fade(factor)

    def merge(self, other: Self) -> None:
        """Include another stream."""
        if self.has_begun or other.has_begun:
            self.begin()
        scale = self._deviations() if self.scale and self.weight > 0.0 else None
        if self.has_begun:
            self.bounded.merge(other.bounded if other.has_begun else other.plain, scale)
        self.plain.merge(other.plain, scale)
        self.typical.merge(other.typical)

    def copy(self) -> Self:
        """Return a copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.plain, twin.bounded = self.plain.copy(), self.bounded.copy()
        twin.typical = self.typical.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {
            "typical": self.typical.state(),
            "has_begun": self.has_begun,
            "plain": self.plain.state(),
            "bounded": self.bounded.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        vars(self.typical).update(state["typical"])
        self.has_begun = state["has_begun"]
        vars(self.plain).update(state["plain"])
        vars(self.bounded).update(state["bounded"])


def _mean(rows: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean (d,) of rows; one of them to the last bit where they are all the same."""
    if sparse.issparse(rows):
        return np.asarray(weights @ rows, dtype=np.float64) / weights.sum()
    first = rows[0].astype(np.float64)
    return first + weights @ (rows - first) / weights.sum()


def _deviations_of(squares: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Return deviations (d,) from sums of squares; one where a column is constant."""
    deviations = np.sqrt(squares.clip(min=0.0) / weight)
    return np.where(deviations > 0.0, deviations, 1.0)
