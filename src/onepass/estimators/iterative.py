"""What the paper's algorithms share: a solver with steps, an average, directions."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators.base import Estimator
from onepass.estimators.parameters import (
    check_bool,
    check_option,
    check_whole,
    is_positive,
)
from onepass.learning.averaging import Average
from onepass.learning.learner import Learner
from onepass.learning.row_buffer import Stream
from onepass.learning.rules import Rule
from onepass.learning.solver import Solver
from onepass.learning.solver_learner import SolverLearner
from onepass.schedules import AdaGradNorm, Constant, InverseSqrt, Schedule
from onepass.subspace import Subspace
from onepass.warning import OnepassWarning

FAR_SHARE, LEAST_ROWS = 0.5, 32  # of the energy of the first rows in their mean: it is far


class IterativeEstimator(Estimator):
    """An estimator whose state is an iterate of one of the paper's algorithms."""

    def _learner_for(self, stream: Stream) -> SolverLearner:
        d, k = stream.d, self.n_components
        if k > d:
            raise ValueError(f"n_components={k} is more than the n_features={d} of X")
        seed = self._seed()
        averaging = getattr(self, "average", False)
        average = Average(d, min(d, 2 * k + 16), stream.dtype) if averaging else None
        rule = self._rule(d, np.random.default_rng(seed))
        batch_size = getattr(self, "batch_size", 1)
        solver = Solver(rule, self._schedule(), stream.dtype, batch_size, average)
        return SolverLearner(stream, solver, getattr(self, "rounding", "top"), seed)

    @abstractmethod
    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        """Return the algorithm for rows of d columns."""

    def _schedule(self) -> Schedule:
        """Return the step sizes: an algorithm without steps has the step one."""
        return Constant(1.0)

    @property
    def subspace_(self) -> Subspace:
        """The current iterate M."""
        return self._settled().solver.iterate()


class SteppingEstimator(IterativeEstimator):
    """An iterative estimator that moves by gradient steps."""

    step_size: Any
    average: bool
    # Of automatic steps: averages are better with larger ones than the last iterate.
    averaged_scale: ClassVar[float] = 16.0
    fears_mean: ClassVar[bool] = False  # whether it hardly learns about zero from a far mean

    def _start(self, rows: Any) -> Learner:
        if self.fears_mean and not self.center and rows.shape[0] >= LEAST_ROWS:
            mean = rows.mean(axis=0, dtype=np.float64)
            entries = (rows.data if sparse.issparse(rows) else rows).astype(np.float64).ravel()
            if rows.shape[0] * float(mean @ mean) > FAR_SHARE * float(entries @ entries):
                warnings.warn(
                    "the mean of the rows is far from zero, and with center=False "
                    f"{type(self).__name__} learns little but the mean: pass center=True",
                    OnepassWarning,
                    stacklevel=4,
                )
        return super()._start(rows)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        step = self.step_size
        automatic = isinstance(step, str) and step == "auto"
        if not (automatic or isinstance(step, Schedule) or is_positive(step)):
            raise ValueError(
                f'step_size must be "auto", a positive number or a Schedule, got {step!r}'
            )
        check_bool("average", self.average)
        check_whole("batch_size", getattr(self, "batch_size", 1))
        check_option("rounding", getattr(self, "rounding", "top"), ["top", "sample"])

    def _schedule(self) -> Schedule:
        if isinstance(self.step_size, Schedule):
            return self.step_size
        if isinstance(self.step_size, str):
            return AdaGradNorm(self.averaged_scale if self.average else 1.0)
        return InverseSqrt(float(self.step_size))

    @property
    def average_(self) -> Subspace:
        """The average of the iterates held before each step; only with ``average=True``."""
        average = self._settled().solver.average
        if average is None:
            raise AttributeError("average_ is kept only with average=True")
        return average.value()


def start_directions(init: Any, k: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the orthonormal rows (k, d) that `init` stands for."""
    if isinstance(init, str):
        check_option("init", init, ["random"])
        rows = rng.normal(size=(k, d))
    else:
        rows = np.asarray(init, dtype=np.float64)
        if rows.shape != (k, d):
            raise ValueError(f"init has shape {rows.shape}, expected ({k}, {d}): (k, d)")
        if not np.isfinite(rows).all() or np.linalg.matrix_rank(rows) < k:
            raise ValueError("init must have finite and linearly independent rows")
    basis, triangle = np.linalg.qr(rows.T)
    return np.ascontiguousarray((basis * np.sign(np.diag(triangle))).T)
