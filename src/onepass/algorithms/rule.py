"""What every rule can do, and the step that most of them share.

Steps with single rows, which are the paper's algorithms, are taken by `onepass._core`, which knows
a rule by its name. A rule itself steps with the gradients of batches; the map of the eigenvalues,
which both ways have in common, is in the core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onepass import _core
from onepass.precision import ZERO_EIGENVALUE, Doubles
from onepass.subspace import Subspace, add_up, orthonormal, truncate

GRAM_ACCURATE = 1e-4  # of the largest eigenvalue: eigenvectors lose four of sixteen digits


@dataclass
class Rule(ABC):
    """An algorithm for k directions in d dimensions."""

    k: int
    d: int
    name: ClassVar[str]  # in the core
    largest_weight: ClassVar[float] = 1.0  # of an iterate or its dual
    fixed_rank: ClassVar[bool] = False  # whether the rank of the state is always k
    exact_trace: bool = field(default=False, kw_only=True)
    # The largest rank of an iterate; 0 is d, or k where the rank is fixed.
    max_rank: int = field(default=0, kw_only=True)
    # What it remembers from step to step, three numbers; replaced, never changed in place.
    memory: Sequence[float] = field(default=(0.0, 0.0, 0.0), init=False)

    def __post_init__(self) -> None:
        self.max_rank = min(self.max_rank or (self.k if self.fixed_rank else self.d), self.d)

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
    def largest_rest(self) -> float:
        """The largest weight of the directions that are not in the basis."""
        return self.largest_weight

    def for_core(self) -> _core.Rule:
        """Return the rule as the core knows it."""
        exact, memory = self.exact_trace, self.memory
        return _core.Rule(
            self.name, self.k, max_rank=self.max_rank, exact_trace=exact, memory=memory
        )

    def remember(self, rule: _core.Rule) -> None:
        """Take over what the core's rule remembers after its steps."""
        self.max_rank, self.memory = rule.max_rank, rule.memory

    def merge(self, other: Self) -> None:
        """Include what the rule of another stream remembers."""
        if other.max_rank > self.max_rank:
            self.max_rank, self.memory = other.max_rank, other.memory

    @abstractmethod
    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        """Take one step of some size with the gradient ``rows.T @ rows``, rows of shape (b, d)."""

    def completed(self, state: Subspace, row: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return a row (d,) whose gaps (NaN) are filled from the k leading directions U'.

        With w = argmin |U w - x| over the observed coordinates, the shortest w where there are
        several, gaps become those of U w. The residual x - U w is zero there.
        """
        directions, observed = state.top(self.k).astype(np.float64), ~np.isnan(row)
        along = np.linalg.lstsq(
            directions[:, observed].T, row[observed].astype(np.float64), rcond=None
        )[0]
        return np.where(observed, row, along @ directions).astype(row.dtype)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        """Return one state for several streams: the average of the iterates is feasible."""
        parts = [self.primal(s).scaled(share) for s, share in zip(states, shares, strict=True)]
        M = add_up(parts, self.max_rank)
        return Subspace(orthonormal(M.basis), M.weights, M.rest)


class SpectralRule(Rule):
    """A rule that adds the gradient to its state and then changes eigenvalues only."""

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        values, vectors = eigen(state, rows, size, self.max_rank)
        rule, moved = self.mapped(Subspace(vectors, values + state.rest, state.rest))
        self.remember(rule)
        return moved

    def mapped(self, M: Subspace) -> tuple[_core.Rule, Subspace]:
        """Return what becomes of a matrix with descending weights, and the rule after that."""
        rule, weights, rest = _core.map_spectrum(self.for_core(), M.weights, M.rest, self.d)
        return rule, Subspace(M.basis[: len(weights)], weights, rest)


def eigen(state: Subspace, rows: Doubles, size: float, most: int) -> tuple[Doubles, Doubles]:
    """Return eigenvalues, descending, and eigenvectors (n, d) of M - rest I + size rows' rows.

    At most `most` are returned, and none that is zero to rounding, which belongs to the complement.
    For few rows they come from the Gram matrix, at a fifth of the cost of singular vectors, unless
    an eigenvalue is so small that its eigenvector would lose digits.
    """
    factor = np.vstack([state.factor(), np.sqrt(size) * rows])
    if 0 < len(factor) < factor.shape[1]:
        vectors, values = truncate(factor, most)
        if len(values) and values[-1] > GRAM_ACCURATE * values[0]:
            return values, np.asarray(vectors, np.float64)
    _, singular, vectors = np.linalg.svd(factor, full_matrices=False)
    kept = singular[:most] ** 2 > ZERO_EIGENVALUE * singular.max(initial=0.0) ** 2
    return singular[:most][kept] ** 2, vectors[:most][kept]
