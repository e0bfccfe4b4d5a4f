"""The stochastic power method: E. Oja, J. Karhunen (1985); the paper's Section 3.

    U(t+1) = orth(U(t) + eta x x' U(t))

With single rows that is a rotation in the plane of p = U U' x and r = x - p by the angle phi,
tan phi = eta |p| |r| / (1 + eta |p|^2).

U' is the `basis` of the state (its k rows are the columns of U), eta is `size`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.algorithms.estimator import Iterative, start_directions
from onepass.algorithms.rule import Rule
from onepass.precision import Doubles
from onepass.schedules import Schedule
from onepass.subspace import Subspace, orthonormal


@dataclass
class OjaRule(Rule):
    """Stochastic gradient ascent on k directions, made orthonormal after every step."""

    init: NDArray[np.floating] = field(kw_only=True)
    name = "oja"
    fixed_rank = True

    def start(self, dtype: np.dtype) -> Subspace:
        return Subspace(self.init.astype(dtype), np.ones(self.k))

    def diameter(self) -> float:
        return float(np.sqrt(2 * min(self.k, self.d - self.k)))

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        U = state.basis
        return Subspace(orthonormal(U + size * (U @ rows.T) @ rows), state.weights)

    def merged(self, states: list[Subspace], shares: list[float]) -> Subspace:
        return Subspace(super().merged(states, shares).basis, np.ones(self.k))


class Oja(Iterative):
    """The stochastic power method: Oja's algorithm for k directions.

    Stochastic gradient ascent on the basis itself, orthonormalised after every step. The problem in
    the basis is not convex, and the speed of progress depends on the steps.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    init : "random" or array-like of shape (k, d), default="random"
        The directions to start from.
    random_state : int, RandomState instance or None, default=None
        The seed for ``init="random"``.
    step_size, batch_size, average, center, verbose
        As in `CappedMSG`.

    Attributes
    ----------
    components_, explained_variance_, mean_, captured_, subspace_, rank_, average_, ...
        As in `CappedMSG`, but for its `max_rank_` and `rank_deficient_`.

    References
    ----------
    .. [1] E. Oja, J. Karhunen, "On Stochastic Approximation of the Eigenvectors and Eigenvalues
       of the Expectation of a Random Matrix", J. Math. Anal. Appl. 106, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Oja
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(Oja(2, random_state=0).fit(X).score(X) > 0.85)
    True
    """

    _rule_type: ClassVar[type[OjaRule]] = OjaRule

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        batch_size: int = 1,
        average: bool = True,
        init: ArrayLike | str = "random",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.batch_size = batch_size
        self.average = average
        self.init = init
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        k = self.n_components
        return self._rule_type(k, d, init=start_directions(self.init, k, d, rng))
