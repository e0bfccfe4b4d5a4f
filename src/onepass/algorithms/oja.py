"""The stochastic power method: E. Oja, J. Karhunen (1985); the paper's Section 3.

    U(t+1) = orth(U(t) + eta x x' U(t))

With single rows that is a rotation in the plane of p = U U' x and r = x - p by the angle phi,
tan phi = eta |p| |r| / (1 + eta |p|^2).

U' is the `basis` of the state (its k rows are the columns of U), eta is `size`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from onepass.algorithms.rule import Rule
from onepass.precision import Doubles
from onepass.subspace import Subspace, orthonormal


@dataclass
class Oja(Rule):
    """Stochastic gradient ascent on k directions, made orthonormal after every step."""

    init: NDArray[np.floating] = field(kw_only=True)
    name = "oja"
    fixed_rank = True

    def __post_init__(self) -> None:
        self.options = {"max_rank": self.k}

    def start(self, dtype: np.dtype) -> Subspace:
        return Subspace(self.init.astype(dtype), np.ones(self.k))

    def diameter(self) -> float:
        return float(np.sqrt(2 * min(self.k, self.d - self.k)))

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        U = state.basis
        return Subspace(orthonormal(U + size * (U @ rows.T) @ rows), state.weights)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        return Subspace(super().merged(states, shares).basis, np.ones(self.k))
