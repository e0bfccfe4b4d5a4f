"""The paper's algorithms: each one is a docstring, its parameters, and its rule."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from onepass import algorithms as rules
from onepass.algorithms.averaging import Average
from onepass.algorithms.learner import SolverLearner
from onepass.algorithms.solver import Solver
from onepass.estimators.calls import Estimator
from onepass.estimators.parameters import check_bool, check_option, check_whole
from onepass.learner import Learner
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.schedules import (
    AdaGradNorm,
    Constant,
    InverseSqrt,
    Schedule,
    check_positive,
    is_positive,
)
from onepass.stream import Stream
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


class Iterative(Estimator):
    """An estimator whose state is an iterate of one of the paper's algorithms."""

    # Of automatic steps if iterates are averaged: averages do better with larger ones.
    averaged_scale: ClassVar[float] = 16.0
    needs_centred_rows: ClassVar[bool] = False  # rows far from zero teach it little else
    # Values for algorithms without such a parameter.
    step_size: float | str | Schedule = 1.0
    batch_size: int = 1
    average: bool = False
    trace: str = "at_most"
    rounding: Literal["top", "sample"] = "top"

    @abstractmethod
    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
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

    def _schedule(self) -> Schedule:
        """Return the step sizes."""
        if isinstance(self.step_size, Schedule):
            return self.step_size
        if isinstance(self.step_size, str):
            return AdaGradNorm(self.averaged_scale if self.average else 1.0)
        return InverseSqrt(float(self.step_size))

    def _learner_for(self, stream: Stream) -> SolverLearner:
        d, k = stream.d, self._component_count(stream)
        # Always the same where nothing is random.
        seed = int(check_random_state(getattr(self, "random_state", 0)).randint(2**31))
        rank = min(d, AVERAGE_FACTOR * k + AVERAGE_MORE)
        average = Average(d, rank, stream.dtype) if self.average else None
        rule = self._rule(d, np.random.default_rng(seed))
        solver = Solver(rule, self._schedule(), stream.dtype, self.batch_size, average)
        return SolverLearner(stream, solver, self.rounding, seed)

    def _start(self, rows: Any) -> Learner:
        if self.needs_centred_rows and not self.center and rows.shape[0] >= LEAST_FIRST_ROWS:
            first = rows[:MOST_FIRST_ROWS]
            mean = first.mean(axis=0, dtype=np.float64)
            entries = (first.data if sparse.issparse(first) else first).astype(np.float64).ravel()
            if first.shape[0] * float(mean @ mean) > FAR_SHARE * float(entries @ entries):
                warnings.warn(
                    "the mean of the rows is far from zero, and with center=False "
                    f"{type(self).__name__} learns little but the mean: pass center=True",
                    OnepassWarning,
                    stacklevel=5,
                )
        return super()._start(rows)

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


class MSG(Iterative):
    """Matrix stochastic gradient: stochastic gradient descent on the convex relaxation of PCA.

    The iterate is a d x d matrix M with eigenvalues between 0 and 1 that sum to at most k (or to
    k). Only the eigenvectors of non-zero eigenvalues are kept. Nothing bounds the rank, and with it
    the cost of a row: `CappedMSG` is the practical variant.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size : "auto", float or Schedule, default="auto"
        "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
        c / sqrt(t), as in the paper's experiments.
    batch_size : int, default=1
        Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the mean
        of their gradients.
    average : bool, default=True
        True: the components come from the average of the iterates before each step. It loses
        several times less variance, and the paper's theorem is about it. False: they come from the
        last iterate, which is quicker. The paper's experiments use it.
    trace : {"at_most", "exact"}, default="at_most"
        The constraint tr M <= k or tr M = k. The optimum is the same. The iterate starts at rank
        one with "at_most", and at full rank with "exact".
    rounding : {"top", "sample"}, default="top"
        How k directions come from the iterate or average: its k leading eigenvectors, or a random
        draw whose projection is the iterate in expectation (Lemma 3.1).
    random_state : int, RandomState instance or None, default=None
        The seed for ``rounding="sample"``.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The current iterate M: basis, weights, and the eigenvalue of everything else.
    rank_ : int
        The number of directions that the iterate keeps one by one. It is the rank of M where the
        eigenvalue of everything else, ``subspace_.rest``, is zero: always with ``trace="at_most"``.
    average_ : Subspace
        The average of the iterates before each step, if one is kept.

    Notes
    -----
    The gaps of a row are filled before its step by the running mean plus U w, with U the k
    leading directions of the iterate and w the least-squares fit to the observed entries.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import MSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(MSG(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        batch_size: int = 1,
        average: bool = True,
        trace: str = "at_most",
        rounding: Literal["top", "sample"] = "top",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.trace = trace
        self.rounding = rounding
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        return rules.MSG(self.n_components, d, exact_trace=self.trace == "exact")


class CappedMSG(MSG):
    """Matrix stochastic gradient with a bound on the rank: the paper's practical algorithm.

    Like `MSG`, but only the K = `max_rank` largest eigenvalues are kept before every projection.
    With K > k there is room to try new directions, so it rarely gets stuck, as the incremental
    algorithm does. A row costs O(d K).

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    max_rank : int, "auto" or None, default=None
        The bound K. None is k + 1, as the paper recommends. "auto" starts there, tests from time to
        time whether the rank stayed at K since the last test, and adds one if so (Section 5 of the
        paper).
    step_size : "auto", float or Schedule, default="auto"
        "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
        c / sqrt(t), as in the paper's experiments.
    batch_size : int, default=1
        Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the mean
        of their gradients.
    average : bool, default=True
        True: the components come from the average of the iterates before each step. It loses
        several times less variance, and the paper's theorem is about it. False: they come from the
        last iterate, which is quicker. The paper's experiments use it.
    trace : {"at_most", "exact"}, default="at_most"
        The constraint tr M <= k or tr M = k. The optimum is the same. The iterate starts at rank
        one with "at_most", and at full rank with "exact", but tr M is k as soon as there are k
        directions.
    rounding : {"top", "sample"}, default="top"
        How k directions come from the iterate or average: its k leading eigenvectors, or a random
        draw whose projection is the iterate in expectation (Lemma 3.1).
    random_state : int, RandomState instance or None, default=None
        The seed for ``rounding="sample"``.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The current iterate M: basis, weights, and the eigenvalue of everything else.
    rank_ : int
        The number of directions that the iterate keeps one by one.
    max_rank_ : int
        The bound K now.
    rank_deficient_ : bool
        Whether the rank is below its bound: the paper's test for the global optimum. On a noisy
        stream it is only a hint.
    average_ : Subspace
        The average of the iterates before each step, if one is kept.

    Notes
    -----
    The gaps of a row are filled before its step by the running mean plus U w, with U the k
    leading directions of the iterate and w the least-squares fit to the observed entries.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import CappedMSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(CappedMSG(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: int | str | None = None,
        step_size: float | str | Schedule = "auto",
        batch_size: int = 1,
        average: bool = True,
        trace: str = "at_most",
        rounding: Literal["top", "sample"] = "top",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_rank = max_rank
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.trace = trace
        self.rounding = rounding
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_rank != "auto":
            check_max_rank(self.max_rank, self.n_components, 'None, or "auto"')

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k, grow = self.n_components, self.max_rank == "auto"
        max_rank = k + 1 if self.max_rank is None or grow else int(self.max_rank)
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


class MEG(Iterative):
    """Matrix exponentiated gradient, the algorithm of Warmuth and Kuzmin.

    Mirror descent on I - M with the entropy of the spectrum: multiplicative updates where `MSG` has
    additive ones. Nothing bounds its rank.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size : "auto", float or Schedule, default="auto"
        "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
        c / sqrt(t), as in the paper's experiments.
    batch_size : int, default=1
        Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the mean
        of their gradients.
    average : bool, default=False
        True: the components come from the average of the iterates. False: they come from the last
        iterate, which is as good here, and quicker.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The current iterate M: basis, weights, and the eigenvalue of everything else.
    rank_ : int
        The number of directions that the iterate keeps one by one. It is the rank of M where the
        eigenvalue of everything else, ``subspace_.rest``, is zero: not at the start.
    average_ : Subspace
        The average of the iterates before each step, if one is kept.

    Notes
    -----
    The gaps of a row are filled before its step by the running mean plus U w, with U the k
    leading directions of the iterate and w the least-squares fit to the observed entries.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.
    .. [2] M. Warmuth, D. Kuzmin, "Randomized Online PCA Algorithms with Regret Bounds that Are
       Logarithmic in the Dimension", JMLR 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import MEG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(MEG(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        batch_size: int = 1,
        average: bool = False,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        return rules.MEG(self.n_components, d)


class Incremental(Iterative):
    """The incremental algorithm: the second moment of the rows, truncated after every row.

    It has no step size and makes the fastest progress where it works. But with K = k it can get
    stuck, for example if all rows are orthogonal: see Section 5.2 of the paper.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    max_rank : int or None, default=None
        The rank K that is kept; None is k, as in the paper.
    batch_size : int, default=1
        Rows that are added between two truncations.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The truncated second moment; its weights are eigenvalues, as sums over the rows.
    rank_ : int
        The number of directions that are kept.

    Notes
    -----
    The gaps of a row are filled before its step by the running mean plus U w, with U the k
    leading directions of the iterate and w the least-squares fit to the observed entries.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.
    .. [2] R. Arora, A. Cotter, K. Livescu, N. Srebro, "Stochastic Optimization for PCA and PLS",
       Allerton 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Incremental
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(Incremental(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: int | None = None,
        batch_size: int = 1,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_rank = max_rank
        self.batch_size = batch_size
        self.center = center
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_max_rank(self.max_rank, self.n_components, "None")

    def _schedule(self) -> Schedule:
        return Constant(1.0)

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Incremental(k, d, max_rank=k if self.max_rank is None else self.max_rank)


class Oja(Iterative):
    """The stochastic power method: Oja's algorithm for k directions.

    Stochastic gradient ascent on the basis itself, orthonormalised after every step. The problem in
    the basis is not convex, and the speed of progress depends on the steps.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size : "auto", float or Schedule, default="auto"
        "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
        c / sqrt(t), as in the paper's experiments.
    batch_size : int, default=1
        Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the mean
        of their gradients.
    average : bool, default=True
        True: the components come from the average of the iterates before each step. It loses
        several times less variance, and the paper's theorem is about it. False: they come from the
        last iterate, which is quicker. The paper's experiments use it.
    init : "random" or array-like of shape (k, d), default="random"
        The directions to start from.
    random_state : int, RandomState instance or None, default=None
        The seed for ``init="random"``.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The current iterate M: basis, weights, and the eigenvalue of everything else.
    rank_ : int
        The number of directions that the iterate keeps one by one.
    average_ : Subspace
        The average of the iterates before each step, if one is kept.

    Notes
    -----
    The gaps of a row are filled before its step by the running mean plus U w, with U the k
    leading directions of the iterate and w the least-squares fit to the observed entries.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.
    .. [2] E. Oja, J. Karhunen, "On Stochastic Approximation of the Eigenvectors and Eigenvalues
       of the Expectation of a Random Matrix", J. Math. Anal. Appl. 106, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Oja
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(Oja(2, random_state=0).fit(X).score(X) > 0.85)
    True
    """

    needs_centred_rows: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        batch_size: int = 1,
        average: bool = True,
        init: ArrayLike | str = "random",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.init = init
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Oja(k, d, init=start_directions(self.init, k, d, rng))


class Grouse(Iterative):
    """Grassmannian SGD: GROUSE.

    Every row turns the subspace along a geodesic of the Grassmannian, by an angle that is the step
    times the lengths of the row inside and outside of the subspace. It steps by single rows. For a
    row with gaps, both parts are those of the least-squares fit to its observed entries, as in the
    paper.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size : "auto", float or Schedule, default="auto"
        "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
        c / sqrt(t), as in the paper's experiments.
    average : bool, default=True
        True: the components come from the average of the iterates before each step. It loses
        several times less variance, and the paper's theorem is about it. False: they come from the
        last iterate, which is quicker. The paper's experiments use it.
    init : "random" or array-like of shape (k, d), default="random"
        The directions to start from.
    random_state : int, RandomState instance or None, default=None
        The seed for ``init="random"``.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The current iterate M: basis, weights, and the eigenvalue of everything else.
    rank_ : int
        The number of directions that the iterate keeps one by one.
    average_ : Subspace
        The average of the iterates before each step, if one is kept.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.
    .. [2] L. Balzano, R. Nowak, B. Recht, "Online Identification and Tracking of Subspaces
       from Highly Incomplete Information", Allerton 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Grouse
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(Grouse(2, random_state=0).fit(X).score(X) > 0.85)
    True
    """

    averaged_scale: ClassVar[float] = 4.0  # larger ones turn by over a right angle at the start
    needs_centred_rows: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        average: bool = True,
        init: ArrayLike | str = "random",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.average = average
        self.init = init
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Grouse(k, d, init=start_directions(self.init, k, d, rng))


class ERM(Estimator):
    """Empirical risk minimisation: batch PCA, from the exact second moment of all rows.

    It is exact, still takes one pass, and is the right algorithm for few columns. It keeps a d x d
    matrix, so memory and the time of a row are O(d^2).

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    max_memory : float, default=1.0
        The largest size of the d x d matrix, in GiB; more columns are refused.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import ERM
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(ERM(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_memory: float = 1.0,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_memory = max_memory
        self.center = center
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("max_memory", self.max_memory)

    def _learner_for(self, stream: Stream) -> PCALearner:
        d, k = stream.d, self._component_count(stream)
        size = 8.0 * d * d / 2**30
        if size > self.max_memory:
            raise ValueError(
                f"The second moment of {d} columns takes {size:.3g} GiB, more than max_memory="
                f"{self.max_memory:g} GiB; CappedMSG needs memory for {k + 1} rows only"
            )
        return PCALearner(stream, k, keep_all=True, always_exact=True)


def check_max_rank(max_rank: Any, k: int, others: str) -> None:
    """Refuse a rank that is neither None nor at least k; `others` says what else it may be."""
    if max_rank is None:
        return
    check_whole(f"max_rank (or {others})", max_rank)
    if max_rank < k:
        raise ValueError(f"max_rank={max_rank} is less than n_components={k}")


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
