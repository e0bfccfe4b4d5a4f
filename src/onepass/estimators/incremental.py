"""The incremental algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.estimators.iterative import IterativeEstimator
from onepass.estimators.parameters import check_whole
from onepass.learning import rules


class Incremental(IterativeEstimator):
    """The incremental algorithm: the second moment of the rows, truncated after every row.

    No steps to choose, and the fastest progress where it works; but with K = k it gets stuck on
    data whose rows are orthogonal, as the paper's Section 5.2 shows.

    Parameters
    ----------
    <<n_components>>
    max_rank : int or None, default=None
        The rank K that is kept; None is k, as in the paper.
    batch_size : int, default=1
        Rows that are added between two truncations.
    <<center>>
    <<verbose>>

    Attributes
    ----------
    <<attributes>>
    subspace_ : Subspace
        The truncated second moment; its weights are eigenvalues, as sums over the rows.

    References
    ----------
    <<paper>>
    .. [2] R. Arora, A. Cotter, K. Livescu, N. Srebro, "Stochastic Optimization for PCA and PLS",
       Allerton 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Incremental
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> model = Incremental(2)
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
        check_whole("batch_size", self.batch_size)
        if self.max_rank is not None:
            check_whole("max_rank (or None)", self.max_rank)
            if self.max_rank < self.n_components:
                raise ValueError(
                    f"max_rank={self.max_rank} is less than n_components={self.n_components}"
                )

    def _rule(self, d: int, rng: np.random.Generator) -> rules.Rule:
        k = self.n_components
        return rules.Incremental(k, d, max_rank=k if self.max_rank is None else self.max_rank)
