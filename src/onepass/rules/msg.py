"""Matrix stochastic gradient and Capped MSG: Arora, Cotter and Srebro (2013), Sections 3.1 and 5.

    M(t+1) = P(M(t) + eta x x')                                     (the paper's update 3.1)

with P the projection onto 0 <= M <= I, tr M <= k or tr M = k and, where capped, rank M <= K. In
eigenvectors: sigma' = eig(diag(sigma) + z z'), z = sqrt(eta) [U x; r] (Algorithm 1), keep the K
largest, then sigma = clip(sigma' + S, 0, 1) (Algorithm 2, Lemma 3.2). `basis` is U, `weights` is
sigma, `rest` the eigenvalue of the complement, which is not zero only for tr M = k without a cap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.batch_walking import batch_walker, whole_walker
from onepass.kernels.block_eigen import block_eigen
from onepass.kernels.compiling import jit
from onepass.kernels.rank_one import rank_one, workspace
from onepass.kernels.simplex import project
from onepass.kernels.small_space import add_iterate, energy, extend, rotate, split
from onepass.kernels.vectors import LANES
from onepass.kernels.walking import gram_walker, walker
from onepass.rules.rule import Rule
from onepass.subspace import Subspace

# The places of what the rank test remembers: the cap K, whether the rank was below it since the
# last test, the number of steps, and the step of the next test.
CAP, DEFICIENT, STEP, TEST = range(4)
FIRST_TEST = 64


@jit
def _rows(V, sigma, m, rest, rows, width, steps, captured, total, parameters):
    """Algorithm 1 for every row of a block; V and sigma are changed in place."""
    d, k, exact, grow, memory = parameters
    n = V.shape[1]
    room = V.shape[0] + 1
    z, values, multiplicities = np.empty(room), np.empty(room), np.empty(room)
    vectors, scratch = np.empty((room, room)), np.empty((room, LANES))
    work, order = workspace(room)
    rests = 0.0
    for t in range(len(rows)):
        width = min(width + 1, n)
        add_iterate(total, V, sigma, m, rest, width)
        rests += rest
        r = split(V, m, rows, t, width, z)
        captured[t] = energy(z, min(k, m))
        size = extend(sigma, m, rest, z, r, steps[t])
        rank_one(size, sigma, z, values, vectors, work, order)
        cap = int(memory[CAP])
        m, rest = _project(size, values, rest, d, k, cap, exact, multiplicities, order)
        rotate(vectors, m, size, V, width, scratch)
        for i in range(m):
            sigma[i] = values[i]
        _test_rank(memory, m, d, grow)
    return m, rest, rests


@jit
def _project(size, sigma, rest, d, k, cap, exact, multiplicities, order):
    """Project descending sigma[:size] in place (Lemma 3.2); return the new rank and rest."""
    size = min(size, cap)
    for i in range(size):
        multiplicities[i] = 1.0
    if exact and cap >= d and size < d:  # the complement takes part, with its multiplicity
        sigma[size] = rest
        multiplicities[size] = d - size
        project(size + 1, sigma, multiplicities, k, exact, order)
        rest = sigma[size]
    else:  # a capped iterate of fewer than k directions cannot have trace k yet
        project(size, sigma, multiplicities, min(k, size), exact, order)
        rest = 0.0
    while size > 0 and sigma[size - 1] <= rest:
        size -= 1
    return size, rest


@jit
def _project_batch(size, sigma, rest, parameters):
    """Project descending sigma[:size] in place after a step with a batch."""
    d, k, exact, grow, memory = parameters
    work, order = np.empty(size + 1), np.empty((2, size + 1), np.int64)
    kept, rest = _project(size, sigma, rest, d, k, int(memory[CAP]), exact, work, order)
    _test_rank(memory, kept, d, grow)
    return kept, rest


@jit
def _test_rank(memory, rank, d, grow):
    """Section 5: an iterate that stays at rank K asks for a larger K; ever rarer tests."""
    if grow:
        memory[STEP] += 1
        if rank < memory[CAP]:
            memory[DEFICIENT] = 1.0
        if memory[STEP] >= memory[TEST]:
            if memory[DEFICIENT] == 0.0 and memory[CAP] < d:
                memory[CAP] += 1
            memory[DEFICIENT] = 0.0
            memory[TEST] *= 2


@dataclass
class MSG(Rule):
    """MSG for k directions; `cap` limits the rank, `grow` raises the cap by the rank test."""

    k: int
    d: int
    cap: int
    exact: bool = False
    grow: bool = False
    memory: NDArray[np.float64] = field(init=False)

    kernel = staticmethod(_rows)
    walk = staticmethod(walker(_rows))
    gram_walk = staticmethod(gram_walker(_rows))
    batch_walk = staticmethod(batch_walker(_project_batch))
    whole_walk = staticmethod(whole_walker(_project_batch))

    def __post_init__(self) -> None:
        self.memory = np.array([min(self.cap, self.d), 0.0, 0.0, FIRST_TEST])

    @property
    def max_rank(self) -> int:
        """The cap K now."""
        return int(self.memory[CAP])

    def diameter(self) -> float:
        k, d = self.k, self.d
        return float(np.sqrt(2 * min(k, d - k) if self.exact else min(2 * k, d)))

    def room(self, rank: int, rows: int) -> int:
        return min(rank + rows, self.max_rank + (rows if self.grow else 0))

    def adopt(self, other: MSG) -> None:
        """Take over a larger cap."""
        self.memory[CAP] = max(self.memory[CAP], other.memory[CAP])

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return the projection of the average: truncation may have left a smaller trace."""
        M = super().merged(states, shares)
        return self._projected(M.weights, M.rest, M.basis)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.d, self.k, self.exact, self.grow, self.memory

    def batch(self, state, rows, step):
        lifted = state.weights - state.rest
        values, vectors = block_eigen(state.basis, lifted, rows, step, self.max_rank)
        moved = self._projected(values + state.rest, state.rest, vectors)
        _test_rank(self.memory, moved.rank, self.d, self.grow)
        return moved

    def _projected(self, values, rest, vectors):
        """Return the projection of a matrix with these descending eigenvalues."""
        size = len(values)
        weights = np.append(values, 0.0)
        kept, rest = _project(
            size, weights, rest, self.d, self.k, self.max_rank, self.exact,
            np.empty(size + 1), np.empty((2, size + 1), np.int64),
        )  # fmt: skip
        return Subspace(vectors[:kept], weights[:kept], rest)
