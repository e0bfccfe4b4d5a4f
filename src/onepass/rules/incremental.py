"""The incremental algorithm of Arora, Cotter, Livescu and Srebro (2012); the paper's Section 5.2.

    M(t+1) = P_rank-K(M(t) + x x')

No step, no shift, no clip: sigma' = eig(diag(sigma) + z z'), z = [U x; r], and the K largest stay
(K = k in the paper). Without truncation M is the second moment of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.kernels.block_eigen import block_eigen
from onepass.kernels.compiling import jit
from onepass.kernels.rank_one import rank_one, workspace
from onepass.kernels.small_space import add_iterate, energy, extend, rotate, split
from onepass.kernels.vectors import LANES
from onepass.kernels.walking import gram_walker, walker
from onepass.rules.rule import Rule
from onepass.subspace import Subspace, add_up


@jit
def _rows(V, sigma, m, rest, rows, width, steps, captured, total, parameters):
    """Update and truncate for every row of a block; V and sigma are changed in place."""
    k, cap = parameters
    room, n = V.shape
    z, values = np.empty(room), np.empty(room)
    vectors, scratch = np.empty((room, room)), np.empty((room, LANES))
    work, order = workspace(room)
    for t in range(len(rows)):
        width = min(width + 1, n)
        add_iterate(total, V, sigma, m, 0.0, width)
        r = split(V, m, rows, t, width, z)
        captured[t] = energy(z, min(k, m))
        size = extend(sigma, m, 0.0, z, r, 1.0)
        rank_one(size, sigma, z, values, vectors, work, order)
        m = min(size, cap)
        rotate(vectors, m, size, V, width, scratch)
        for i in range(m):
            sigma[i] = values[i]
    return m, 0.0, 0.0


@dataclass
class Incremental(Rule):
    """The incremental rule for k directions that keeps rank K = cap."""

    k: int
    d: int
    cap: int

    kernel = staticmethod(_rows)
    walk = staticmethod(walker(_rows))
    gram_walk = staticmethod(gram_walker(_rows))

    def diameter(self) -> float:
        return 1.0  # there is no step to scale

    def room(self, rank: int, rows: int) -> int:
        return min(rank + rows, self.cap)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.k, self.cap

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return the sum: the second moment of all rows."""
        return add_up(states, self.cap)

    def batch(self, state, rows, step):
        values, vectors = block_eigen(state.basis, state.weights, rows, 1.0, self.cap)
        return Subspace(vectors, values)
