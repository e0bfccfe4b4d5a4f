"""Matrix exponentiated gradient, Warmuth and Kuzmin (2008); the paper's Section 3.3.

Mirror descent on W = I - M with the entropy of the spectrum: log W' = log W - eta x x', then
omega = min(1, alpha omega') with alpha such that tr W = d - k.

The state is the dual variable A = -log W, which is positive semidefinite, and so the step is the
rank-one update of MSG with another map of the spectrum:

    a' = eig(diag(a) + z z'), z = sqrt(eta) [U x; r];   a = max(0, a' - log alpha)

`basis` is U, `weights` is a, `rest` the a of the complement. It starts at W = (d - k)/d I. The
complement reaches W = 1, a = 0, and from then on the rank is finite: directions with the a of the
complement are dropped. M has the weights 1 - exp(-a).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.kernels.block_eigen import block_eigen
from onepass.kernels.capping import cap
from onepass.kernels.compiling import jit
from onepass.kernels.rank_one import rank_one, workspace
from onepass.kernels.small_space import add_iterate, energy, extend, rotate, split
from onepass.kernels.vectors import LANES
from onepass.kernels.walking import gram_walker, walker
from onepass.rules.rule import Rule
from onepass.subspace import Subspace


@jit
def _rows(V, a, m, rest, rows, width, steps, captured, total, parameters):
    """Mirror descent for every row of a block; V and a are changed in place."""
    d, k = parameters
    if k == d:  # W = 0, M = I: there is nothing to learn
        for t in range(len(rows)):
            captured[t] = energy(rows[t], V.shape[1])
        return 0, rest, float(len(rows))
    n = V.shape[1]
    room = V.shape[0] + 1
    z, values, primal = np.empty(room), np.empty(room), np.empty(room)
    vectors, scratch = np.empty((room, room)), np.empty((room, LANES))
    work, order = workspace(room)
    rests = 0.0
    for t in range(len(rows)):
        width = min(width + 1, n)
        if total.size:
            for i in range(m):
                primal[i] = -np.expm1(-a[i])
            add_iterate(total, V, primal, m, -np.expm1(-rest), width)
            rests += -np.expm1(-rest)
        r = split(V, m, rows, t, width, z)
        captured[t] = energy(z, min(k, m))
        size = extend(a, m, rest, z, r, steps[t])
        rank_one(size, a, z, values, vectors, work, order)
        m, rest = _cap(size, values, rest, d, k, work, order)
        rotate(vectors, m, size, V, width, scratch)
        for i in range(m):
            a[i] = values[i]
    return m, rest, rests


@jit
def _cap(size, a, rest, d, k, work, order):
    """Scale exp(-a) to the trace d - k with a cap of 1, in place; return the new rank and rest."""
    logs, multiplicities = work[0], work[1]
    for i in range(size):
        logs[i] = -a[i]
        multiplicities[i] = 1.0
    count = size
    if size < d:  # the complement takes part, with its multiplicity
        logs[size] = -rest
        multiplicities[size] = d - size
        count = size + 1
    cap(count, logs, multiplicities, d - k, order)
    rest = -logs[size] if size < d else 0.0
    for i in range(size):
        a[i] = -logs[i]
    while size > 0 and a[size - 1] <= rest:
        size -= 1
    return size, rest


@dataclass
class MEG(Rule):
    """Warmuth and Kuzmin's rule for k directions in d dimensions."""

    k: int
    d: int

    kernel = staticmethod(_rows)
    walk = staticmethod(walker(_rows))
    gram_walk = staticmethod(gram_walker(_rows))

    def start(self, dtype: np.dtype) -> Subspace:
        """Return the dual of W = (d - k)/d I."""
        rest = -np.log1p(-self.k / self.d) if self.k < self.d else np.inf
        return Subspace.empty(self.d, rest, dtype)

    def primal(self, state: Subspace) -> Subspace:
        """Return the iterate M = I - exp(-A)."""
        return Subspace(state.basis, -np.expm1(-state.weights), float(-np.expm1(-state.rest)))

    def diameter(self) -> float:
        """Return sqrt(2 k log(d/k)), the entropy's counterpart of the diameter of MSG."""
        return float(np.sqrt(2 * self.k * np.log(self.d / self.k)))

    def room(self, rank: int, rows: int) -> int:
        return min(rank + rows, self.d)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.d, self.k

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return the dual of the average of the iterates."""
        M = super().merged(states, shares)
        weights = -np.log1p(-np.minimum(M.weights, 1.0 - 2.0**-53))
        return Subspace(M.basis, weights, -np.log1p(-min(M.rest, 1.0 - 2.0**-53)))

    def batch(self, state, rows, step):
        if self.k == self.d:
            return state
        lifted = state.weights - state.rest
        values, vectors = block_eigen(state.basis, lifted, rows, step, self.d)
        size = len(values)
        weights = np.append(values + state.rest, 0.0)
        room = np.empty((2, size + 1))
        order = np.empty((2, size + 1), np.int64)
        kept, rest = _cap(size, weights, state.rest, self.d, self.k, room, order)
        return Subspace(vectors[:kept], weights[:kept], rest)
