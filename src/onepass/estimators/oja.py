"""The stochastic power method."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.estimators.iterative import SteppingEstimator, start_directions
from onepass.learning import rules


class Oja(SteppingEstimator):
    """The stochastic power method: Oja's algorithm for k directions.

    Stochastic gradient ascent on the basis itself, orthonormalised after every step. The problem in
    the basis is not convex, and the speed of progress depends on the steps.

    Parameters
    ----------
    <<n_components>>
    <<init>>
    <<step_size>>
    <<batch_size>>
    <<average>>
    <<center>>
    <<verbose>>

    Attributes
    ----------
    <<attributes>>
    <<subspace>>

    References
    ----------
    <<paper>>
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

    fears_mean = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        init: Any = "random",
        step_size: Any = "auto",
        batch_size: int = 1,
        average: bool = True,
        center: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.center = center
        self.random_state = random_state
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Oja(k, d, init=start_directions(self.init, k, d, rng))
