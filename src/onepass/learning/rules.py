"""The paper's algorithms, as one step with the gradient of a batch.

A rule says where it starts, which iterate its state stands for, how far iterates can be apart, and
how to take one step with a batch. Steps with single rows, which are the paper's algorithms, are the
same mathematics in `onepass._core`, which knows a rule by its name and options.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onepass import _core
from onepass.learning.result import orthonormal
from onepass.subspace import Subspace, add_up

GRAM_ACCURATE = 1e-4  # of the largest eigenvalue: eigenvectors lose four of sixteen digits
RANK_TEST = ("max_rank", "deficient", "step", "next_test")  # what it remembers
FIRST_RANK_TEST = 64  # steps
ROUNDING = 1e-14  # an eigenvalue smaller than this part of the largest one is rounding


@dataclass
class Rule(ABC):
    """An algorithm for k directions in d dimensions.

    Attributes
    ----------
    name : str
        How the core calls it.
    options : dict
        What the core has to know besides. It is replaced, never changed in place.
    """

    k: int
    d: int
    name: ClassVar[str]
    options: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.options = {"max_rank": self.d}

    def start(self, dtype: np.dtype) -> Subspace:
        """Return the state before the first row: the paper starts at 0."""
        return Subspace.empty(self.d, dtype=dtype)

    def primal(self, state: Subspace) -> Subspace:
        """Return the iterate M that a state stands for."""
        return state

    @abstractmethod
    def diameter(self) -> float:
        """Return the diameter of the feasible set in the Frobenius norm, for scale-free steps."""

    @property
    def rank_bound(self) -> int:
        """The largest rank of an iterate."""
        return self.options["max_rank"]

    @property
    def memory(self) -> dict[str, Any]:
        """What the rule remembers from step to step, for a model file."""
        return {}

    @abstractmethod
    def step(self, state: Subspace, rows: NDArray[np.float64], size: float) -> Subspace:
        """Take one step of some size with the gradient ``rows.T @ rows``, rows of shape (b, d)."""

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return one state for several streams: the average of the iterates is feasible."""
        parts = [self.primal(s).scaled(share) for s, share in zip(states, shares, strict=True)]
        M = add_up(parts, self.rank_bound)
        return Subspace(orthonormal(M.basis), M.weights, M.rest)


def eigen(
    state: Subspace, rows: NDArray[np.float64], size: float, most: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues, descending, and eigenvectors (n, d) of M - rest I + size rows' rows.

    At most `most` are returned, and none that is zero to rounding, which belongs to the complement.
    For few rows they come from the Gram matrix, at a fifth of the cost of singular vectors, unless
    an eigenvalue is so small that its eigenvector would lose digits.
    """
    factor = np.vstack([state.factor(), np.sqrt(size) * rows])
    if 0 < len(factor) < factor.shape[1]:
        values, turns = np.linalg.eigh(factor @ factor.T)
        values, turns = values[::-1][:most], turns.T[::-1][:most]
        if values[-1] > GRAM_ACCURATE * values[0]:
            return values, (turns / np.sqrt(values)[:, None]) @ factor
    _, singular, vectors = np.linalg.svd(factor, full_matrices=False)
    kept = singular[:most] ** 2 > ROUNDING * singular.max(initial=0.0) ** 2
    return singular[:most][kept] ** 2, vectors[:most][kept]


@dataclass
class MSG(Rule):
    """Matrix stochastic gradient (Section 3.1) and, with `max_rank` < d, Capped MSG (Section 5).

    M(t+1) = P(M(t) + eta x x'), with P the projection onto 0 <= M <= I, tr M <= k or tr M = k and,
    where capped, rank M <= K: keep the K largest eigenvalues, then clip(sigma + S, 0, 1)
    (Algorithm 2, Lemma 3.2). `grow` is the rank test of Section 5: an iterate that stays at rank K
    asks for a larger K, at ever longer intervals.
    """

    max_rank: int = 0
    exact_trace: bool = False
    grow: bool = False
    name = "msg"

    def __post_init__(self) -> None:
        test = {"deficient": False, "step": 0, "next_test": FIRST_RANK_TEST} if self.grow else {}
        cap = min(self.max_rank, self.d)
        self.options = {"max_rank": cap, **test, "exact_trace": self.exact_trace, "grow": self.grow}

    def diameter(self) -> float:
        k, d = self.k, self.d
        return float(np.sqrt(2 * min(k, d - k) if self.exact_trace else min(2 * k, d)))

    @property
    def memory(self) -> dict[str, Any]:
        return {name: self.options[name] for name in RANK_TEST} if self.grow else {}

    def step(self, state: Subspace, rows: NDArray[np.float64], size: float) -> Subspace:
        values, vectors = eigen(state, rows, size, self.rank_bound)
        moved = self._projected(values + state.rest, vectors, state.rest)
        if self.grow:
            self._test_rank(moved.rank)
        return moved

    def _test_rank(self, rank: int) -> None:
        """Raise K where the rank was never below it since the last test."""
        cap, deficient, step, next_test = (self.memory[name] for name in RANK_TEST)
        step, deficient = step + 1, deficient or rank < cap
        if step >= next_test:
            cap += not deficient and cap < self.d
            deficient, next_test = False, 2 * next_test
        now = dict(zip(RANK_TEST, (cap, deficient, step, next_test), strict=True))
        self.options = self.options | now

    def _projected(
        self, values: NDArray[np.float64], vectors: NDArray[np.floating], rest: float
    ) -> Subspace:
        """Return the projection of a matrix with these descending eigenvalues (Lemma 3.2)."""
        cap = self.rank_bound
        values, vectors = values[:cap], vectors[:cap]
        size = len(values)
        multiplicities = np.ones(size)
        if self.exact_trace and cap >= self.d and size < self.d:
            # The complement takes part, with its multiplicity.
            values = np.append(values, rest)
            multiplicities = np.append(multiplicities, self.d - size)
            values = _core.project(values, multiplicities, float(self.k), True)
            rest = float(values[-1])
        else:  # a capped iterate of fewer than k directions cannot have trace k yet
            k = float(min(self.k, size))
            values = _core.project(values, multiplicities, k, self.exact_trace)
            rest = 0.0
        kept = values[:size] > rest
        return Subspace(vectors[kept], values[:size][kept], rest)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        M = super().merged(states, shares)  # truncation may have left a smaller trace
        return self._projected(M.weights, M.basis, M.rest)


@dataclass
class MEG(Rule):
    """Matrix exponentiated gradient of Warmuth and Kuzmin (Section 3.3).

    Mirror descent on W = I - M: log W' = log W - eta x x', then omega = min(1, alpha omega') with
    tr W = d - k. The state is the dual A = -log W, so that a step is the rank-one update of MSG
    with another map of the spectrum: a = max(0, a' - log alpha). M has the weights 1 - exp(-a).
    """

    name = "meg"

    def start(self, dtype: np.dtype) -> Subspace:
        rest = -np.log1p(-self.k / self.d) if self.k < self.d else np.inf
        return Subspace.empty(self.d, rest, dtype)  # W = (d - k)/d I

    def primal(self, state: Subspace) -> Subspace:
        return Subspace(state.basis, -np.expm1(-state.weights), float(-np.expm1(-state.rest)))

    def diameter(self) -> float:
        return float(np.sqrt(2 * self.k * np.log(self.d / self.k)))  # the entropy's counterpart

    def step(self, state: Subspace, rows: NDArray[np.float64], size: float) -> Subspace:
        if self.k == self.d:  # W = 0, M = I: there is nothing to learn
            return state
        values, vectors = eigen(state, rows, size)
        count, d = len(values), self.d
        logs, multiplicities = -(values + state.rest), np.ones(count)
        if count < d:
            logs = np.append(logs, -state.rest)
            multiplicities = np.append(multiplicities, d - count)
        logs = _core.cap(logs, multiplicities, float(d - self.k))
        rest = -float(logs[-1]) if count < d else 0.0
        kept = -logs[:count] > rest
        return Subspace(vectors[kept], -logs[:count][kept], rest)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        M, below_one = super().merged(states, shares), 1.0 - 2.0**-53
        weights = -np.log1p(-np.minimum(M.weights, below_one))
        return Subspace(M.basis, weights, float(-np.log1p(-min(M.rest, below_one))))


@dataclass
class Incremental(Rule):
    """The incremental algorithm of Arora, Cotter, Livescu and Srebro (Section 5.2).

    M(t+1) = P_rank-K(M(t) + x x'): no step, no shift, no clip. K = k in the paper.
    """

    max_rank: int = 0
    name = "incremental"

    def __post_init__(self) -> None:
        self.options = {"max_rank": min(self.max_rank, self.d)}

    def diameter(self) -> float:
        return 1.0

    def step(self, state: Subspace, rows: NDArray[np.float64], size: float) -> Subspace:
        # It adds the rows up, whatever the step.
        values, vectors = eigen(state, rows, 1.0, self.rank_bound)
        return Subspace(vectors, values)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        return super().merged(states, [1.0] * len(states))  # it is a sum, not an average


@dataclass
class Oja(Rule):
    """The stochastic power method (Section 3): U <- orth(U + eta x x' U).

    With single rows that is a rotation in the plane of p = U U' x and r = x - p by the angle phi,
    tan phi = eta |p| |r| / (1 + eta |p|^2).
    """

    init: NDArray[np.floating] = field(kw_only=True)
    name = "oja"

    def __post_init__(self) -> None:
        self.options = {"max_rank": self.k}

    def start(self, dtype: np.dtype) -> Subspace:
        return Subspace(self.init.astype(dtype), np.ones(self.k))

    def diameter(self) -> float:
        return float(np.sqrt(2 * min(self.k, self.d - self.k)))

    def step(self, state: Subspace, rows: NDArray[np.float64], size: float) -> Subspace:
        U = state.basis
        return Subspace(orthonormal(U + size * (U @ rows.T) @ rows), state.weights)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        return Subspace(super().merged(states, shares).basis, np.ones(self.k))


@dataclass
class Grouse(Oja):
    """Grassmannian SGD, GROUSE without missing entries (Section 6).

    With w = U' x, p = U w, r = x - p and theta = eta |r| |p|:
    U += [(cos theta - 1) p/|p| + sin theta r/|r|] w'/|w|. It steps by single rows only.
    """

    name = "grouse"

    def step(self, state: Subspace, rows: NDArray[np.float64], size: float) -> Subspace:
        raise NotImplementedError("Grassmannian SGD steps by single rows")
