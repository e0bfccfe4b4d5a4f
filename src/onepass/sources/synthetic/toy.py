"""The distribution on which the incremental algorithm gets stuck (Section 5.2 of the paper)."""

import numpy as np
from numpy.typing import NDArray

from onepass.sources.synthetic.distribution import Distribution
from onepass.subspace import Subspace


class Toy(Distribution):
    """``[sqrt(3), 0]`` with probability 1/3 and ``[0, sqrt(2)]`` with probability 2/3.

    The larger row comes less often: the second moment is diag(1, 4/3), and with k = 1 the
    incremental algorithm nevertheless ends at ``[1, 0]`` with probability 5/9.

    Examples
    --------
    >>> from onepass.sources.synthetic import Toy
    >>> Toy().optimum(1)
    1.3333333333333333
    >>> Toy().stream(1000).n_rows
    1000
    """

    d = 2

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, 2) array."""
        rows = np.diag(np.sqrt([3.0, 2.0]))
        return rows[rng.choice(2, size=n, p=[1 / 3, 2 / 3])]

    def second_moment(self) -> Subspace:
        """Return E[x x'] = diag(1, 4/3)."""
        return Subspace(np.eye(2), np.array([1.0, 4 / 3]))
