"""Grassmannian SGD, GROUSE: L. Balzano, R. Nowak, B. Recht (2010); the paper's Section 6.

    U(t+1) = U + [(cos theta - 1) p/|p| + sin theta r/|r|] w'/|w|

with w = U' x, p = U w, r = x - p and theta = eta |r| |p|: a step along a geodesic of the
Grassmannian. Of a row with gaps only the coordinates O are observed:

    w = argmin |U_O w - x_O|,    p = U w,    r = x_O - U_O w on O and 0 elsewhere

That is the step above with the row p + r, since U' r = 0: `completed` fills gaps from p.

U' is the `basis` of the state (its k rows are the columns of U). The core takes the steps, by
single rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onepass.algorithms.estimator import Iterative, start_directions
from onepass.algorithms.oja import OjaRule
from onepass.algorithms.rule import Rule
from onepass.precision import Doubles
from onepass.schedules import Schedule
from onepass.subspace import Subspace


@dataclass
class GrouseRule(OjaRule):
    """Turn k directions towards every row."""

    name = "grouse"

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        raise NotImplementedError("Grassmannian SGD steps by single rows")


class Grouse(Iterative):
    """Grassmannian SGD: GROUSE.

    Every row turns the subspace along a geodesic of the Grassmannian, by an angle that is the step
    times the lengths of the row inside and outside of the subspace. It steps by single rows. For a
    row with gaps, both parts are those of the least-squares fit to its observed entries, as in the
    paper.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size, average, init, random_state, center, verbose
        As in `Oja`.

    Attributes
    ----------
    components_, explained_variance_, mean_, captured_, subspace_, rank_, average_, ...
        As in `CappedMSG`, but for its `max_rank_` and `rank_deficient_`.

    References
    ----------
    .. [1] L. Balzano, R. Nowak, B. Recht, "Online Identification and Tracking of Subspaces
       from Highly Incomplete Information", Allerton 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Grouse
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(Grouse(2, random_state=0).fit(X).score(X) > 0.85)
    True
    """

    averaged_scale: ClassVar[float] = 4.0  # larger ones turn by over a right angle at the start

    def __init__(
        self,
        n_components: int = 2,
        *,
        step_size: float | str | Schedule = "auto",
        average: bool = True,
        init: ArrayLike | str = "random",
        random_state: Any = None,
        center: bool = True,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.average = average
        self.init = init
        self.random_state = random_state
        self.center = center
        self.verbose = verbose

    def _rule(self, d: int, rng: np.random.Generator) -> Rule:
        k = self.n_components
        return GrouseRule(k, d, init=start_directions(self.init, k, d, rng))
