"""The paper's algorithms: each one is a docstring, its parameters, and its rule."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from onepass import algorithms as rules
from onepass.algorithms.averaging import Average
from onepass.algorithms.learner import SolverLearner
from onepass.algorithms.solver import Solver
from onepass.estimators.base import Estimator, component_count
from onepass.estimators.parameters import check_option, check_whole, estimator
from onepass.learner import Learner
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.rows.stream import Stream
from onepass.schedules import AdaGradNorm, Constant, InverseSqrt, Schedule
from onepass.subspace import Subspace, orthonormal
from onepass.warning import OnepassWarning

# Share by which newer rows have more or less along the components than older ones: a few per cent
# where directions have converged, see `DirectionalMoment`.
NOT_CONVERGED = 0.05
STILL_TURNING = (
    "the components still turned when the rows ended, and explained_variance_ was measured along "
    "earlier ones: it is not reliable; pass more rows, or use PCA"
)
# A mean is far from zero if it has this share of the energy of so many first rows: more than all
# other directions together. Means of fewer rows are chance; more rows only take time.
FAR_SHARE, LEAST_FIRST_ROWS, MOST_FIRST_ROWS = 0.5, 32, 512
# Directions of an average, for each component and besides: iterates turn, and their sum has more.
AVERAGE_FACTOR, AVERAGE_MORE = 2, 16


@estimator
class IterativeEstimator(Estimator):
    """An estimator whose state is an iterate of one of the paper's algorithms."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("batch_size", getattr(self, "batch_size", 1))

    @abstractmethod
    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        """Return the algorithm for rows of d columns."""

    def _schedule(self) -> Schedule:
        """Return the step sizes: an algorithm without steps has the step one."""
        return Constant(1.0)

    def _learner_for(self, stream: Stream) -> SolverLearner:
        d, k = stream.d, component_count(self.n_components, stream)
        # Always the same where nothing is random.
        seed = int(check_random_state(getattr(self, "random_state", 0)).randint(2**31))
        averaging = getattr(self, "average", False)
        rank = min(d, AVERAGE_FACTOR * k + AVERAGE_MORE)
        average = Average(d, rank, stream.dtype) if averaging else None
        rule = self._rule(d, np.random.default_rng(seed))
        batch_size = getattr(self, "batch_size", 1)
        solver = Solver(rule, self._schedule(), stream.dtype, batch_size, average)
        return SolverLearner(stream, solver, getattr(self, "rounding", "top"), seed)

    def _warning_message(self, model: Model) -> str:
        still_moving = self._finished().variances.still_moving() > NOT_CONVERGED
        return super()._warning_message(model) or (STILL_TURNING if still_moving else "")

    def _check_rank(self, max_rank: Any, others: str) -> None:
        """Refuse a rank that is neither None nor at least k; `others` says what else it may be."""
        if max_rank is None:
            return
        check_whole(f"max_rank (or {others})", max_rank)
        if max_rank < self.n_components:
            raise ValueError(f"max_rank={max_rank} is less than n_components={self.n_components}")

    @property
    def subspace_(self) -> Subspace:
        """The current iterate M."""
        return self._finished().solver.iterate()

    @property
    def rank_(self) -> int:
        """The number of directions that the current iterate keeps one by one."""
        return self._finished().solver.state.rank


@estimator
class SteppingEstimator(IterativeEstimator):
    """An iterative estimator that moves by gradient steps."""

    step_size: Any = "auto"
    average: bool = True
    # Of automatic steps where iterates are averaged: averages do better with larger steps.
    averaged_scale: ClassVar[float] = 16.0
    fears_mean: ClassVar[bool] = False  # whether it learns little else from rows far from zero

    def _start(self, rows: Any) -> Learner:
        if self.fears_mean and not self.center and rows.shape[0] >= LEAST_FIRST_ROWS:
            first = rows[:MOST_FIRST_ROWS]
            mean = first.mean(axis=0, dtype=np.float64)
            entries = (first.data if sparse.issparse(first) else first).astype(np.float64).ravel()
            if first.shape[0] * float(mean @ mean) > FAR_SHARE * float(entries @ entries):
                warnings.warn(
                    "the mean of the rows is far from zero, and with center=False "
                    f"{type(self).__name__} learns little but the mean: pass center=True",
                    OnepassWarning,
                    stacklevel=4,
                )
        return super()._start(rows)

    def _schedule(self) -> Schedule:
        if isinstance(self.step_size, Schedule):
            return self.step_size
        if isinstance(self.step_size, str):
            return AdaGradNorm(self.averaged_scale if self.average else 1.0)
        return InverseSqrt(float(self.step_size))

    @property
    def average_(self) -> Subspace:
        """The average of the iterates held before each step; only with ``average=True``."""
        average = self._finished().solver.average
        if average is None:
            raise AttributeError("average_ is kept only with average=True")
        return average.value()


@estimator
class MSG(SteppingEstimator):
    """Matrix stochastic gradient: stochastic gradient descent on the convex relaxation of PCA.

    The iterate is a d x d matrix M with eigenvalues between 0 and 1 that sum to at most k (or to
    k). Only the eigenvectors of non-zero eigenvalues are kept. Nothing bounds the rank, and with it
    the cost of a row: `CappedMSG` is the practical variant.
    """

    batch_size: int = 1
    trace: str = "at_most"
    rounding: str = "top"
    random_state: Any = None

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        return rules.MSG(self.n_components, d, exact_trace=self.trace == "exact")


@estimator
class CappedMSG(MSG):
    """Matrix stochastic gradient with a bound on the rank: the paper's practical algorithm.

    Like `MSG`, but only the K = `max_rank` largest eigenvalues are kept before every projection.
    With K > k there is room to try new directions, so it rarely gets stuck, as the incremental
    algorithm does. A row costs O(d K).

    Parameters
    ----------
    max_rank : int, "auto" or None, default=None
        The bound K. None is k + 1, as the paper recommends. "auto" starts there, tests from time
        to time whether the rank stayed at K since the last test, and adds one if so (Section 5 of
        the paper).

    Attributes
    ----------
    rank_deficient_ : bool
        Whether the rank is below its bound: the paper's test for the global optimum. On a noisy
        stream it is only a hint.
    max_rank_ : int
        The bound K now.
    """

    max_rank: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not self._grows():
            self._check_rank(self.max_rank, 'None, or "auto"')

    def _grows(self) -> bool:
        """Return whether the bound on the rank grows."""
        return isinstance(self.max_rank, str) and self.max_rank == "auto"

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k, grow = self.n_components, self._grows()
        max_rank = k + 1 if self.max_rank is None or grow else self.max_rank
        exact = self.trace == "exact"
        return rules.CappedMSG(k, d, max_rank=max_rank, exact_trace=exact, grow=grow)

    @property
    def max_rank_(self) -> int:
        """The bound K on the rank now."""
        return self._finished().solver.rule.rank_bound

    @property
    def rank_deficient_(self) -> bool:
        """Whether the rank is below its bound: then the iterate may be the global optimum."""
        return self.rank_ < self.max_rank_


@estimator
class MEG(SteppingEstimator):
    """Matrix exponentiated gradient, the algorithm of Warmuth and Kuzmin.

    Mirror descent on I - M with the entropy of the spectrum: multiplicative updates where `MSG` has
    additive ones. Nothing bounds its rank.

    Parameters
    ----------
    average : bool, default=False
        True: the components come from the average of the iterates. False: they come from the last
        iterate, which is as good here, and quicker.

    References
    ----------
    .. [2] M. Warmuth, D. Kuzmin, "Randomized Online PCA Algorithms with Regret Bounds that Are
       Logarithmic in the Dimension", JMLR 9, 2008.
    """

    batch_size: int = 1
    average: bool = False

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        return rules.MEG(self.n_components, d)


@estimator
class Incremental(IterativeEstimator):
    """The incremental algorithm: the second moment of the rows, truncated after every row.

    It has no step size and makes the fastest progress where it works. But with K = k it can get
    stuck, for example if all rows are orthogonal: see Section 5.2 of the paper.

    Parameters
    ----------
    batch_size : int, default=1
        Rows that are added between two truncations.
    max_rank : int or None, default=None
        The rank K that is kept; None is k, as in the paper.

    Attributes
    ----------
    subspace_ : Subspace
        The truncated second moment; its weights are eigenvalues, as sums over the rows.

    References
    ----------
    .. [2] R. Arora, A. Cotter, K. Livescu, N. Srebro, "Stochastic Optimization for PCA and PLS",
       Allerton 2012.
    """

    batch_size: int = 1
    max_rank: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_rank(self.max_rank, "None")

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Incremental(k, d, max_rank=k if self.max_rank is None else self.max_rank)


@estimator
class Oja(SteppingEstimator):
    """The stochastic power method: Oja's algorithm for k directions.

    Stochastic gradient ascent on the basis itself, orthonormalised after every step. The problem in
    the basis is not convex, and the speed of progress depends on the steps.

    References
    ----------
    .. [2] E. Oja, J. Karhunen, "On Stochastic Approximation of the Eigenvectors and Eigenvalues
       of the Expectation of a Random Matrix", J. Math. Anal. Appl. 106, 1985.
    """

    batch_size: int = 1
    init: Any = "random"
    random_state: Any = None
    fears_mean: ClassVar[bool] = True

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Oja(k, d, init=start_directions(self.init, k, d, rng))


@estimator
class Grouse(SteppingEstimator):
    """Grassmannian SGD: GROUSE.

    Every row turns the subspace along a geodesic of the Grassmannian, by an angle that is the step
    times the lengths of the row inside and outside of the subspace. It steps by single rows. Of a
    row with gaps, both parts are those of the least-squares fit to its observed entries, as in the
    paper.

    References
    ----------
    .. [2] L. Balzano, R. Nowak, B. Recht, "Online Identification and Tracking of Subspaces
       from Highly Incomplete Information", Allerton 2010.
    """

    init: Any = "random"
    random_state: Any = None
    averaged_scale: ClassVar[float] = 4.0  # larger ones turn by over a right angle at the start
    fears_mean: ClassVar[bool] = True

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Grouse(k, d, init=start_directions(self.init, k, d, rng))


def start_directions(init: Any, k: int, d: int, rng: np.random.Generator) -> NDArray[np.floating]:
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
    return orthonormal(rows)


@estimator
class ERM(Estimator):
    """Empirical risk minimisation: batch PCA, from the exact second moment of all rows.

    It is exact, still takes one pass, and is the right algorithm for few columns. It keeps a d x d
    matrix, so memory and the time of a row are O(d^2).

    Parameters
    ----------
    max_memory : float, default=1.0
        The largest size of the d x d matrix, in GiB; more columns are refused.
    """

    max_memory: float = 1.0

    def _learner_for(self, stream: Stream) -> PCALearner:
        d, k = stream.d, component_count(self.n_components, stream)
        size = 8.0 * d * d / 2**30
        if size > self.max_memory:
            raise ValueError(
                f"The second moment of {d} columns takes {size:.3g} GiB, more than max_memory="
                f"{self.max_memory:g} GiB; CappedMSG needs memory for {k + 1} rows only"
            )
        return PCALearner(stream, k, keep_all=True, always_exact=True)
