"""The learner behind `PCA`: two experts on one stream, and progressive validation between them.

The incumbent is the second moment of the rows, at the level of batch PCA. The challenger is the
average of mini-batch Capped MSG iterates: every batch moves it by a bounded amount, so that a few
huge rows cannot carry it away. Both see the same chunks and the same mean.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass import rounding
from onepass.averaging import Average
from onepass.estimators.plan import Plan
from onepass.estimators.published import publish
from onepass.estimators.rule_learner import RuleLearner
from onepass.estimators.validation import Validation
from onepass.moments import Mean, WholeMoment
from onepass.rules.rule import Rule
from onepass.schedules import Schedule

SELDOM = 8  # a challenger that is worse beyond doubt learns from every so many chunks only
ASK_AFTER = 1.15  # growth of the stream after which both experts are asked anew
AT_FIRST = 4  # times that directions are sought when there are none to start from
BESIDE = 8  # directions beside the leading ones that are searched, so that these are found soon


def row_energies(rows: Any) -> NDArray[np.float64]:
    """Return the squared norms (b,) of rows, dense or sparse."""
    if issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


class PCALearner(RuleLearner):
    """Second moment and averaged Capped MSG of the same rows.

    Parameters
    ----------
    plan : Plan
        How the rows are taken.
    second : WholeMoment
        The incumbent, empty.
    rule : Rule
        The challenger's algorithm.
    schedule : Schedule
        Its steps.
    average : Average
        Of its iterates, empty.
    """

    second: WholeMoment
    average: Average

    def __init__(
        self,
        plan: Plan,
        second: WholeMoment,
        rule: Rule,
        schedule: Schedule,
        average: Average,
    ) -> None:
        self.validation = Validation()
        self.asked = 0.0  # the weight of the rows when the experts were asked
        self.answers: list[NDArray[np.floating]] = []  # then: incumbent, challenger
        self.searched: NDArray[np.floating] = np.zeros((0, plan.d))  # where to look next time
        super().__init__(plan, second, rule, schedule, average, seed=0)

    def directions(self, expert: str | None = None) -> NDArray[np.floating]:
        """Return the directions of an expert, or of the one to believe: (at most k, d)."""
        incumbent = self.second.spanned(self.rule.k)
        if len(incumbent) < self.rule.k:  # too few rows for anything to be compared
            return incumbent
        name = expert or self.validation.verdict().name
        return incumbent if name == "sketch" else rounding.top(self.average.value(), self.rule.k)

    def merge(self, other: Self) -> None:  # noqa: D102
        between = self.mean.between(other.mean)
        self.validation.merge(other.validation)
        super().merge(other)
        self._ask()
        if self.plan.center and self.answers:
            self._validate_between(between)

    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        before = self.mean.copy()
        # Answers that come from another stream are of no use before there is a mean.
        answers = self.answers if before.weight > 0.0 else []
        captured = [self._captured(answer, rows, weights, before) for answer in answers]
        passed_by = self.validation.hopeless() and self.validation.chunks % SELDOM
        energy = np.zeros(0)
        if captured or passed_by:
            shifted = self._shifted(rows, before)
            energy = weights * self._energies(rows, shifted, before)
        if passed_by:
            self._pass_by(rows, shifted, weights, float(energy.sum()))
        else:
            self._engine.begin()
            for block in self._blocks(rows, weights):
                self._advance(block)
        self.second.update(rows, weights, before, self.mean)
        if captured:
            self._validate(captured, energy)
        if self.plan.center and before.weight > 0.0:
            self.validation.resemble(self.mean.vector - before.vector)
        self.validation.chunks += 1
        if self.mean.weight >= ASK_AFTER * self.asked:
            self._ask()
        power_of_two = self.validation.chunks & (self.validation.chunks - 1) == 0
        if power_of_two and self.answers:
            believed = self.answers[self.validation.verdict().name == "average"]
            self.anchors = publish(self, believed).components

    def _shifted(self, rows: Any, mean: Mean) -> Any:
        """Return rows minus a mean; sparse rows as they are."""
        return rows - mean.vector if self.plan.center and not self.plan.is_sparse else rows

    def _energies(self, rows: Any, shifted: Any, mean: Mean) -> NDArray[np.float64]:
        """Return the squared distances (b,) of rows to a mean."""
        energies = row_energies(shifted)
        if self.plan.center and self.plan.is_sparse:
            inner = rows @ mean.vector
            return np.maximum(energies - 2 * inner + mean.vector @ mean.vector, 0.0)
        return energies

    def _pass_by(self, rows: Any, shifted: Any, weights: NDArray, energy: float) -> None:
        """Let the challenger miss a chunk of some energy: only mean and energy come along."""
        before = self.mean.copy()
        if not self.plan.center:
            self.mean.weight += float(weights.sum())
        elif self.plan.is_sparse:
            self.mean.update(0.0, rows, weights)
        else:
            self.mean.update(before.vector, shifted, weights)
        moved = self.mean.vector - before.vector
        self.second.add_energy(energy - self.mean.weight * float(moved @ moved))

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        self.validation.fade(factor)
        self.asked *= factor

    def _captured(
        self, answer: NDArray, rows: Any, weights: NDArray[np.float64], mean: Mean
    ) -> NDArray[np.float64]:
        """Return the energies (b,) of rows in the directions of an answer."""
        inner = np.asarray(rows @ answer.T, dtype=np.float64) - answer @ mean.vector
        return weights * np.einsum("ij,ij->i", inner, inner)

    def _validate(self, captured: list[NDArray], energy: NDArray[np.float64]) -> None:
        """Score both answers on rows that they had not seen."""
        incumbent, challenger = captured
        believed = challenger if self.validation.verdict().name == "average" else incumbent
        self.score.add(np.minimum(believed, energy), energy)
        self.validation.add(float((challenger - incumbent).sum()), float(energy.sum()))

    def _validate_between(self, between: NDArray[np.float64]) -> None:
        """Score both answers on how two streams' means differ, which no iterate has seen.

        If the streams are alike, that is as much energy as one row has, and decides nothing.
        """
        incumbent, challenger = (answer @ between for answer in self.answers)
        chunk = self.plan.chunk_rows * self.second.energy / max(self.mean.weight, 1.0)
        gain = float(challenger @ challenger - incumbent @ incumbent)
        self.validation.add(gain, max(float(between @ between), chunk))

    def _ask(self) -> None:
        """Ask both experts for their directions, to score further rows by."""
        self.asked = self.mean.weight
        k = self.rule.k
        wanted = min(k + BESIDE, self.plan.d)
        start = self.searched
        if len(start) < wanted:
            start = np.random.default_rng(0).normal(size=(wanted, self.plan.d))
            for _ in range(AT_FIRST):
                start = self.second.leading(wanted, start)[0]
        self.searched = self.second.spanned(wanted, start)
        self.answers = []
        if len(self.searched) >= k:
            self.answers = [self.searched[:k], rounding.top(self.average.value(), k)]
