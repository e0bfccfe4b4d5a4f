"""The learner behind `PCA`: candidates on one stream, and progressive validation between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.learning.candidates import (
    BOUNDED,
    CANDIDATES,
    EXACT_COLUMNS,
    PLAIN,
    Answer,
    Candidates,
)
from onepass.learning.captured_share import Captured, Foresight
from onepass.learning.choice import Choice, ProgressiveValidation
from onepass.learning.learner import Learner
from onepass.learning.result import Result, publish
from onepass.learning.row_errors import MOST_DIRECTIONS
from onepass.learning.stream import Stream
from onepass.moments.chunk import Chunk
from onepass.subspace import orthonormal

FIRST_ROWS = 128  # of a stream; chunks stay short while they are not a part of what came before
SHORT_ROWS, NARROW_COLUMNS = 64, 256  # of chunks of few columns, which cost little
MOST_ROWS, WIDE_ROWS, SPARSE_ROWS = 8192, 512, 8192  # of chunks for a matrix, and for a sketch
# Of a chunk of dense rows, for a matrix and for a sketch. From 32 MB on, glibc asks the system for
# new memory each time, which costs time; with wide rows, longer chunks are worth more.
MOST_BYTES, WIDE_BYTES = 3 * 2**23, 2**25
SAMPLED = 4  # of so many chunks, a candidate that is clearly behind learns from one
RANK_ROUNDING = 4 * np.finfo(np.float64).eps  # of the largest variance: below, there is none


@dataclass(frozen=True)
class PCAResult(Result):
    """A result of `PCA`; `mean` and components are in the units of scaled columns.

    Attributes
    ----------
    chosen : Choice
        Which candidate has answered, and why.
    column_variances, scale : ndarray of shape (d,)
        Variances of the columns as they came, and what they were divided by.
    """

    chosen: Choice
    column_variances: NDArray[np.float64]
    scale: NDArray[np.float64]


class PCALearner(Learner):
    """Candidates, the choice between them, and what the choice will capture of new rows.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    n_components : int, float or None
        Their number, the share of the variance to capture, or None for all there are.
    robust : "auto", True or False
        Whether the bounded candidate may answer, must, or must not.
    scale : bool
        Whether columns are divided by their deviations.
    """

    parts = (*Learner.parts, "candidates", "validation", "foresight")

    def __init__(
        self, stream: Stream, n_components: int | float | None, robust: Any, scale: bool
    ) -> None:
        super().__init__(stream)
        self.n_components, self.robust, self.scale = n_components, robust, scale
        self.candidates = Candidates(stream, n_components, scale, robust)
        self.validation, self.foresight = ProgressiveValidation(stream.d), Foresight()
        self.rows_learned = 0
        self.rows = 0.0  # the same, in units of rows that count fully
        self.rows_since = 0.0  # the candidates were asked
        self.rows_asked = 0.0  # that they had learned from then
        self.scored = PLAIN  # whose answer the share captured is about

    @property
    def chunk_rows(self) -> int:
        """The length of the next chunk."""
        d, before = self.stream.d, self.rows_learned
        if d <= NARROW_COLUMNS:
            least, most, share = SHORT_ROWS if before else FIRST_ROWS, MOST_ROWS, 8
        elif d <= EXACT_COLUMNS:
            least, most, share = 2 * FIRST_ROWS, MOST_ROWS, 4
        elif self.stream.is_sparse:
            least, most, share = 8 * FIRST_ROWS, SPARSE_ROWS, 1
        else:
            least, most, share = 2 * FIRST_ROWS, WIDE_ROWS, 4
        if not self.stream.is_sparse:
            size = MOST_BYTES if d <= EXACT_COLUMNS else WIDE_BYTES
            most = min(most, max(FIRST_ROWS, size // (8 * d)))
        doubled = 2 ** max(before // share, 1).bit_length() // 2
        return max(min(doubled, most), min(least, most))

    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        candidates, validation = self.candidates, self.validation
        chunk, scaled = candidates.chunks(rows, weights)
        if not self.rows_learned:
            validation.point = candidates.centre
        points = np.stack([candidates.centre, candidates.plain.mean, validation.point])
        points = (points - chunk.origin) / scaled.scale
        inner = scaled.inner(np.vstack([points, *validation.asked.values()]))
        energies = scaled.distances(points, inner[:, :3])
        errors = np.zeros(len(chunk))
        answered = candidates.divided(chunk, scaled, self.scored) if self.scale else scaled
        if validation.asked:
            errors = self._score(weights, inner[:, 3:], points[:2], energies)
            if answered is not scaled:
                errors = self._errors(answered)
            self.errors.add(errors, weights)
        if self.robust == "auto" and self.rows_learned:
            validation.add_drift(scaled, energies[:, 2])
        begun = candidates.has_begun
        candidates.add(chunk, scaled, energies[:, 0], bounding=not self._spares(len(chunk)))
        self.mean.weight, self.mean.vector = candidates.plain.weight, candidates.plain.mean
        self.rows_learned += len(chunk)
        self.rows += len(chunk)
        self.rows_since += len(chunk)
        if candidates.has_begun > begun or self.rows_since >= self._patience():
            self._ask()
        directions = validation.asked.get(self.scored, np.zeros((0, self.stream.d)))
        if not len(directions) and self.n_components == self.stream.d <= MOST_DIRECTIONS:
            directions = np.eye(self.stream.d)  # as good as any, and nobody was asked
        self.sample.add(rows, errors, directions / answered.scale, self.mean.vector)

    def _spares(self, rows: int) -> bool:
        """Return whether bounding a chunk of so many rows is not worth the time.

        A candidate that is clearly behind learns from a sample of the chunks.
        """
        if not self.candidates.has_begun or self.robust is True:
            return False
        hopeless = self.validation.hopeless(BOUNDED, self._drift())
        return hopeless and bool(self.rows_learned // rows % SAMPLED)

    def _drift(self) -> float:
        """Return how much the stream drifts, in standard errors, where that is an objection.

        With a half-life it is the next rows that matter, and what they say is taken at its word.
        """
        return self.validation.drift if self.stream.half_life is None else 0.0

    def _score(
        self,
        weights: NDArray[np.float64],
        inner: NDArray[np.float64],
        points: NDArray[np.float64],
        energies: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Compare the candidates on rows that none has learned from; return their errors (r,).

        `inner` (r, m k) are the rows' products with the directions of m candidates; `energies`
        (r, 2) are about the robust centre and about the mean, the points (2, d).
        """
        names = list(self.validation.asked)
        along = points @ np.vstack(list(self.validation.asked.values())).T
        centre, mean = (
            ((inner - point) ** 2).reshape(len(inner), len(names), -1).sum(axis=2).T
            for point in along
        )
        if len(names) > 1:
            captured = dict(zip(names, centre, strict=True))
            length = self.candidates.squared_length
            self.validation.add(captured, energies[:, 0], weights, length)
        scored = names.index(self.scored)
        before = self.candidates.plain.weight
        self.foresight.add(weights * mean[scored], weights * energies[:, 1], before)
        errors = energies[:, 1] - mean[scored]
        if self.scored == BOUNDED:  # whose mean is the robust centre
            errors = energies[:, 0] - centre[scored]
        return errors

    def _errors(self, chunk: Chunk) -> NDArray[np.float64]:
        """Return the squared distances (r,) of rows from the subspace, about the plain mean."""
        directions = self.validation.asked[self.scored]
        point = (self.candidates.plain.mean - chunk.origin) / chunk.scale
        inner = chunk.inner(np.vstack([point, directions]))
        inside = ((inner[:, 1:] - directions @ point) ** 2).sum(axis=1)
        return chunk.distances(point[None], inner[:, :1])[:, 0] - inside

    def _patience(self) -> float:
        """Return after how many rows the candidates are asked again.

        Where only the share captured depends on it, that is when the stream has doubled; otherwise
        when it has grown by a quarter, or by enough rows for their eigenvectors to be worth while.
        """
        costly = float(self.stream.d) if self.stream.d <= EXACT_COLUMNS else 0.0
        if not self.candidates.has_begun or not isinstance(self.n_components, int):
            return max(self.rows_asked, costly if self.rows_asked else 0.0)
        return max(0.25 * self.rows_asked, min(2.0 * costly, self.rows_asked))

    def _ask(self) -> None:
        """Ask the candidates for the directions that further rows are scored by."""
        k = self._count(PLAIN)
        if not 0 < k < min(self.rows, self.stream.d):  # nothing to choose, or nothing known yet
            return
        found = self.candidates.directions(k)
        if len(found[PLAIN]) < k:
            return
        captured = {name: self.candidates.captured(found[name])[0] for name in {self.scored, PLAIN}}
        if self.rows_since:
            self.foresight.close(captured[self.scored])
        self.validation.ask(found)
        self.scored = self._choose().name
        if self.scored not in captured:
            captured[self.scored] = self.candidates.captured(found[self.scored])[0]
        self.foresight.ask(self.rows, captured[self.scored])
        self.rows_asked, self.rows_since = self.rows, 0.0

    def _count(self, name: str) -> int:
        """Return how many components a candidate has."""
        if isinstance(self.n_components, int):
            return self.n_components
        sums, energy = self.candidates.spectrum(name)
        sums = sums[sums > RANK_ROUNDING * sums.max(initial=0.0)]
        if self.n_components is None:
            return len(sums)
        enough = np.cumsum(sums) >= self.n_components * energy * (1.0 - RANK_ROUNDING)
        return int(np.argmax(enough)) + 1 if enough.any() else len(sums)

    def _choose(self) -> Choice:
        """Return which candidate to believe."""
        if not self.candidates.has_begun:
            return Choice(PLAIN)
        if self.robust is True:
            return Choice(BOUNDED)
        return self.validation.choose(self._drift())

    def read(self) -> PCAResult:
        chosen, candidates = self._choose(), self.candidates
        k, spanned = max(self._count(chosen.name), 1), True
        if self.n_components is None and candidates.is_exact:  # those without variance as well
            k, spanned = max(min(self.rows_seen, self.stream.d), 1), False
        found = candidates.directions(k, prove=True)[chosen.name]
        directions = np.asarray(orthonormal(found) if len(found) else found, np.float64)
        answer = _rotated(candidates.answer(chosen.name, directions), spanned)
        lost = 1.0 / max(self.rows_seen, 2) if self.stream.center else 0.0
        result = publish(
            answer.directions.astype(self.stream.dtype),
            answer.second,
            answer.energy,
            answer.weight * (1.0 - lost) or 1.0,
            answer.mean / answer.scale,
            self._captured(chosen.name, answer.directions),
        )
        variances = answer.columns / (answer.weight or 1.0)
        return PCAResult(
            **vars(result), chosen=chosen, column_variances=variances, scale=answer.scale
        )

    def _captured(self, name: str, directions: NDArray[np.float64]) -> Captured:
        """Return what directions (k, d) of a candidate will capture of new rows."""
        if len(directions) == self.stream.d:
            return Captured(1.0, 0.0)
        inside, energy = self.candidates.captured(directions)
        foresight = self.foresight.copy()
        if name == self.scored:
            foresight.close(inside)
        return foresight.value(self.rows, inside, energy)

    def fade(self, factor: float) -> None:
        super().fade(factor)
        self.rows *= factor
        self.rows_asked *= factor

    def include(self, other: Self) -> None:
        """Include another stream.

        Moments, evidence and drift add up; centres are weighted as means are, and the typical
        length is that of all rows. Streams whose centres lie apart count as drift. A stream too
        short to have scored any of its rows is scored by the directions of the other one. Both are
        asked again together.
        """
        for learner in (self, other := other.copy()):
            learner._close()
        if other.validation.scored.any():
            self._score_short(self, judge=other)
        else:
            self._score_short(other, judge=self)
        explained = 1.0 / max(self.rows, 1.0) + 1.0 / max(other.rows, 1.0)
        apart = self.candidates.apart(other.candidates)
        self.validation.merge(other.validation, apart, explained)
        self.candidates.merge(other.candidates)
        self.foresight.merge(other.foresight)
        if not self.rows:
            self.validation.point = self.candidates.centre
        self.rows_learned += other.rows_learned
        self.rows += other.rows
        plain = self.candidates.plain
        self.mean.weight, self.mean.vector = plain.weight, plain.mean
        self._ask()

    def _score_short(self, short: Self, judge: Self) -> None:
        """Score the rows of a short stream by the directions that another one was asked for."""
        rows, asked = short.candidates, judge.validation.asked
        if short.validation.scored.any() or len(asked) < 2 or not rows.squared_length > 0.0:
            return
        captured = {
            name: np.array([rows.captured(found, kind)[0] for kind in (BOUNDED, PLAIN)])
            / rows.squared_length
            for name, found in asked.items()
        }
        self.validation.add_merged(captured, rows.plain.weight)

    def _close(self) -> None:
        """End the period that rows are scored in."""
        if self.validation.asked and self.rows_since:
            found = self.candidates.directions(len(self.validation.asked[PLAIN]))
            self.foresight.close(self.candidates.captured(found[self.scored])[0])
            self.rows_since = 0.0

    def curve(self) -> NDArray[np.float64]:
        return self.foresight.curve()

    def state(self) -> dict[str, Any]:
        validation = self.validation.saved()
        drift = validation.pop("drift")
        return {
            **super().state(),
            "candidates": self.candidates.saved(),
            **validation,
            "foresight": self.foresight.saved(),
            "drift": drift,
            **{name: getattr(self, name) for name in COUNTS},
            "scored": CANDIDATES.index(self.scored),
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.candidates.restore(state["candidates"])
        self.validation.restore(state)
        self.foresight.restore(state["foresight"])
        for name in COUNTS:
            setattr(self, name, state[name])
        self.scored = CANDIDATES[state["scored"]]


COUNTS = ("rows_learned", "rows", "rows_since", "rows_asked")


def _rotated(answer: Answer, spanned: bool) -> Answer:
    """Return an answer along its principal directions: those that rows span, or all of them.

    Where rows span none, there is one.
    """
    values, vectors = np.linalg.eigh(answer.second)
    k, d = answer.directions.shape
    varies = values > RANK_ROUNDING * np.sqrt(d) * max(values.max(initial=0.0), 0.0)
    if not varies.any():
        count = 1 if spanned else k
        return answer._replace(directions=np.eye(count, d), second=np.zeros((count, count)))
    values, kept = np.where(varies, values, 0.0), varies | (not spanned)
    turn = vectors[:, kept].T
    return answer._replace(directions=turn @ answer.directions, second=np.diag(values[kept]))
