"""Matrix stochastic gradient, MSG: R. Arora, A. Cotter, N. Srebro (2013), Section 3.1.

    M(t+1) = P(M(t) + eta x x')

with P the projection onto 0 <= M <= I, tr M <= k (or tr M = k). It keeps eigenvectors and maps the
eigenvalues to clip(sigma + S, 0, 1), with the S for which they sum to k (Lemma 3.2, Algorithm 2).

M is `state`, sigma its `weights`, eta `size`. A batch of b rows has the gradient x x' on average:
eta / b is the size, and the rows are added all at once. The map is `Msg` in `_core/rules.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onepass.algorithms.rule import SpectralRule
from onepass.subspace import Subspace


@dataclass
class MSG(SpectralRule):
    """Stochastic gradient descent on the convex relaxation of PCA; the rank is not bounded."""

    exact_trace: bool = False
    name = "msg"

    def __post_init__(self) -> None:
        self.options = {"max_rank": self.d, "exact_trace": self.exact_trace}

    def diameter(self) -> float:
        k, d = self.k, self.d
        return float(np.sqrt(2 * min(k, d - k) if self.exact_trace else min(2 * k, d)))

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        # Truncation may have left a smaller trace. This is no step: the rule stays as it is.
        return self.mapped(super().merged(states, shares))[1]
