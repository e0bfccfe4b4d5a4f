"""The incremental algorithm: R. Arora, A. Cotter, K. Livescu, N. Srebro (2012); Section 5.2.

    M(t+1) = the best approximation of M(t) + x x' of rank K

No step, no shift, no clip; K = k in the paper. M is `state`, K is `max_rank`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onepass.algorithms.estimator import Iterative
from onepass.algorithms.rule import Rule, SpectralRule
from onepass.estimators.parameters import check_whole
from onepass.precision import Doubles
from onepass.schedules import Constant, Schedule
from onepass.subspace import Subspace


@dataclass
class IncrementalRule(SpectralRule):
    """The second moment of the rows, truncated after every row or batch."""

    name = "incremental"
    largest_weight = 1e308  # sums over the rows

    def diameter(self) -> float:
        return 1.0

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        return super().step(state, rows, 1.0)  # it adds the rows up, whatever the step

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        return super().merged(states, [1.0] * len(states))  # it is a sum, not an average


class Incremental(Iterative):
    """The incremental algorithm: the second moment of the rows, truncated after every row.

    It has no step size and makes the fastest progress where it works. But with K = k it can get
    stuck, for example if all rows are orthogonal: see Section 5.2 of the paper.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    max_rank : int or None, default=None
        The rank K that is kept; None is k, as in the paper.
    batch_size : int, default=1
        Rows that are added between two truncations.
    center, verbose
        As in `CappedMSG`.

    Attributes
    ----------
    components_, explained_variance_, mean_, captured_, rank_, ...
        As in `CappedMSG`, but for its `max_rank_`, `rank_deficient_` and `average_`.
    subspace_ : Subspace
        The truncated second moment; its weights are eigenvalues, as sums over the rows.

    References
    ----------
    .. [1] R. Arora, A. Cotter, K. Livescu, N. Srebro, "Stochastic Optimization for PCA and PLS",
       Allerton 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Incremental
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(Incremental(2).fit(X).score(X) > 0.85)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_rank: int | None = None,
        batch_size: int = 1,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_rank = max_rank
        self.batch_size = batch_size
        self.center = center
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_rank is not None:
            check_whole("max_rank", self.max_rank, least=self.n_components)

    def _schedule(self) -> Schedule:
        return Constant(1.0)

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        k = self.n_components
        return IncrementalRule(k, d, max_rank=int(self.max_rank or k))
