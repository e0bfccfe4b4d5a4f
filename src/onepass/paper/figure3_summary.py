"""The splits of Figure 3, averaged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.paper.figure3 import BEYOND, KS, PAPER
from onepass.paper.runs import Arrays
from onepass.paper.trajectory import run_weights


class Summary:
    """Averages over splits.

    Parameters
    ----------
    splits : list of dict
        What `onepass.paper.figure3.one_split` returns.

    Attributes
    ----------
    marks : ndarray of shape (s,)
        Checkpoints.
    names : tuple of str
        The algorithms that were run.
    average, at_equal_cost, end, rank : dict
        By (algorithm, k): average suboptimality over the run; suboptimality after an estimated
        runtime of T k^2; suboptimality at the end; root mean square of k_t'.
    """

    ks, paper = KS, PAPER

    def __init__(self, splits: list[Arrays]) -> None:
        self._splits = splits
        self.marks = splits[0]["marks"]
        self.names = tuple(n for n in (*PAPER, *BEYOND) if f"{n}/1/cost" in splits[0])
        weights, rows = run_weights(self.marks), float(self.marks[-1])
        self.average, self.at_equal_cost, self.end, self.rank = {}, {}, {}, {}
        for name in self.names:
            for k in KS:
                curve, cost = self.curve(name, k, "suboptimality"), self.curve(name, k, "cost")
                self.average[name, k] = float(curve @ weights)
                self.end[name, k] = float(curve[-1])
                self.rank[name, k] = float(np.sqrt(cost[-1] / rows))
                self.at_equal_cost[name, k] = float(np.interp(rows * k**2, cost, curve))

    @property
    def count(self) -> int:
        """The number of splits."""
        return len(self._splits)

    def curve(self, name: str, k: int, what: str) -> NDArray[np.float64]:
        """Return "suboptimality", "cost" or "seconds" at the checkpoints, averaged over splits."""
        return np.mean([split[f"{name}/{k}/{what}"] for split in self._splits], axis=0)

    def steps(self, name: str, k: int) -> list[float]:
        """Return the c chosen on each split; empty for an algorithm without a step."""
        return [float(s[f"{name}/{k}/c"]) for s in self._splits if f"{name}/{k}/c" in s]

    def cut(self, name: str) -> str:
        """Say in how many of the chosen runs the rank was cut, if in any."""
        limited = sum(bool(s[f"{name}/{k}/limited"]) for s in self._splits for k in KS)
        total = self.count * len(KS)
        return f" (rank cut in {limited} of {total} chosen runs)" if limited else ""
