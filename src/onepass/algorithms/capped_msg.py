"""Capped MSG: R. Arora, A. Cotter, N. Srebro (2013), Section 5.

    M(t+1) = P(the best approximation of M(t) + eta x x' of rank K)

with the P of MSG: only the K largest eigenvalues are projected, and only they are kept. K > k
leaves room for directions that have little weight yet; the paper's experiments have K = k + 1.

K is `max_rank`. `grow` is the rank test of Section 5: an iterate that had rank K at all steps since
the last test gets a larger K, and each test comes after twice as many steps as the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onepass.algorithms.msg import MSG

RANK_TEST = ("max_rank", "deficient", "step", "next_test")  # what it remembers
FIRST_RANK_TEST = 64  # steps: long enough for the first iterates to reach a small K


@dataclass
class CappedMSG(MSG):
    """MSG with a bound on the rank: a step costs O(d K)."""

    max_rank: int = 0
    grow: bool = False

    def __post_init__(self) -> None:
        test = {"deficient": False, "step": 0, "next_test": FIRST_RANK_TEST} if self.grow else {}
        cap = min(self.max_rank, self.d)
        self.options = {"max_rank": cap, **test, "exact_trace": self.exact_trace, "grow": self.grow}

    @property
    def memory(self) -> dict[str, Any]:
        return {name: self.options[name] for name in RANK_TEST} if self.grow else {}
