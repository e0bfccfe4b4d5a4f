"""What the algorithms with an iterate share: rule, steps, averaging, rounding."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from onepass import rounding
from onepass.averaging import Average
from onepass.estimators.base import Estimator
from onepass.estimators.plan import CHUNK_ROWS, TRACKED_COLUMNS, Plan, make_plan
from onepass.estimators.rule_learner import RuleLearner
from onepass.estimators.walk import Walk
from onepass.moments import ExactMoment, Moment, SketchedMoment, TrackedMoment
from onepass.rules.rule import Rule
from onepass.schedules import AdaGradNorm, Constant, InverseSqrt, Schedule
from onepass.subspace import Subspace

EXACT_COLUMNS = 256  # up to here the second moment of the rows is kept as a matrix
# Rows, and entries of these, after which variances are known well enough to look at fewer.
THIN_AFTER, THIN_ENTRIES = 512, 2**21
AVERAGED_ROWS = 256  # of a chunk: where an average stands is looked at between chunks only
AVERAGED_SCALE = 16.0  # averaging likes larger steps than the last iterate


class IterateEstimator(Estimator):
    """An estimator whose state is an iterate of one of the paper's algorithms."""

    def _learner_for(self, X: Any) -> RuleLearner:
        d, k = X.shape[1], self.n_components
        if k > d:
            raise ValueError(f"n_components={k} is more than the n_features={d} of X")
        seed = self._seed()
        batch_size = getattr(self, "batch_size", 1)
        averaging = getattr(self, "average", False)
        plan = make_plan(
            X,
            k,
            center=self.center,
            block_size=self.block_size,
            batch_size=batch_size,
            average=averaging,
            chunk_rows=AVERAGED_ROWS if averaging else CHUNK_ROWS,
        )
        average = Average(d, min(d, 2 * k + 16), plan.dtype) if averaging else None
        rule = self._rule(d, np.random.default_rng(seed))
        # Where rows are many numbers, the engine tells in passing how they moved the directions.
        tracking = d > TRACKED_COLUMNS and not plan.is_sparse and not averaging
        walk = Walk(rule, self._schedule(), plan.batch, plan.dtype, average, tracking)
        return RuleLearner(plan, self._second(plan, rule, tracking), walk, seed)

    def _second(self, plan: Plan, rule: Rule, tracking: bool) -> Moment:
        """Return how variances are measured: as well as the cost of the algorithm allows."""
        d, k = plan.d, rule.k
        if d <= EXACT_COLUMNS:
            return ExactMoment(d, self.center, plan.dtype)
        if rule.room(d, 0) <= 2 * k + 1:
            thin_after = max(THIN_AFTER, THIN_ENTRIES // d)
            return TrackedMoment(d, self.center, plan.dtype, None if tracking else thin_after)
        return SketchedMoment(d, min(d, k + 8), self.center, plan.dtype, plan.chunk_rows)

    @abstractmethod
    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        """Return the algorithm for rows of d columns."""

    def _schedule(self) -> Schedule:
        """Return the steps: none to choose."""
        return Constant(1.0)

    def _directions(self, learner: RuleLearner) -> NDArray[np.floating]:
        walk = learner.walk
        iterate = walk.iterate() if walk.average is None else walk.average.value()
        return rounding.top(iterate, walk.rule.k)

    @property
    def subspace_(self) -> Subspace:
        """The current iterate M."""
        return self._settled().walk.iterate()


class SteppingEstimator(IterateEstimator):
    """An iterate estimator that moves by gradient steps."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Estimator._parameter_constraints,
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), Schedule],
        "average": ["boolean"],
    }
    step_size: Any
    average: bool

    def _schedule(self) -> Schedule:
        if isinstance(self.step_size, Schedule):
            return self.step_size
        if self.step_size == "auto":
            return AdaGradNorm(AVERAGED_SCALE if self.average else 1.0)
        return InverseSqrt(float(self.step_size))

    @property
    def average_(self) -> Subspace:
        """The average of the iterates held before each step; only with `average=True`."""
        average = self._settled().walk.average
        if average is None:
            raise AttributeError("average_ is kept only with average=True")
        return average.value()


BATCH_SIZE: list[Any] = [Interval(Integral, 1, None, closed="left")]
