"""The learner behind `PCA`: several experts on one stream, and progressive validation between them.

The incumbent is the second moment of the rows, at the level of batch PCA. The challengers are
averages of mini-batch Capped MSG iterates: every batch moves these by a bounded amount, so that a
few huge rows cannot carry them away. How large the steps should be depends on what is huge: bold
steps forget the size of rows, gentle ones are next to the second moment. All see the same chunks
and the same mean.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.batch_strides import stride
from onepass.estimators.captured import scores_from
from onepass.estimators.challenger import Challenger
from onepass.estimators.checking import check_spread
from onepass.estimators.chunk_rows import ChunkRows
from onepass.estimators.learner import Learner
from onepass.estimators.measuring import Measured, measure_dense, measure_sparse
from onepass.estimators.plan import Plan
from onepass.estimators.published import principal
from onepass.estimators.validation import DRIFTING, Drift, Expert
from onepass.estimators.walk import Walk
from onepass.moments import Mean, WholeMoment

ASK_AFTER = 1.25  # growth of the stream after which all experts are asked anew
ROUNDING = (8 * np.finfo(float).eps) ** 2  # of what is left of energies about a far mean
AT_FIRST = 4  # times that directions are sought when there are none to start from
BESIDE = 8  # directions beside the leading ones that are searched, so that these are found soon


class PCALearner(Learner):
    """Second moment and averaged Capped MSG of the same rows.

    Parameters
    ----------
    plan : Plan
        How the rows are taken.
    second : WholeMoment
        The incumbent, empty.
    challengers : list of Challenger
        At their beginning, for the same number of directions.
    """

    notices = True
    second: WholeMoment

    def __init__(self, plan: Plan, second: WholeMoment, challengers: list[Challenger]) -> None:
        self.challengers = challengers
        self.k = challengers[0].walk.rule.k
        self.chunks = 0  # seen, in chunks of the first size
        self.drift = Drift()
        self.asked = 0.0  # the weight of the rows when the experts were asked
        self.answers: list[NDArray[np.floating]] = []  # then: of the incumbent, the challengers
        self.searched: NDArray[np.floating] = np.zeros((0, plan.d))  # where to look next time
        super().__init__(plan, second)

    @property
    def walks(self) -> list[Walk]:
        """Those of the challengers."""
        return [challenger.walk for challenger in self.challengers]

    def verdict(self) -> Expert:
        """Return which expert to believe."""
        best = self._best()
        return Expert(
            "average" if self._believes() else "sketch",
            best.validation.evidence,
            len(best.validation.segments),
            self.drift.size,
            best.step_scale,
        )

    def directions(self, expert: str | None = None) -> NDArray[np.floating]:
        """Return the directions of an expert, or of the one to believe: (at most k, d)."""
        incumbent = self.second.spanned(self.k)
        if len(incumbent) < self.k:  # too few rows for anything to be compared
            return incumbent
        name = expert or self.verdict().name
        return incumbent if name == "sketch" else self._best().directions()

    def merge(self, other: Self) -> None:  # noqa: D102
        between = self.mean.between(other.mean)
        scores = [*self._scores_on(other), *other._scores_on(self)]
        self.chunks += other.chunks
        self.drift.merge(other.drift)
        for ours, theirs in zip(self.challengers, other.challengers, strict=True):
            ours.merge(theirs)
        for which, *score in scores:
            self.challengers[which].validation.add_apart(*score)
        super().merge(other)
        self._ask()
        if self.plan.center and self.answers:
            self._validate_between(between)

    def _best(self) -> Challenger:
        """Return the challenger to ask: one that lasts, and the one that gained most.

        Once any of them convinces, the question is no longer whether to believe their kind.
        """
        return max(self.challengers, key=lambda c: (c.validation.lasting(), c.validation.gain))

    def _believes(self) -> bool:
        """Whether the best challenger is to be believed."""
        convincing = any(c.validation.convincing() for c in self.challengers)
        return convincing and self.drift.size < DRIFTING

    def _believed(self) -> int:
        """Return the number of the expert to believe: the incumbent is 0."""
        return 1 + self.challengers.index(self._best()) if self._believes() else 0

    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        before, known = self.mean.copy(), self.second.energy
        origin = self._origin(rows, weights, before)
        # Answers that come from another stream are of no use before there is a mean.
        scored = self._scored(len(weights)) if before.weight > 0.0 else []
        measured = self._measured(rows, weights, origin, scored)
        shift, shifted, energy = measured.shift, measured.shifted, measured.energy
        if not np.isfinite(energy):
            raise FloatingPointError("A row is not finite, or too large")
        added = float(len(weights)) if shifted.alike else float(weights.sum())
        if self.plan.center:
            self.mean.move(shift, shifted.total, added)
        else:
            self.mean.weight += added
        moved = self.mean.vector - origin
        scatter = energy - self.mean.weight * float(moved @ moved)
        check_spread(known + scatter, self.mean.weight, rows, self.plan.center)
        self.second.add_energy(scatter)
        chunk = ChunkRows.about(rows, shift, shifted.rows, self.mean.vector, weights)
        self._challenge(chunk)
        if not self.plan.is_sparse or self._differ(scatter, added):
            self.second.update(rows, weights, before, self.mean, shifted=shifted)
        if scored:
            self._validate(scored, measured, len(weights))
        if before.weight == 0.0:
            self.score.add(*scores_from(chunk.products, weights, self.k, self.plan.center))
        if self.plan.center and before.weight > 0.0:
            self.drift.add(self.mean.vector - before.vector)
        seen = self.chunks
        self.chunks += self._counted(rows.shape[0])
        if self.mean.weight >= ASK_AFTER * self.asked:
            self._ask()
        if self.chunks.bit_length() > seen.bit_length() and self.answers:
            self.anchors = principal(self, self.answers[self._believed()])

    def _differ(self, scatter: float, added: float) -> bool:
        """Whether rows of some weight are not all the mean, but for the rounding of a far one."""
        return bool(scatter > ROUNDING * added * float(self.mean.vector @ self.mean.vector))

    def _chunk_rows(self) -> int:
        return self.plan.rows_after(self.chunks)

    def _challenge(self, chunk: ChunkRows) -> None:
        """Let challengers learn from those rows of a chunk that are worth the time."""
        size, first = self.plan.chunk_rows, self.chunks
        numbers = range(first, first + self._counted(len(chunk)))
        lessons = [challenger.lessons(numbers) for challenger in self.challengers]
        for number in sorted(set().union(*lessons)):
            start = (number - first) * size
            busy = [
                challenger.walk
                for challenger, taken in zip(self.challengers, lessons, strict=True)
                if number in taken
            ]
            stride(busy, chunk.part(start, start + size), self.plan.block_rows)

    def _counted(self, rows: int) -> int:
        """Return as how many chunks some rows count."""
        return -(-rows // self.plan.chunk_rows)

    def _origin(self, rows: Any, weights: NDArray[np.float64], mean: Mean) -> NDArray[np.float64]:
        """Return what rows are measured from: the mean before them, or their own if there is none.

        That is found by way of one of them, so that rows that are all the same leave nothing.
        """
        if not self.plan.center or mean.weight > 0.0:
            return mean.vector
        if self.plan.is_sparse:
            return weights @ rows / weights.sum()
        first = rows[0].astype(np.float64)
        return first + weights @ (rows - first) / weights.sum()

    def _measured(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        origin: NDArray[np.float64],
        scored: list[int],
    ) -> Measured:
        """Measure rows from an origin (d,), and what the answers of some experts capture of them.

        The score gets to know it of the one to believe. Squares of the rows are added to the second
        moment where that is one of squares.
        """
        groups = [self.answers[expert] for expert in scored]
        believed = scored.index(self._believed()) if scored else 0
        if self.plan.is_sparse:
            return measure_sparse(rows, weights, origin, groups, self.score, believed)
        squares = self.second.squares
        return measure_dense(rows, weights, origin, groups, self.score, believed, squares)

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        self.drift.fade(factor)
        for challenger in self.challengers:
            challenger.fade(factor)
        self.asked *= factor

    def _scored(self, rows: int) -> list[int]:
        """Return the numbers of the experts that it is worth the time to score on so many rows."""
        if not self.answers:
            return []
        number = self.chunks * self.plan.chunk_rows // rows
        return [0, *(i for i, c in enumerate(self.challengers, 1) if c.scored_on(number))]

    def _validate(self, scored: list[int], measured: Measured, rows: int) -> None:
        """Compare some experts on so many rows that they had not seen."""
        chunks = max(1.0, rows / self.plan.chunk_rows)
        incumbent, *others = measured.captured.tolist()
        for expert, ours in zip(scored[1:], others, strict=True):
            validation = self.challengers[expert - 1].validation
            validation.add(ours - incumbent, measured.energy, self.chunks, chunks)

    def _scores_on(self, other: PCALearner) -> list[tuple[int, float, float, float, int]]:
        """Score all answers on the rows of another stream, which they have not seen.

        Returns which challenger it is, what it captured beyond the incumbent, of what energy, how
        much that counts, and how many chunks it was scored on. What has learned from few rows is
        not scored on more; and one score of many chunks is one look, which counts less.
        """
        incumbent, *others = (
            float(np.trace(other.second.compress(answer.astype(np.float64), other.mean)))
            for answer in self.answers or [np.zeros((0, self.plan.d))]
        )
        chunks = min(self.chunks, other.chunks)
        share, counts = chunks / max(other.chunks, 1), float(np.sqrt(self.chunks / max(chunks, 1)))
        energy = share * other.second.energy
        return [
            (which, share * (ours - incumbent), energy, counts, chunks)
            for which, ours in enumerate(others)
        ]

    def _validate_between(self, between: NDArray[np.float64]) -> None:
        """Score all answers on how two streams' means differ, which no iterate has seen.

        If the streams are alike, that is as much energy as one row has, and decides nothing.
        """
        incumbent, *others = (float(np.sum((answer @ between) ** 2)) for answer in self.answers)
        chunk = self.plan.chunk_rows * self.second.energy / max(self.mean.weight, 1.0)
        energy = max(float(between @ between), chunk)
        for challenger, ours in zip(self.challengers, others, strict=True):
            challenger.validation.add_apart(ours - incumbent, energy, self.chunks)

    def _ask(self) -> None:
        """Ask all experts for their directions, to score further rows by."""
        self.asked = self.mean.weight
        wanted = min(self.k + BESIDE, self.plan.d)
        start = self.searched
        if len(start) < wanted:
            start = np.random.default_rng(0).normal(size=(wanted, self.plan.d))
            for _ in range(AT_FIRST):
                start = self.second.leading(wanted, start)[0]
        self.searched = self.second.spanned(wanted, start)
        self.answers = []
        if len(self.searched) >= self.k:
            self.answers = [self.searched[: self.k], *(c.ask() for c in self.challengers)]
