"""The stochastic power method."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onepass.estimators.starting import StartingEstimator
from onepass.estimators.stochastic import BATCH_SIZE
from onepass.rules.oja import Oja as Rule


class Oja(StartingEstimator):
    """The stochastic power method: Oja's algorithm for k directions.

    Stochastic gradient ascent on the basis itself, orthonormalised after every step. The problem in
    the basis is not convex, and how fast it comes along depends on the steps.

    Parameters
    ----------
    n_components : int, default=2
        The number k of directions.
    init : "random" or array of shape (k, d), default="random"
        Where it starts: a random subspace, or the span of these rows.
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
    center : bool, default=False
        Whether the mean of the rows is taken away as they come; the paper does not.
    random_state : int, RandomState instance or None, default=None
        For `init="random"`.
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
    .. [2] E. Oja, J. Karhunen, "On Stochastic Approximation of the Eigenvectors and Eigenvalues
       of the Expectation of a Random Matrix", J. Math. Anal. Appl. 106, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Oja
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = Oja(2, random_state=0)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StartingEstimator._parameter_constraints,
        "batch_size": BATCH_SIZE,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        init: Any = "random",
        step_size: Any = "auto",
        batch_size: int = 1,
        average: bool = False,
        center: bool = False,
        random_state: Any = None,
        block_size: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.center = center
        self.random_state = random_state
        self.block_size = block_size

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        return Rule(self._start(d, rng))
