"""Capped MSG."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.estimators.msg import MSG
from onepass.estimators.parameters import check_whole
from onepass.learning import rules


class CappedMSG(MSG):
    """Matrix stochastic gradient with a bound on the rank: the paper's practical algorithm.

    As `MSG`, and before every projection only the K = `max_rank` largest eigenvalues are kept. With
    K > k there is room to look into new directions, so it does not get stuck as the incremental
    algorithm does; the cost of a row is O(d K).

    Parameters
    ----------
    <<n_components>>
    max_rank : int, "auto" or None, default=None
        The bound K; None is k + 1, as the paper recommends. "auto" starts there and adds one
        whenever the rank was never below K between two tests, at ever longer intervals: the
        paper's test, by which an iterate that stays at rank K asks for a larger K.
    <<trace>>
    <<step_size>>
    <<batch_size>>
    <<average>>
    <<rounding>>
    <<center>>
    <<verbose>>

    Attributes
    ----------
    <<attributes>>
    <<subspace>>
    rank_ : int
        The rank of the iterate.
    rank_deficient_ : bool
        Whether it is below the bound: the paper's test for the global optimum. On a noisy stream
        it is a diagnostic.
    max_rank_ : int
        The bound K now.

    References
    ----------
    <<paper>>

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import CappedMSG
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = CappedMSG(2)
    >>> for block in np.array_split(X, 7):
    ...     model = model.partial_fit(block)
    >>> model.transform(X).shape
    (2000, 2)
    >>> bool(model.score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: Any = None,
        trace: str = "at_most",
        step_size: Any = "auto",
        batch_size: int = 1,
        average: bool = True,
        rounding: str = "top",
        center: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_components,
            trace=trace,
            step_size=step_size,
            batch_size=batch_size,
            average=average,
            rounding=rounding,
            center=center,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_rank = max_rank

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_rank is None or (isinstance(self.max_rank, str) and self.max_rank == "auto"):
            return
        check_whole('max_rank (or None, or "auto")', self.max_rank)
        if self.max_rank < self.n_components:
            raise ValueError(
                f"max_rank={self.max_rank} is less than n_components={self.n_components}"
            )

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k, grow = self.n_components, isinstance(self.max_rank, str)
        max_rank = k + 1 if self.max_rank is None or grow else self.max_rank
        exact = self.trace == "exact"
        return rules.MSG(k, d, max_rank=max_rank, exact_trace=exact, grow=grow)

    @property
    def rank_(self) -> int:
        """The rank of the current iterate."""
        return self._settled().solver.state.rank

    @property
    def max_rank_(self) -> int:
        """The bound K on the rank now."""
        return self._settled().solver.rule.rank_bound

    @property
    def rank_deficient_(self) -> bool:
        """Whether the rank is below its bound: then the iterate may be the global optimum."""
        return self.rank_ < self.max_rank_
