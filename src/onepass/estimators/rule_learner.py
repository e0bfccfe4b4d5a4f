"""A learner that moves by a rule: the paper's algorithms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.learner import Learner
from onepass.estimators.plan import Plan
from onepass.estimators.walk import Walk
from onepass.moments import Moment


class RuleLearner(Learner):
    """One walk through the rows, and the variances along its directions.

    Parameters
    ----------
    plan : Plan
        How the rows are taken.
    second : Moment
        Of the rows, empty.
    walk : Walk
        At its beginning.
    seed : int
        For what is random about the results.
    """

    notices = True

    def __init__(self, plan: Plan, second: Moment, walk: Walk, seed: int) -> None:
        self.walks = [walk]
        self.seed = seed
        super().__init__(plan, second)

    @property
    def walk(self) -> Walk:
        """The only walk."""
        return self.walks[0]

    def merge(self, other: Self) -> None:  # noqa: D102
        self.walk.merge(other.walk)
        super().merge(other)

    def _held(self) -> NDArray[np.floating]:
        return self.walk.held()

    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        before, walk = self.mean.copy(), self.walk
        average, k = walk.average, walk.rule.k
        walk.begin()
        scores = []
        stride_rows = walk.stride_rows(self.plan.is_sparse)
        for block in self._blocks(rows, weights, stride_rows or None):
            if stride_rows:
                outcomes, inner = walk.stride(block, self.plan.block_rows), None
            else:
                leading = None if average is None else average.leading(k)
                inner = None if leading is None else block.inner(leading)
                outcomes = [walk.advance(block)]
            for outcome in outcomes:
                for motion in outcome.motions:
                    self.second.follow(*motion)
                captured = outcome.captured
                if inner is not None:
                    captured = np.einsum("ij,ij->i", inner, inner)
                scores.append((captured, outcome.energy))
        captured, energy = (np.concatenate(parts) for parts in zip(*scores, strict=True))
        self.score.add(captured, energy)
        self.second.add_energy(float(energy.sum()), float(captured.sum()))
        self.second.update(rows, weights, before, self.mean, self._held())

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        self.walk.fade(factor)
