"""Empirical risk minimisation, the paper's Section 2: batch PCA."""

from __future__ import annotations

from onepass.estimators.calls import Estimator
from onepass.estimators.doubts import without_variance
from onepass.estimators.fitted import moment_learner
from onepass.estimators.parameters import component_count
from onepass.model import Model
from onepass.pca.learner import PCALearner
from onepass.schedules import check_positive
from onepass.stream import Stream


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
        Whether to subtract the mean of the rows.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_, explained_variance_, noise_variance_, mean_, captured_, n_samples_seen_, ...
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

    def _warning_message(self, model: Model) -> str:
        return super()._warning_message(model) or without_variance(model)

    def _learner_for(self, stream: Stream) -> PCALearner:
        d, k = stream.d, component_count(self.n_components, stream.d)
        size = 8.0 * d * d / 2**30
        if size > self.max_memory:
            raise ValueError(
                f"The second moment of {d} columns takes {size:.3g} GiB, more than max_memory="
                f"{self.max_memory:g} GiB; CappedMSG needs memory for {k + 1} rows only"
            )
        return moment_learner("ERM", self.get_params(deep=False), stream)
