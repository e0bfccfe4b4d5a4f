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

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.learning.stream import Stream
from onepass.moments.accumulator import Accumulator
from onepass.moments.chunk import Chunk
from onepass.moments.scatter import ExactScatter, Scale
from onepass.moments.sketched import SketchedScatter

CANDIDATES = PLAIN, CONSENSUS, BOUNDED = "plain", "consensus", "bounded"
Directions = dict[str, NDArray[np.float64]]

EXACT_COLUMNS = 2048  # up to which the second moment is a matrix
PARTED_COLUMNS = 1024  # up to which four matrices are kept, for the consensus
PARTS = 4
MOST_COMPONENTS = 64  # of a sketch, where their number is to be found
LEAST_RANK = 176  # of a sketch of dense rows
UNEVEN = 1.25  # mean squared energy over squared mean energy: 1 for rows of one length
ROBUST_STEPS = 30  # of Weiszfeld's iteration for the centre of the first rows
LEAST_LENGTH = 0.1  # of the typical one: closer to the centre, rows do not count more
LARGEST_RATIO = 1e100  # of energies, so that their squares stay finite


def rank_for(stream: Stream, n_components: int | float | None) -> int:
    """Return the rank of the sketches of a stream.

    Dense rows have noise everywhere, of which the sketch has to hold much to average it. Sparse
    rows have little, and their sketch is costlier than they are: docs/benchmarks.md has both
    measured.
    """
    d, k = stream.d, n_components if isinstance(n_components, int) else MOST_COMPONENTS
    if stream.is_sparse:
        return min(d, 2 * k + 24)
    return min(d, max(3 * k + 24, LEAST_RANK))


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


class Candidates(Accumulator):
    """What all candidates have learned from the same rows.

    Beside the second moments of the rows, plain and bounded, these are a centre and a length that a
    few rows cannot move, however large they are. The centre is a running mean of the rows with
    weights 1 / |x - centre|, which for one batch is Weiszfeld's iteration for the spatial median.
    The squared length is the power mean ``mean(e^(1/4))^4`` of the rows' energies
    e = |x - centre|^2.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    n_components : int, float or None
        As in `PCA`.
    scale : bool
        Whether columns are divided by their deviations.
    robust : "auto", True or False
        Whether the bounded candidate begins where rows are uneven, at once, or never.

    Attributes
    ----------
    plain, bounded : ExactScatter or SketchedScatter
    has_begun : bool
        Whether consensus and bounded have.
    centre : ndarray of shape (d,)
    sums : ndarray of shape (4,)
        Of w, w e^(1/4), w e and w e^2 over the rows, with energies in units of `unit`.
    """

    fading = ("sums", "centre_weight")
    changed = ("plain", "bounded")
    plain: Any
    bounded: Any

    def __init__(
        self, stream: Stream, n_components: int | float | None, scale: bool, robust: Any
    ) -> None:
        self.stream, self.scale, self.robust = stream, scale, robust
        self.has_begun = False
        if self.is_exact:
            self.plain = ExactScatter(stream.d, stream.center)
            self.bounded = ExactScatter(0, stream.center)
        else:
            rank = rank_for(stream, n_components)
            self.plain = SketchedScatter(stream.d, rank, stream.center)
            self.bounded = self.plain.copy()
        self.centre: NDArray[np.float64] = np.zeros(stream.d)
        self.centre_weight = 0.0
        self.unit = 0.0
        self.sums: NDArray[np.float64] = np.zeros(4)

    @property
    def is_exact(self) -> bool:
        """Whether second moments are matrices."""
        return self.stream.d <= EXACT_COLUMNS

    @property
    def squared_length(self) -> float:
        """The typical energy of a row."""
        return self.unit * float(self.sums[1] / max(self.sums[0], 1e-300)) ** 4

    def chunks(self, rows: Any, weights: NDArray[np.float64]) -> tuple[Chunk, Chunk]:
        """Return rows (r, d) about a point that is near to them, as they are and scaled.

        The robust centre is found from the first ones.
        """
        origin = np.zeros(self.stream.d)
        if self.stream.center and (self.is_exact or not self.stream.is_sparse):
            origin = self.plain.near() if self.plain.weight > 0.0 else _mean(rows, weights)
        chunk = scaled = Chunk(rows, weights, origin)
        if self.scale and self.plain.weight > 0.0:
            scaled = chunk.divided(self._deviations())
        elif self.scale:
            shares = weights / weights.sum()
            squares = chunk.column_squares(shares) - chunk.combine(shares[None])[0] ** 2
            scaled = chunk.divided(_deviations_of(squares, 1.0))
        if self.robust is not False and self.stream.center and not self.sums[0]:
            self._find_centre(scaled)
        return chunk, scaled

    def _find_centre(self, chunk: Chunk) -> None:
        """Find the centre of the first rows from their Gram matrix."""
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
        self.centre = chunk.origin + chunk.scale * chunk.combine(shares[None])[0]

    def add(
        self, chunk: Chunk, scaled: Chunk, energies: NDArray[np.float64], *, bounding: bool = True
    ) -> None:
        """Learn from a chunk, whose scaled rows have these energies (r,) about the centre.

        Without `bounding`, the bounded candidate leaves it out.
        """
        if self.robust is not False:
            self._add_to_centre(scaled, energies)
            weight, _, energy, square = self.sums
            uneven = energy > 0.0 and weight * square > UNEVEN * energy**2
            if not self.has_begun and (self.robust is True or uneven):
                self.begin()
        learned = chunk if self.is_exact else scaled
        self.plain.add(learned, chunk.weights)
        if self.has_begun and bounding:
            length = self.squared_length
            bounds = length / np.maximum(energies, max(length, 1e-300))
            self.bounded.add(learned, chunk.weights * bounds)

    def _add_to_centre(self, chunk: Chunk, energies: NDArray[np.float64]) -> None:
        """Include rows with these energies (r,) in the robust centre and length."""
        weights = chunk.weights
        if not self.unit:
            self.unit = float(np.median(energies)) or float(energies.max(initial=0.0))
        if not self.unit:
            self.sums = self.sums + [float(weights.sum()), 0.0, 0.0, 0.0]
            return
        ratio = np.minimum(energies / self.unit, LARGEST_RATIO)
        powers = np.stack([np.ones(len(ratio)), ratio**0.25, ratio, ratio * ratio])
        self.sums = self.sums + powers @ weights
        if self.stream.center:
            least = LEAST_LENGTH**2 * self.squared_length
            pull = weights / np.sqrt(np.maximum(energies, max(least, 1e-300)))
            added = float(pull.sum())
            point = (self.centre - chunk.origin) / chunk.scale
            step = chunk.combine(pull[None])[0] - added * point
            self.centre_weight += added
            self.centre = self.centre + chunk.scale * step / self.centre_weight

    def begin(self) -> None:
        """Begin consensus and bounded from what was learned of rows that were even."""
        if not self.has_begun:
            self.has_begun = True
            self.bounded = self.plain.joined()
            if self.robust is not True and self.stream.d <= PARTED_COLUMNS:
                self.plain.split(PARTS)

    def directions(self, k: int, *, prove: bool = False) -> Directions:
        """Return k directions (k, d) of every candidate that has begun, or the fewer there are."""
        scale = self._scale_of(self.plain)
        parted = self.is_exact and len(self.plain.parts) == PARTS
        wanted = min(self.stream.d, 3 * k + 24) if parted else k
        span = self.plain.leading(wanted, scale, prove=prove)[0]
        found = {PLAIN: span[:k]}
        if parted:
            found[CONSENSUS] = self.plain.consensus(k, span, scale)
        if self.has_begun:
            scale = self._scale_of(self.bounded)
            found[BOUNDED] = self.bounded.leading(k, scale, prove=prove)[0]
        return found

    def spectrum(self, name: str) -> tuple[NDArray[np.float64], float]:
        """Return the sums of squares along all directions, descending, and all of the energy."""
        scatter = self._scatter(name)
        scale = self._scale_of(scatter)
        return scatter.spectrum(scale), scatter.energy(scale)

    def captured(self, directions: NDArray[np.float64], name: str = PLAIN) -> tuple[float, float]:
        """Return the energy of all rows so far along directions (k, d), and all of their energy.

        The rows are weighed as a candidate weighs them; before it has begun, as they are.
        """
        scatter = self._scatter(name)
        scale = self._scale_of(scatter)
        inside = float(scatter.compress(directions, scale).trace())
        return inside, scatter.energy(scale)

    def divided(self, chunk: Chunk, scaled: Chunk, name: str) -> Chunk:
        """Return a chunk with its columns divided as for the answer of a candidate.

        `scaled` is the chunk as candidates are compared on it.
        """
        scatter = self._scatter(name)
        if not self.is_exact or scatter is self._scatter(BOUNDED):
            return scaled
        return chunk.divided(_deviations_of(scatter.variances(), scatter.weight))

    def answer(self, name: str, directions: NDArray[np.float64]) -> Answer:
        """Return what a candidate answers with, given its directions (k, d)."""
        scatter = self._scatter(name)
        scale = self._scale_of(scatter)
        return Answer(
            directions,
            scatter.compress(directions, scale),
            scatter.energy(scale),
            scatter.weight,
            self.centre if name == BOUNDED else scatter.mean,
            scatter.variances(),
            np.ones(self.stream.d) if scale is None else scale,
        )

    def _scatter(self, name: str) -> Any:
        """Return the scatter that the answer of a candidate is rotated and measured by."""
        return self.bounded if name == BOUNDED and self.has_begun else self.plain

    def _deviations(self) -> NDArray[np.float64]:
        """Return the deviations (d,) that columns are divided by where candidates are compared."""
        scatter = self._scatter(BOUNDED)
        return _deviations_of(scatter.variances(), scatter.weight)

    def _scale_of(self, scatter: Any) -> Scale:
        """Return what the columns of a scatter are divided by; a sketch's were when they came."""
        if not self.scale:
            return None
        if not self.is_exact:
            return self._deviations()
        return _deviations_of(scatter.variances(), scatter.weight)

    def fade(self, factor: float) -> None:
        super().fade(factor)
        self.plain.fade(factor)
        self.bounded.fade(factor)

    def apart(self, other: Self) -> float:
        """Return the squared distance to the centre of another one, in units of typical energy."""
        typical = max(self.squared_length, other.squared_length)
        if not self.stream.center or not min(self.sums[0], other.sums[0]) > 0.0 or not typical:
            return 0.0
        step = other.centre - self.centre
        if self.scale:
            step = step / self._deviations()
        return float(step @ step) / typical

    def merge(self, other: Self) -> None:
        """Include another stream: centres are weighted as running means are."""
        if self.has_begun or other.has_begun:
            self.begin()
        scale = self._deviations() if self.scale and self.plain.weight > 0.0 else None
        if self.has_begun:
            bounded = other.bounded if other.has_begun else other.plain.joined()
            self.bounded.merge(bounded, scale)
        self.plain.merge(other.plain, scale)
        self.unit = self.unit or other.unit
        ratio = other.unit / self.unit if self.unit else 0.0
        self.sums = self.sums + other.sums * np.array([1.0, ratio**0.25, ratio, ratio * ratio])
        together = self.centre_weight + other.centre_weight
        if together > 0.0:
            share = other.centre_weight / together
            self.centre = self.centre + share * (other.centre - self.centre)
        self.centre_weight = together

    def saved(self) -> dict[str, Any]:
        """Return what a model file keeps; sums of the bounded rows are the last of all parts."""
        typical = {name: getattr(self, name) for name in TYPICAL}
        state = {"typical": typical, "has_begun": self.has_begun}
        if not self.is_exact:
            return {**state, "plain": self.plain.saved(), "bounded": self.bounded.saved()}
        sums = self.plain.saved()
        if self.has_begun:
            bounded = self.bounded.copy()
            bounded.move(self.plain.origin)
            sums |= {
                name: np.concatenate([sums[name], value])
                for name, value in bounded.saved().items()
                if name != "origin"
            }
        return {**state, **sums}

    def restore(self, state: dict[str, Any]) -> None:
        vars(self).update(state["typical"])
        self.has_begun = state["has_begun"]
        if not self.is_exact:
            self.plain.restore(state["plain"])
            self.bounded.restore(state["bounded"])
            return
        parts = len(state["weights"]) - self.has_begun
        if parts < 1:
            raise ValueError("some of its sums over rows are missing")
        sums = {name: state[name] for name in ("weights", "totals", "triangles")}
        for scatter, kept in (self.plain, slice(0, parts)), (self.bounded, slice(parts, None)):
            if scatter is self.plain or self.has_begun:
                scatter.d = self.stream.d
                taken = {name: value[kept] for name, value in sums.items()}
                scatter.restore({"origin": state["origin"], **taken})


TYPICAL = ("centre", "centre_weight", "unit", "sums")


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
