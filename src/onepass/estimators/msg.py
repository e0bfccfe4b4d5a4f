"""Matrix stochastic gradient."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from onepass import rounding
from onepass.estimators.rule_learner import RuleLearner
from onepass.estimators.stochastic import BATCH_SIZE, SteppingEstimator
from onepass.rules.msg import MSG as Rule


class MSG(SteppingEstimator):
    """Matrix stochastic gradient: stochastic gradient descent on the convex relaxation of PCA.

    The iterate is a d x d matrix M with eigenvalues between 0 and 1 that sum to at most k (or to
    k), of which only the eigenvectors of non-zero eigenvalues are kept. Its rank, and with it the
    cost of a row, is free: see `CappedMSG` for the practical variant.

    Parameters
    ----------
    n_components : int, default=2
        The number k of directions.
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
    >>> from onepass import MSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = MSG(2, random_state=0)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SteppingEstimator._parameter_constraints,
        "trace": [StrOptions({"at_most", "exact"})],
        "batch_size": BATCH_SIZE,
        "rounding": [StrOptions({"top", "sample"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        trace: str = "at_most",
        step_size: Any = "auto",
        batch_size: int = 1,
        average: bool = False,
        rounding: str = "top",
        center: bool = False,
        random_state: Any = None,
        block_size: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.trace = trace
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.rounding = rounding
        self.center = center
        self.random_state = random_state
        self.block_size = block_size

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        return Rule(self.n_components, d, cap=d, exact=self.trace == "exact")

    def _directions(self, learner: RuleLearner) -> NDArray[np.floating]:
        if self.rounding == "top":
            return super()._directions(learner)
        walk = learner.walk
        iterate = walk.iterate() if walk.average is None else walk.average.value()
        rng = np.random.default_rng([learner.seed, walk.steps_taken])
        return rounding.sample(iterate, walk.rule.k, rng)
