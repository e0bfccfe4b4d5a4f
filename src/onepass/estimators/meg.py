"""Matrix exponentiated gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.estimators.iterative import SteppingEstimator
from onepass.learning import rules


class MEG(SteppingEstimator):
    """Matrix exponentiated gradient, the algorithm of Warmuth and Kuzmin.

    Mirror descent on I - M with the entropy of the spectrum: multiplicative updates where `MSG` has
    additive ones. Its rank is free.

    Parameters
    ----------
    <<n_components>>
    <<step_size>>
    <<batch_size>>
    <<average_off>>
    <<center>>
    <<verbose>>

    Attributes
    ----------
    <<attributes>>
    <<subspace>>

    References
    ----------
    <<paper>>
    .. [2] M. Warmuth, D. Kuzmin, "Randomized Online PCA Algorithms with Regret Bounds that Are
       Logarithmic in the Dimension", JMLR 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import MEG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = MEG(2)
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
        step_size: Any = "auto",
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
