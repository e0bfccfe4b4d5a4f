"""Matrix exponentiated gradient, MEG: M. Warmuth, D. Kuzmin (2008); the paper's Section 3.3.

    log W'(t+1) = log W(t) - eta x x';    omega = min(1, alpha omega'),  tr W = d - k

is mirror descent on W = I - M with the entropy of the spectrum. The state is the dual variable
A = -log W, so that a step is that of MSG with another map of the spectrum:

    A' = A + eta x x';                    a = max(0, a' - log alpha)

A is `state`, a its `weights`, eta `size`. M has the eigenvalues 1 - exp(-a). The map is `Meg` in
`_core/rules.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onepass.algorithms.estimator import Iterative
from onepass.algorithms.rule import Rule, SpectralRule
from onepass.precision import Doubles
from onepass.schedules import Schedule
from onepass.subspace import Subspace

BELOW_ONE = 1.0 - 2.0**-53  # the largest weight of M whose dual is finite


@dataclass
class MEGRule(SpectralRule):
    """Multiplicative updates where MSG has additive ones; the rank is not bounded."""

    name = "meg"
    largest_weight = 1e308  # the state holds the dual of the weights

    @property
    def largest_rest(self) -> float:
        return self.largest_weight if self.k < self.d else np.inf

    def start(self, dtype: np.dtype) -> Subspace:
        rest = -np.log1p(-self.k / self.d) if self.k < self.d else np.inf
        return Subspace.empty(self.d, rest, dtype)  # W = (d - k)/d I

    def primal(self, state: Subspace) -> Subspace:
        return Subspace(state.basis, -np.expm1(-state.weights), float(-np.expm1(-state.rest)))

    def diameter(self) -> float:
        return float(np.sqrt(2 * self.k * np.log(self.d / self.k)))  # the entropy's counterpart

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        if self.k == self.d:  # W = 0, M = I: there is nothing to learn
            return state
        return super().step(state, rows, size)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        M = super().merged(states, shares)
        weights = -np.log1p(-np.minimum(M.weights, BELOW_ONE))
        return Subspace(M.basis, weights, float(-np.log1p(-min(M.rest, BELOW_ONE))))


class MEG(Iterative):
    """Matrix exponentiated gradient, the algorithm of Warmuth and Kuzmin.

    Mirror descent on I - M with the entropy of the spectrum: multiplicative updates where `MSG` has
    additive ones. Nothing bounds its rank.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    average : bool, default=False
        True: the components come from the average of the iterates. False: they come from the last
        iterate, which is as good here, and quicker.
    step_size, batch_size, center, verbose
        As in `CappedMSG`.

    Attributes
    ----------
    components_, explained_variance_, mean_, captured_, subspace_, average_, ...
        As in `CappedMSG`, but for its `max_rank_` and `rank_deficient_`.
    rank_ : int
        The number of directions that the iterate keeps one by one. It is the rank of M where the
        eigenvalue of everything else, ``subspace_.rest``, is zero: not at the start.

    References
    ----------
    .. [1] M. Warmuth, D. Kuzmin, "Randomized Online PCA Algorithms with Regret Bounds that Are
       Logarithmic in the Dimension", JMLR 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import MEG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(MEG(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
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

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        return MEGRule(self.n_components, d)
