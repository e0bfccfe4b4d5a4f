"""Grassmannian SGD, GROUSE: Balzano, Nowak and Recht (2010); the paper's Section 6.

A step along the geodesic of the Grassmannian, here without missing entries. With w = U' x,
p = U w, r = x - p and theta = eta |r| |p|:

    U(t+1) = U + [(cos theta - 1) p/|p| + sin theta r/|r|] w'/|w|

Here U is kept as rows: `basis` is U', all weights are 1.
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
        theta = steps[t] * r * np.sqrt(captured[t])
        turn(V, k, w, theta, width)
    return k, 0.0, 0.0


@dataclass
class Grouse(Rule):
    """Grassmannian SGD from the orthonormal rows `init`, of shape (k, d)."""

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
        raise NotImplementedError("Grassmannian SGD steps by single rows")
