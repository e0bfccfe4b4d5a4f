"""The incremental algorithm."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.estimators.stochastic import BATCH_SIZE, IterateEstimator
from onepass.rules.incremental import Incremental as Rule


class Incremental(IterateEstimator):
    """The incremental algorithm: the second moment of the rows, truncated after every row.

    No steps to choose, and the fastest progress where it works; but with K = k it gets stuck on
    data whose rows are orthogonal, as the paper's Section 5.2 shows.

    Parameters
    ----------
    n_components : int, default=2
        The number k of directions.
    max_rank : int or None, default=None
        The rank K that is kept; None is k, as in the paper.
    batch_size : int, default=1
        Rows that are added between two truncations.
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
    subspace_ : Subspace
        The truncated second moment; its weights are eigenvalues, as sums over the rows.
    n_components_, n_samples_seen_, n_features_in_ : int

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
    >>> model = Incremental(2, random_state=0)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **IterateEstimator._parameter_constraints,
        "max_rank": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": BATCH_SIZE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: int | None = None,
        batch_size: int = 1,
        center: bool = False,
        random_state: Any = None,
        block_size: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.max_rank = max_rank
        self.batch_size = batch_size
        self.center = center
        self.random_state = random_state
        self.block_size = block_size

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        k = self.n_components
        cap = k if self.max_rank is None else self.max_rank
        if cap < k:
            raise ValueError(f"max_rank={cap} is less than n_components={k}")
        return Rule(k, d, min(cap, d))
