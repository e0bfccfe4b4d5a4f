"""Grassmannian SGD."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.estimators.iterative import SteppingEstimator, start_directions
from onepass.learning import rules


class Grouse(SteppingEstimator):
    """Grassmannian SGD: GROUSE without missing entries.

    Every row turns the subspace along a geodesic of the Grassmannian, by an angle that is the step
    times the lengths of the row inside and outside of the subspace. It steps by single rows.

    Parameters
    ----------
    <<n_components>>
    <<init>>
    <<step_size>>
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
    .. [2] L. Balzano, R. Nowak, B. Recht, "Online Identification and Tracking of Subspaces
       from Highly Incomplete Information", Allerton 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Grouse
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = Grouse(2, random_state=0)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    averaged_scale = 4.0  # larger steps turn by more than a right angle while rows are few
    fears_mean = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        init: Any = "random",
        step_size: Any = "auto",
        average: bool = True,
        center: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.step_size = step_size
        self.average = average
        self.center = center
        self.random_state = random_state
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Grouse(k, d, init=start_directions(self.init, k, d, rng))
