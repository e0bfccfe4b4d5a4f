"""Empirical risk minimisation: batch PCA."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from onepass.estimators.base import Estimator
from onepass.estimators.moment_learner import MomentLearner
from onepass.estimators.plan import make_plan
from onepass.moments import ExactMoment


class ERM(Estimator):
    """Empirical risk minimisation: batch PCA, from the exact second moment of all rows.

    It keeps the whole d x d second moment: exact, still one pass, and the right algorithm for few
    columns; but O(d^2) in memory and in time per row.

    Parameters
    ----------
    n_components : int, default=2
        The number k of directions.
    max_memory : float, default=1.0
        The size in GiB that the d x d matrix may have; more columns are refused.
    center : bool, default=False
        Whether the mean of the rows is taken away as they come; the paper does not.
    random_state : int, RandomState instance or None, default=None
        Not used; here for uniformity.
    block_size : "auto" or int, default="auto"
        Rows that are taken at once. A matter of speed only: the result is the same.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, mutually uncorrelated on the rows seen; the largest
        entry of each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    noise_variance_ : float
        Mean variance of the directions left out.
    mean_ : ndarray of shape (d,)
        Zeros unless `center` is set.
    captured_ : Captured
        `mean` and `standard_error` of the share of variance captured, each row scored before it
        was learned from.
    n_components_, n_samples_seen_, n_features_in_ : int

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import ERM
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = ERM(2, random_state=0)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Estimator._parameter_constraints,
        "max_memory": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_memory: float = 1.0,
        center: bool = False,
        random_state: Any = None,
        block_size: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.max_memory = max_memory
        self.center = center
        self.random_state = random_state
        self.block_size = block_size

    def _learner_for(self, X: Any) -> MomentLearner:
        d, k = X.shape[1], self.n_components
        if k > d:
            raise ValueError(f"n_components={k} is more than the n_features={d} of X")
        size = 8.0 * d * d / 2**30
        if size > self.max_memory:
            raise ValueError(
                f"The second moment of {d} columns takes {size:.3g} GiB, more than max_memory="
                f"{self.max_memory:g} GiB; CappedMSG needs memory for {k + 1} rows only"
            )
        plan = make_plan(X, k, center=self.center, block_size=self.block_size)
        second = ExactMoment(d, self.center, plan.dtype)
        return MomentLearner(plan, second, k)

    def _directions(self, learner: MomentLearner) -> NDArray[np.floating]:
        return learner.second.leading(learner.k)[0]
