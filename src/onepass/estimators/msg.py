"""Matrix stochastic gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.estimators.iterative import SteppingEstimator
from onepass.estimators.parameters import check_option
from onepass.learning import rules


class MSG(SteppingEstimator):
    """Matrix stochastic gradient: stochastic gradient descent on the convex relaxation of PCA.

    The iterate is a d x d matrix M with eigenvalues between 0 and 1 that sum to at most k (or to
    k), of which only the eigenvectors of non-zero eigenvalues are kept. Its rank, and with it the
    cost of a row, is free: see `CappedMSG` for the practical variant.

    Parameters
    ----------
    <<n_components>>
    <<trace>>
    <<step_size>>
    <<batch_size>>
    <<average>>
    <<rounding>>
    <<center>>
    <<verbose>>

    Attributes
    ----------
    <<attributes>>
    <<subspace>>

    References
    ----------
    <<paper>>

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import MSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = MSG(2)
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
        trace: str = "at_most",
        step_size: Any = "auto",
        batch_size: int = 1,
        average: bool = True,
        rounding: str = "top",
        center: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.trace = trace
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.rounding = rounding
        self.center = center
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("trace", self.trace, ["at_most", "exact"])

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        return rules.MSG(self.n_components, d, max_rank=d, exact_trace=self.trace == "exact")
