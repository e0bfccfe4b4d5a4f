"""Batch PCA from the exact second moment."""

from __future__ import annotations

from onepass.estimators.base import Estimator
from onepass.estimators.parameters import check_positive
from onepass.learning.moment_learner import MomentLearner
from onepass.learning.row_buffer import Stream


class ERM(Estimator):
    """Empirical risk minimisation: batch PCA, from the exact second moment of all rows.

    It keeps the whole d x d second moment: exact, still one pass, and the right algorithm for few
    columns; but O(d^2) in memory and in time per row.

    Parameters
    ----------
    <<n_components>>
    max_memory : float, default=1.0
        The size in GiB that the d x d matrix may have; more columns are refused.
    <<center>>
    <<verbose>>

    Attributes
    ----------
    <<attributes>>

    References
    ----------
    <<paper>>

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import ERM
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = ERM(2)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
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

    def _learner_for(self, stream: Stream) -> MomentLearner:
        d, k = stream.d, self.n_components
        if k > d:
            raise ValueError(f"n_components={k} is more than the n_features={d} of X")
        size = 8.0 * d * d / 2**30
        if size > self.max_memory:
            raise ValueError(
                f"The second moment of {d} columns takes {size:.3g} GiB, more than max_memory="
                f"{self.max_memory:g} GiB; CappedMSG needs memory for {k + 1} rows only"
            )
        return MomentLearner(stream, k)
