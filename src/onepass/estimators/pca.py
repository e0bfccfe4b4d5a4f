"""Principal components in one pass: the estimator to reach for first."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, RealNotInt

from onepass import rounding
from onepass.averaging import Average
from onepass.estimators.base import Estimator
from onepass.estimators.challenger import Challenger
from onepass.estimators.checking import check_block
from onepass.estimators.learner import Learner
from onepass.estimators.moment_learner import MomentLearner
from onepass.estimators.pca_learner import PCALearner
from onepass.estimators.plan import Plan, make_plan
from onepass.estimators.validation import Expert
from onepass.estimators.walk import Walk
from onepass.moments import ExactMoment, SketchedMoment, WholeMoment
from onepass.rules.msg import MSG as Rule
from onepass.schedules import AdaGradNorm
from onepass.subspace import Subspace

EXACT_COLUMNS = 1024  # up to here the matrix of second moments is as quick as a sketch of it
CHUNK_ROWS = 256  # experts are scored by chunks, and need a few to be compared
CHUNK_BYTES = 2**24  # larger chunks, since an update of the sketch costs nearly the same for any
MOST_ROWS, MOST_BYTES = 8192, 2**22  # of a chunk of an exact second moment, late in the stream
MOST_COMPONENTS = 64  # that are looked at where their number is to be found
STEP_SCALES = (10.0, 160.0)  # gentle and bold; how they were picked: docs/benchmarks.md


class PCA(Estimator):
    """Principal components in one pass, with nothing to tune.

    As accurate as batch PCA on clean data and more accurate on heavy-tailed data, from rows that
    are seen once and need not fit in memory. Two kinds of estimates are kept on the same stream:
    the second moment of the rows, exact up to 1024 columns and a sketch of low rank for more, and
    averages of Capped MSG iterates, which heavy tails cannot carry away. Rows that none has
    learned from yet decide which of them answers.

    Parameters
    ----------
    n_components : int or float, default=2
        The number k of components; or, between 0 and 1, the share of the variance to capture: then
        the fewest components that do, at most 64.
    center : bool, default=True
        Whether the mean is taken away.
    whiten : bool, default=False
        Whether `transform` gives every component unit variance.
    half_life : float or None, default=None
        After how many rows what was seen counts half: in the mean, the second moment, the average
        and the validation. In the long run about 1.44 times as many rows count. None never
        forgets.
    random_state : int, RandomState instance or None, default=None
        Not used; here for uniformity.
    block_size : "auto" or int, default="auto"
        Not used; here for uniformity: how rows are taken is chosen for the data.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, mutually uncorrelated on the rows seen. Signs are held
        to the components of earlier rows.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    noise_variance_ : float
        Mean variance of the directions left out.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        `mean` and `standard_error` of the share of variance captured, each row scored before it
        was learned from.
    expert_ : Expert
        Which of the two kinds of estimates answered, and with what evidence.
    n_components_, n_samples_seen_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import PCA
    >>> X = np.random.default_rng(0).normal(size=(5000, 20)) * 0.7 ** np.arange(20) + 100
    >>> model = PCA(3)
    >>> for block in np.array_split(X, 9):
    ...     model = model.partial_fit(block)
    >>> model.explained_variance_ratio_.round(2)
    array([0.52, 0.25, 0.12])
    >>> PCA(0.9).fit(X).n_components_
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Estimator._parameter_constraints,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "whiten": ["boolean"],
        "half_life": [Interval(Real, 0, None, closed="neither"), None],
    }
    n_components: Any

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        center: bool = True,
        whiten: bool = False,
        half_life: float | None = None,
        random_state: Any = None,
        block_size: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.whiten = whiten
        self.half_life = half_life
        self.random_state = random_state
        self.block_size = block_size

    def _learner_for(self, X: Any) -> Learner:
        d = X.shape[1]
        if self._by_share():
            most = d if d <= EXACT_COLUMNS else MOST_COMPONENTS
            plan = make_plan(X, most, center=self.center, half_life=self.half_life)
            return MomentLearner(plan, self._second(plan, most + 16), most, self.n_components)
        k = self.n_components
        if k > d:
            raise ValueError(f"n_components={k} is more than the n_features={d} of X")
        exact = d <= EXACT_COLUMNS
        plan = make_plan(
            X,
            k,
            center=self.center,
            batch_size=max(32, 2 * k),
            half_life=self.half_life,
            chunk_bytes=MOST_BYTES if exact else CHUNK_BYTES,
            chunk_rows=CHUNK_ROWS,
            most_rows=MOST_ROWS if exact else 0,
        )
        challengers = [self._challenger(plan, k, scale) for scale in STEP_SCALES]
        return PCALearner(plan, self._second(plan, 3 * k + 24), challengers)

    def _challenger(self, plan: Plan, k: int, scale: float) -> Challenger:
        """Return averaged Capped MSG with steps of some scale."""
        d = plan.d
        rule = Rule(k, d, cap=min(d, k + 4))
        average = Average(d, min(d, k + 24), plan.dtype)
        walk = Walk(rule, AdaGradNorm(scale), plan.batch, plan.dtype, average)
        return Challenger(walk, scale)

    def _second(self, plan: Plan, rank: int) -> WholeMoment:
        """Return an empty second moment; a sketch of it has a rank."""
        if plan.d <= EXACT_COLUMNS:
            return ExactMoment(plan.d, self.center, plan.dtype)
        return SketchedMoment(plan.d, min(plan.d, rank), self.center, plan.dtype, plan.chunk_rows)

    def _by_share(self) -> bool:
        """Whether `n_components` is a share of the variance."""
        return not isinstance(self.n_components, Integral)

    def _directions(self, learner: Any) -> NDArray[np.floating]:
        found = learner.leading() if self._by_share() else learner.directions()
        if len(found):
            return found
        return rounding.top(Subspace.empty(learner.plan.d, dtype=learner.plan.dtype), 1)

    def fit(self, X: Any, y: Any = None, **weights: Any) -> Self:  # noqa: D102
        before = self.__dict__.copy()
        super().fit(X, y, **weights)
        try:
            self._warn()
        except BaseException:  # rows that waited may be refused, or a warning be an error
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _warn(self) -> None:
        """Warn where there are fewer components than asked for."""
        if self.explained_variance_[0] == 0.0:
            warnings.warn(
                f"{self.n_samples_seen_} rows span 0 directions only: nothing varies, and the one "
                "component stands for any direction",
                stacklevel=3,
            )
        elif not self._by_share() and self.n_components_ < self.n_components:
            warnings.warn(
                f"{self.n_samples_seen_} rows span {self.n_components_} directions only: there are "
                f"{self.n_components_} components, not n_components={self.n_components}",
                stacklevel=3,
            )
        elif self._by_share() and self.explained_variance_ratio_.sum() < self.n_components:
            warnings.warn(
                f"{self.n_components_} components, the most that are looked at, capture "
                f"{self.explained_variance_ratio_.sum():.3g} of the variance, less than "
                f"n_components={self.n_components}",
                stacklevel=3,
            )

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the coordinates of the rows of X in the components, of shape (n, k)."""
        return super().transform(X) / self._scale() if self.whiten else super().transform(X)

    def inverse_transform(self, X: Any) -> NDArray[np.floating]:
        """Return rows in the original columns from coordinates X of shape (n, k)."""
        if self.whiten:
            X = check_block(X, self.n_components_)
            X = X @ np.diag(self._scale())
        return super().inverse_transform(X)

    def _scale(self) -> NDArray[np.floating]:
        """Return the standard deviations along the components, one where there is none."""
        deviation = np.sqrt(self.explained_variance_)
        return np.where(deviation > 0.0, deviation, 1.0).astype(deviation.dtype)

    @property
    def expert_(self) -> Expert:
        """Which of the two estimates answered, and with what evidence."""
        learner = self._settled()
        if self._by_share():
            return Expert("sketch", 0.0, 0, 0.0, 0.0)
        return learner.verdict()
