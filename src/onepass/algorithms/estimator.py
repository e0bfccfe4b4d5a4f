"""What the estimators of the paper's algorithms have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from onepass.algorithms.averaging import Average
from onepass.algorithms.learner import SolverLearner
from onepass.algorithms.rule import Rule
from onepass.algorithms.solver import Solver
from onepass.estimators.calls import Estimator
from onepass.estimators.parameters import check_bool, check_option, check_whole, component_count
from onepass.model import Model
from onepass.schedules import AdaGradNorm, InverseSqrt, Schedule, is_positive
from onepass.stream import Stream
from onepass.subspace import Subspace, orthonormal

# Share by which newer rows have more or less along the components than older ones: a few per cent
# where directions have converged, see `DirectionalMoment`.
NOT_CONVERGED = 0.05
STILL_TURNING = (
    "the components were still turning at the last rows, so explained_variance_ is not reliable: "
    "pass more rows, or use PCA"
)
# Directions of an average, for each component and besides: iterates turn, and their sum has more.
AVERAGE_FACTOR, AVERAGE_MORE = 2, 16


class Iterative(Estimator):
    """An estimator whose state is an iterate of one of the paper's algorithms."""

    # Of automatic steps if iterates are averaged: averages do better with larger ones.
    averaged_scale: ClassVar[float] = 16.0
    # Values for algorithms without such a parameter.
    step_size: float | str | Schedule = 1.0
    batch_size: int = 1
    average: bool = False
    trace: str = "at_most"
    rounding: Literal["top", "sample"] = "top"
    max_rank: int | str | None = None

    @abstractmethod
    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        """Return the algorithm for rows of d columns."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("batch_size", self.batch_size)
        check_bool("average", self.average)
        check_option("trace", self.trace, ["at_most", "exact"])
        check_option("rounding", self.rounding, ["top", "sample"])
        step = self.step_size
        is_auto = isinstance(step, str) and step == "auto"
        if not (is_auto or isinstance(step, Schedule) or is_positive(step)):
            raise ValueError(
                f'step_size must be "auto", a positive number or a Schedule, got {step!r}'
            )
        if self.max_rank is not None and self.max_rank != "auto":
            check_whole("max_rank", self.max_rank, least=self.n_components)

    def _schedule(self) -> Schedule:
        """Return the step sizes."""
        if isinstance(self.step_size, Schedule):
            return self.step_size
        if isinstance(self.step_size, str):
            return AdaGradNorm(self.averaged_scale if self.average else 1.0)
        return InverseSqrt(float(self.step_size))

    def _learner_for(self, stream: Stream) -> SolverLearner:
        d = stream.d
        k = component_count(self.n_components, d)
        # Always the same where nothing is random.
        seed = int(check_random_state(getattr(self, "random_state", 0)).randint(2**31))
        rank = min(d, AVERAGE_FACTOR * k + AVERAGE_MORE)
        average = Average(d, rank, stream.dtype) if self.average else None
        rule = self._rule(d, np.random.default_rng(seed))
        solver = Solver(rule, self._schedule(), stream.dtype, self.batch_size, average)
        return SolverLearner(stream, solver, self.rounding, seed)

    def _warning_message(self, model: Model) -> str:
        still_moving = self._finished().variances.still_moving() > NOT_CONVERGED
        return super()._warning_message(model) or (STILL_TURNING if still_moving else "")

    @property
    def subspace_(self) -> Subspace:
        """The current iterate M."""
        return self._finished().solver.iterate()

    @property
    def rank_(self) -> int:
        """The number of directions that the current iterate keeps one by one."""
        return self._finished().solver.state.rank

    @property
    def average_(self) -> Subspace:
        """The average of the iterates held before each step; only with ``average=True``."""
        average = self._finished().solver.average
        if average is None:
            raise AttributeError("average_ is kept only with average=True")
        return average.value()


def start_directions(
    init: ArrayLike | str, k: int, d: int, rng: np.random.Generator
) -> NDArray[np.floating]:
    """Return the orthonormal rows (k, d) that `init` stands for."""
    if isinstance(init, str):
        check_option("init", init, ["random"])
        return orthonormal(rng.normal(size=(k, d)))
    rows = np.asarray(init, dtype=np.float64)
    if rows.shape != (k, d):
        raise ValueError(f"init has shape {rows.shape}, expected ({k}, {d}): (k, d)")
    if not np.isfinite(rows).all() or np.linalg.matrix_rank(rows) < k:
        raise ValueError("init must have finite and linearly independent rows")
    return orthonormal(rows)
