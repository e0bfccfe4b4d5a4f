"""A learner that moves by a rule: the paper's algorithms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.averaging import Average
from onepass.engine import Engine, Outcome
from onepass.estimators.learner import Learner
from onepass.estimators.plan import Plan
from onepass.frames import Block
from onepass.kernels.orthonormal import orthonormal
from onepass.moments import Moment
from onepass.rules.rule import Rule
from onepass.schedules import Schedule
from onepass.subspace import Subspace


class RuleLearner(Learner):
    """A rule on its way through a stream of rows.

    Parameters
    ----------
    plan : Plan
        How the rows are taken.
    second : Moment
        Of the rows, empty.
    rule : Rule
        The algorithm.
    schedule : Schedule
        Its steps.
    average : Average or None
        Empty, if the iterates are to be averaged.
    seed : int
        For what is random about the results.
    """

    def __init__(
        self,
        plan: Plan,
        second: Moment,
        rule: Rule,
        schedule: Schedule,
        average: Average | None,
        seed: int,
    ) -> None:
        self.rule, self.schedule, self.average, self.seed = rule, schedule, average, seed
        self.state = rule.start(plan.dtype)
        self.steps_taken = 0
        self.gradients = 0.0  # root of the sum of the squared norms of all gradients
        super().__init__(plan, second)

    def _equip(self) -> None:
        super()._equip()
        self._engine = Engine(self.rule, self.plan.batch, self.average is not None)

    def iterate(self) -> Subspace:
        """Return the current iterate M."""
        return self.rule.primal(self.state.copy())

    def merge(self, other: Self) -> None:  # noqa: D102
        together = max(self.steps_taken + other.steps_taken, 1)
        shares = [self.steps_taken / together, other.steps_taken / together]
        self.rule.adopt(other.rule)
        self.state = self.rule.merged([self.state, other.state], shares)
        self.state = Subspace(orthonormal(self.state.basis), self.state.weights, self.state.rest)
        self.steps_taken += other.steps_taken
        self.gradients = float(np.hypot(self.gradients, other.gradients))
        if self.average is not None and other.average is not None:
            self.average.merge(other.average)
        super().merge(other)

    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        before = self.mean.copy()
        self._engine.begin()
        scores = []
        for block in self._blocks(rows, weights):
            leading = self.average.leading(self.rule.k) if self.average else None
            inner = block.inner(leading) if leading is not None else None
            outcome = self._advance(block)
            captured = outcome.captured if inner is None else np.einsum("ij,ij->i", inner, inner)
            scores.append((captured, outcome.energy))
        self.score.add(*(np.concatenate(parts) for parts in zip(*scores, strict=True)))
        self.second.update(rows, weights, before, self.mean, self._held())

    def _advance(self, block: Block) -> Outcome:
        """Learn from a block."""
        outcome = self._engine.advance(self.state, block, self._steps)
        self.state = outcome.state
        self.second.add_energy(float(outcome.energy.sum()))
        if self.average is not None:
            self.average.add(outcome.iterates, 1 if self.plan.batch else len(block))
        return outcome

    def _held(self) -> NDArray[np.floating]:
        leading = self.average.leading(self.rule.k) if self.average else None
        return self.state.basis if leading is None else leading

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        self.gradients *= float(np.sqrt(factor))
        if self.average is not None:
            self.average.fade(factor)

    def _steps(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the next step sizes from the norms of the gradients."""
        count = len(norms)
        number = np.arange(self.steps_taken + 1.0, self.steps_taken + count + 1.0)
        seen = np.empty(count + 1)
        seen[0], seen[1:] = self.gradients, norms
        seen = np.hypot.accumulate(seen)[1:]
        self.steps_taken += count
        self.gradients = float(seen[-1])
        return self.schedule.steps(number, seen, self.rule.diameter())
