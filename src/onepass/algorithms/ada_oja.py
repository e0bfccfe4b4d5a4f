"""AdaOja: A. Henriksen, R. Ward (2019), "AdaOja: Adaptive Learning Rates for Streaming PCA".

    U(t+1) = orth(U(t) + eta(t) g(t)),    g(t) = x x' U(t),    eta(t) = b / sqrt(sum |g(s)|^2)

with the sum over all steps s <= t: the step of Oja, with a size that needs no tuning.

b is `size`, and the rule remembers the root of the sum. The paper adds 1e-5 to it and counts each
column of U by itself; here the sum is that of all columns, so that U may be any basis of its span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from onepass.algorithms.oja import Oja, OjaRule
from onepass.precision import Doubles
from onepass.schedules import Constant, Schedule
from onepass.subspace import Subspace


@dataclass
class AdaOjaRule(OjaRule):
    """Oja's step over the root of the sum of the squared norms of the gradients."""

    name = "ada_oja"

    def step(self, state: Subspace, rows: Doubles, size: float) -> Subspace:
        gradient = (state.basis @ rows.T) @ rows / len(rows)
        gradients = float(np.hypot.reduce(gradient.ravel(), initial=self.memory[0]))
        self.memory = (gradients, 0.0, 0.0)
        return super().step(state, rows, size / gradients) if gradients > 0.0 else state

    def merge(self, other: Self) -> None:
        self.memory = (float(np.hypot(self.memory[0], other.memory[0])), 0.0, 0.0)


class AdaOja(Oja):
    """Oja's algorithm with steps that adapt to the gradients, of Henriksen and Ward.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    step_size : "auto", float or Schedule, default="auto"
        The number b of the steps b / sqrt(sum of the squared norms of the gradients). "auto" is the
        paper's 1, and 4 where iterates are averaged.
    batch_size, average, init, random_state, center, verbose
        As in `Oja`.

    Attributes
    ----------
    components_, explained_variance_, mean_, captured_, subspace_, rank_, average_, ...
        As in `CappedMSG`, but for its `max_rank_` and `rank_deficient_`.

    References
    ----------
    .. [1] A. Henriksen, R. Ward, "AdaOja: Adaptive Learning Rates for Streaming PCA",
       arXiv:1905.12115, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import AdaOja
    >>> X = np.random.default_rng(0).normal(size=(2000, 5)) * [4, 3, 1, 1, 1]
    >>> bool(AdaOja(2, random_state=0).fit(X).score(X) > 0.85)
    True
    """

    _rule_type = AdaOjaRule
    averaged_scale: ClassVar[float] = 4.0

    def _schedule(self) -> Schedule:
        if isinstance(self.step_size, Schedule):
            return self.step_size
        if isinstance(self.step_size, str):
            return Constant(self.averaged_scale if self.average else 1.0)
        return Constant(float(self.step_size))
