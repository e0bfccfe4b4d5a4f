"""The stochastic power method, Oja's algorithm for k directions; the paper's Section 3.

    U(t+1) = P_orth(U(t) + eta x x' U(t))

With w = U' x, p = U w and r = x - p the columns of U that are orthogonal to w stay, and the one
along w, p/|p|, becomes (1 + eta |w|^2) p/|p| + eta |w| r, normalised. So P_orth is a rotation in
the plane of p and r by the angle phi, tan phi = eta |w| |r| / (1 + eta |w|^2). Here U is kept as
rows: `basis` is U', all weights are 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.small_space import add_iterate, energy, split, turn
from onepass.kernels.walking import gram_walker, walker
from onepass.rules.rule import Rule
from onepass.subspace import Subspace


@jit
def _rows(V, weights, k, rest, rows, width, steps, captured, total, parameters):
    """Turn V in place by every row of a block."""
    n = V.shape[1]
    w = np.empty(k)
    for t in range(len(rows)):
        width = min(width + 1, n)
        add_iterate(total, V, weights, k, 0.0, width)
        r = split(V, k, rows, t, width, w)
        captured[t] = energy(w, k)
        phi = np.arctan2(steps[t] * np.sqrt(captured[t]) * r, 1.0 + steps[t] * captured[t])
        turn(V, k, w, phi, width)
    return k, 0.0, 0.0


@dataclass
class Oja(Rule):
    """The stochastic power method from the orthonormal rows `init`, of shape (k, d)."""

    init: NDArray[np.floating]

    kernel = staticmethod(_rows)
    walk = staticmethod(walker(_rows))
    gram_walk = staticmethod(gram_walker(_rows))

    def __post_init__(self) -> None:
        self.k, self.d = self.init.shape

    def start(self, dtype: np.dtype) -> Subspace:
        """Return the projection onto the span of `init`."""
        return Subspace(self.init.astype(dtype), np.ones(self.k))

    def diameter(self) -> float:
        """Return the diameter of the set of projections of rank k."""
        return float(np.sqrt(2 * min(self.k, self.d - self.k)))

    def room(self, rank: int, rows: int) -> int:
        return self.k

    @property
    def parameters(self) -> tuple[Any, ...]:
        return ()

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return the projection onto the leading directions of the average of the projections."""
        M = super().merged(states, shares)
        return Subspace(M.basis, np.ones(self.k))

    def batch(self, state, rows, step):
        V = state.basis
        moved = V.T + step * (rows.T @ (rows @ V.T))
        return Subspace(np.ascontiguousarray(np.linalg.qr(moved)[0].T), state.weights)
