"""The incremental algorithm: R. Arora, A. Cotter, K. Livescu, N. Srebro (2012); Section 5.2.

    M(t+1) = the best approximation of M(t) + x x' of rank K

No step, no shift, no clip; K = k in the paper. M is `state`, K is `max_rank`.
"""

from __future__ import annotations

from dataclasses import dataclass

from onepass.algorithms.rule import SpectralRule
from onepass.precision import Doubles
from onepass.subspace import Subspace


@dataclass
class Incremental(SpectralRule):
    """The second moment of the rows, truncated after every row or batch."""

    max_rank: int = 0
    name = "incremental"
    largest_weight = 1e308  # sums over the rows

    def __post_init__(self) -> None:
        self.options = {"max_rank": min(self.max_rank, self.d)}

    def diameter(self) -> float:
        return 1.0

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        return super().step(state, rows, 1.0)  # it adds the rows up, whatever the step

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        return super().merged(states, [1.0] * len(states))  # it is a sum, not an average
