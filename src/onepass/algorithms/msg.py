"""Matrix stochastic gradient, MSG: R. Arora, A. Cotter, N. Srebro (2013), Section 3.1.

    M(t+1) = P(M(t) + eta x x')

with P the projection onto 0 <= M <= I, tr M <= k (or tr M = k). It keeps eigenvectors and maps the
eigenvalues to clip(sigma + S, 0, 1), with the S for which they sum to k (Lemma 3.2, Algorithm 2).

M is `state`, sigma its `weights`, eta `size`. A batch of b rows has the gradient x x' on average:
eta / b is the size, and the rows are added all at once. The map is `Msg` in `_core/rules.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from onepass.algorithms.estimator import Iterative
from onepass.algorithms.rule import Rule, SpectralRule
from onepass.schedules import Schedule
from onepass.subspace import Subspace


@dataclass
class MSGRule(SpectralRule):
    """Stochastic gradient descent on the convex relaxation of PCA."""

    name = "msg"

    def diameter(self) -> float:
        k, d = self.k, self.d
        return float(np.sqrt(2 * min(k, d - k) if self.exact_trace else min(2 * k, d)))

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        # Truncation may have left a smaller trace. This is no step: the rule stays as it is.
        return self.mapped(super().merged(states, shares))[1]


class MSG(Iterative):
    """Matrix stochastic gradient: stochastic gradient descent on the convex relaxation of PCA.

    The iterate is a d x d matrix M with eigenvalues between 0 and 1 that sum to at most k (or to
    k). Only the eigenvectors of non-zero eigenvalues are kept. Nothing bounds the rank, and with it
    the cost of a row: `CappedMSG` is the practical variant.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size, batch_size, average, trace, rounding, random_state, center, verbose
        As in `CappedMSG`. With ``trace="exact"`` the iterate starts at full rank.

    Attributes
    ----------
    components_, explained_variance_, mean_, captured_, subspace_, average_, ...
        As in `CappedMSG`, but for its `max_rank_` and `rank_deficient_`.
    rank_ : int
        The number of directions that the iterate keeps one by one. It is the rank of M where the
        eigenvalue of everything else, ``subspace_.rest``, is zero: always with ``trace="at_most"``.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import MSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(MSG(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        batch_size: int = 1,
        average: bool = True,
        trace: str = "at_most",
        rounding: Literal["top", "sample"] = "top",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.trace = trace
        self.rounding = rounding
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        return MSGRule(self.n_components, d, exact_trace=self.trace == "exact")
