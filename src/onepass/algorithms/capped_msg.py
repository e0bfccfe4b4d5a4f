"""Capped MSG: R. Arora, A. Cotter, N. Srebro (2013), Section 5.

    M(t+1) = P(the best approximation of M(t) + eta x x' of rank K)

with the P of MSG: only the K largest eigenvalues are projected, and only they are kept. K > k
leaves room for directions that have little weight yet; the paper's experiments have K = k + 1.

K is `max_rank`. `grow` is the rank test of Section 5: an iterate that had rank K at all steps since
the last test gets a larger K, and each test comes after twice as many steps as the one before. The
rule remembers when the next test is, the steps so far, and whether the rank was lower.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from onepass.algorithms.msg import MSG, MSGRule
from onepass.algorithms.rule import Rule
from onepass.schedules import Schedule

FIRST_RANK_TEST = 64.0  # steps: long enough for the first iterates to reach a small K


@dataclass
class CappedMSGRule(MSGRule):
    """MSG with a bound on the rank: a step costs O(d K)."""

    grow: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grow:
            self.memory = (FIRST_RANK_TEST, 0.0, 0.0)


class CappedMSG(MSG):
    """Matrix stochastic gradient with a bound on the rank: the paper's practical algorithm.

    Like `MSG`, but only the K = `max_rank` largest eigenvalues are kept before every projection.
    With K > k there is room to try new directions, so it rarely gets stuck, as the incremental
    algorithm does. A row costs O(d K).

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    max_rank : int, "auto" or None, default=None
        The bound K. None is k + 1, as the paper recommends. "auto" starts there, tests from time to
        time whether the rank stayed at K since the last test, and adds one if so (Section 5 of the
        paper).
    step_size : "auto", float or Schedule, default="auto"
        "auto" is `onepass.schedules.AdaGradNorm`, which needs no tuning. A number c means steps of
        c / sqrt(t), as in the paper's experiments.
    batch_size : int, default=1
        Rows per gradient step. 1 is the paper's algorithm. More rows make one step, with the mean
        of their gradients.
    average : bool, default=True
        True: the components come from the average of the iterates before each step. It loses
        several times less variance, and the paper's theorem is about it. False: they come from the
        last iterate, which is quicker. The paper's experiments use it.
    trace : {"at_most", "exact"}, default="at_most"
        The constraint tr M <= k or tr M = k. The optimum is the same. The iterate starts at rank
        one, and with "exact" tr M is k as soon as there are k directions.
    rounding : {"top", "sample"}, default="top"
        How k directions come from the iterate or average: its k leading eigenvectors, or a random
        draw whose projection is the iterate in expectation (Lemma 3.1).
    random_state : int, RandomState instance or None, default=None
        The seed for ``rounding="sample"``.
    center : bool, default=True
        Whether to subtract the running mean of the rows. The paper's algorithms do not: pass False
        for them, with rows whose mean is near zero.
    verbose : int, default=0
        1 shows progress while a source or an iterable is read.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal, ordered by variance, uncorrelated on the rows seen; the largest entry of each
        is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (k,)
        Of the rows seen, along the components.
    mean_ : ndarray of shape (d,)
        Mean of the rows seen; zeros unless `center` is set.
    captured_ : Captured
        The share of the variance of new rows that these components capture, with its error.
    noise_variance_, n_components_, n_samples_seen_, n_features_in_, feature_names_in_
        As in `PCA`.
    subspace_ : Subspace
        The current iterate M: basis, weights, and the eigenvalue of everything else.
    rank_ : int
        The number of directions that the iterate keeps one by one.
    max_rank_ : int
        The bound K now.
    rank_deficient_ : bool
        Whether the rank is below its bound: the paper's test for the global optimum. On a noisy
        stream it is only a hint.
    average_ : Subspace
        The average of the iterates before each step, if one is kept.

    Notes
    -----
    The gaps of a row are filled before its step by the running mean plus U w, with U the k
    leading directions of the iterate and w the least-squares fit to the observed entries.

    References
    ----------
    .. [1] R. Arora, A. Cotter, N. Srebro, "Stochastic Optimization of PCA with Capped MSG",
       NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import CappedMSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(CappedMSG(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: int | str | None = None,
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
        self.max_rank = max_rank
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.trace = trace
        self.rounding = rounding
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        k = self.n_components
        exact, grow = self.trace == "exact", self.max_rank == "auto"
        max_rank = k + 1 if self.max_rank is None or grow else int(self.max_rank)
        return CappedMSGRule(k, d, max_rank=max_rank, exact_trace=exact, grow=grow)

    @property
    def max_rank_(self) -> int:
        """The bound K on the rank now."""
        return self._finished().solver.rule.max_rank

    @property
    def rank_deficient_(self) -> bool:
        """Whether the rank is below its bound: then the iterate may be the global optimum."""
        return self.rank_ < self.max_rank_
