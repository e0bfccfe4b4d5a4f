"""Capped MSG."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from onepass.estimators.msg import MSG
from onepass.rules.msg import MSG as Rule


class CappedMSG(MSG):
    """Matrix stochastic gradient with a bound on the rank: the paper's practical algorithm.

    As `MSG`, and before every projection only the K = `max_rank` largest eigenvalues are kept. With
    K > k there is room to look into new directions, so it does not get stuck as the incremental
    algorithm does; the cost of a row is O(d K).

    Parameters
    ----------
    n_components : int, default=2
        The number k of directions.
    max_rank : int, "auto" or None, default=None
        The bound K; None is k + 1, as the paper recommends. "auto" starts there and adds one
        whenever the rank was never below K between two tests, at ever longer intervals: the
        paper's test, by which an iterate that stays at rank K asks for a larger K.
    trace : {"at_most", "exact"}, default="at_most"
        The constraint tr M <= k or tr M = k. The optimum is the same; with the first the iterate
        starts at rank one, with the second at full rank.
    step_size : "auto", float or Schedule, default="auto"
        A number c means steps of c / sqrt(t), as in the paper's experiments. "auto" is
        `onepass.schedules.AdaGradNorm`, which knows neither the scale of the data nor their
        number and needs no tuning.
    batch_size : int, default=1
        Rows per gradient step. 1 is the paper's algorithm; more make one step with the mean of
        the gradients of the batch.
    average : bool, default=False
        Whether the components come from the average of the iterates, which the paper's theorem
        is about, or from the last iterate, which its experiments use.
    rounding : {"top", "sample"}, default="top"
        From the iterate or average to k directions: its k leading eigenvectors, or a random
        draw whose projection is the iterate in expectation (Lemma 3.1).
    center : bool, default=False
        Whether the mean of the rows is taken away as they come; the paper does not.
    random_state : int, RandomState instance or None, default=None
        For `rounding="sample"`.
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
        The current iterate M: basis, weights and the eigenvalue of everything else.
    rank_ : int
        The rank of the iterate.
    rank_deficient_ : bool
        Whether it is below the bound: the paper's test for the global optimum. On a noisy stream
        it is a diagnostic.
    max_rank_ : int
        The bound K now.
    average_ : Subspace
        The average of the iterates, where one is kept.
    n_components_, n_samples_seen_, n_features_in_ : int

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import CappedMSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = CappedMSG(2, random_state=0)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MSG._parameter_constraints,
        "max_rank": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: Any = None,
        trace: str = "at_most",
        step_size: Any = "auto",
        batch_size: int = 1,
        average: bool = False,
        rounding: str = "top",
        center: bool = False,
        random_state: Any = None,
        block_size: Any = "auto",
    ) -> None:
        super().__init__(
            n_components,
            trace=trace,
            step_size=step_size,
            batch_size=batch_size,
            average=average,
            rounding=rounding,
            center=center,
            random_state=random_state,
            block_size=block_size,
        )
        self.max_rank = max_rank

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        grow = self.max_rank == "auto"
        cap = self.n_components + 1 if self.max_rank is None or grow else self.max_rank
        if cap < self.n_components:
            raise ValueError(f"max_rank={cap} is less than n_components={self.n_components}")
        return Rule(self.n_components, d, cap=cap, exact=self.trace == "exact", grow=grow)

    @property
    def rank_(self) -> int:
        """The rank of the current iterate."""
        return self._settled().walk.state.rank

    @property
    def max_rank_(self) -> int:
        """The bound K on the rank now."""
        rule = self._settled().walk.rule
        assert isinstance(rule, Rule)
        return rule.max_rank

    @property
    def rank_deficient_(self) -> bool:
        """Whether the rank is below its bound: then the iterate may be the global optimum."""
        return self.rank_ < self.max_rank_
