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

from onepass.algorithms.rule import SpectralRule
from onepass.precision import Doubles
from onepass.subspace import Subspace

BELOW_ONE = 1.0 - 2.0**-53  # the largest weight of M whose dual is finite


@dataclass
class MEG(SpectralRule):
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
