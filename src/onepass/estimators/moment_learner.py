"""A learner that keeps nothing but moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.captured import first_scores
from onepass.estimators.checking import check_spread
from onepass.estimators.learner import Learner
from onepass.estimators.plan import Plan
from onepass.moments import WholeMoment

BESIDE = 8  # directions beside those to score by that are searched
JUDGE_AFTER = 1.5  # growth of the stream after which directions to score by are found anew


class MomentLearner(Learner):
    """Mean and second moment of the rows, and k directions to score further rows by.

    Parameters
    ----------
    plan : Plan
        How the rows are taken.
    second : WholeMoment
        Of the rows, empty.
    k : int
        The number of directions, or the most of them.
    share : float or None
        Of the variance that the directions are to have, where their number is to be found.
    """

    second: WholeMoment

    def __init__(self, plan: Plan, second: WholeMoment, k: int, share: float | None = None) -> None:
        self.k, self.share = k, share
        self.judges: NDArray[np.floating] = np.zeros((0, plan.d))
        self.searched: NDArray[np.floating] = self.judges  # these and a few more
        self.judged = 0.0  # the weight of the rows when they were found
        super().__init__(plan, second)

    def leading(self) -> NDArray[np.floating]:
        """Return the directions: k, or the fewest of these that have the share of the variance."""
        if self.share is None:
            return self.second.leading(self.k)[0]
        found = self.second.spanned(self.k)
        return found[: self._enough(found)]

    def _enough(self, found: NDArray[np.floating]) -> int:
        """Return how many leading directions have the share of the variance; more if all do not."""
        assert self.share is not None
        sums = np.diag(self.second.compress(found.astype(np.float64), self.mean))
        shares = np.cumsum(sums) / max(self.second.energy, np.finfo(float).tiny)
        return 1 + int(np.searchsorted(shares, self.share * (1 - 1e-12)))

    def _judge(self) -> None:
        """Find directions to score by: from the last ones where these are enough."""
        self.judged = self.mean.weight
        if self.share is None:
            self.judges = self.leading()
            return
        found = self.searched
        if len(found):
            found = self.second.spanned(len(found), found)
        if not len(found) or self._enough(found) > len(found):
            found = self.second.spanned(self.k)
        enough = self._enough(found)
        self.judges, self.searched = found[:enough], found[: enough + BESIDE]

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        self.judged *= factor

    def _absorb(self, rows: Any, weights: NDArray[np.float64]) -> None:
        before = self.mean.copy()
        if before.weight >= JUDGE_AFTER * max(self.judged, 1.0):
            self._judge()
        if before.weight == 0.0 and self.share is None:
            self.score.add(*first_scores(rows, weights, self.k, self.plan.center))
        for block in self._blocks(rows, weights):
            energy = block.energy()
            self.second.add_energy(float(energy.sum()))
            if len(self.judges):
                inner = block.inner(self.judges)
                self.score.add(np.einsum("ij,ij->i", inner, inner), energy)
        self.second.update(rows, weights, before, self.mean)
        check_spread(self.second.energy, self.mean.weight, rows, self.plan.center)
