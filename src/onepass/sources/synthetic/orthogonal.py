"""The distribution of Figures 1 and 2 (Section 3.2 of the paper)."""

import numpy as np
from numpy.typing import NDArray

from onepass.sources.synthetic.distribution import Distribution
from onepass.subspace import Subspace


class Orthogonal(Distribution):
    """Unit basis vectors: e_i with probability p_i, p decaying geometrically.

    The second moment is diag(p), and the largest eigenvalues belong to the first axes.

    Parameters
    ----------
    d : int
        The dimension.
    tau : float
        The rate of decay, above 1.
    signed : bool
        False is the paper's text: p_i proportional to sqrt(Sigma_ii), that is to tau^(-i/2). The
        text forgets to normalise it. True is a later variant of the first author:
        p_i proportional to tau^-i, and a random sign.

    Examples
    --------
    >>> from onepass.sources.synthetic import Orthogonal
    >>> round(Orthogonal().optimum(4), 4)
    0.2218
    >>> round(Orthogonal(signed=True).optimum(4), 4)
    0.3327
    """

    def __init__(self, d: int = 32, tau: float = 1.1, *, signed: bool = False) -> None:
        if not tau > 1:
            raise ValueError(f"tau={tau} must be above 1")
        self.d = d
        self.tau = tau
        self.signed = signed
        decay = tau ** -(np.arange(1, d + 1) if signed else np.arange(1, d + 1) / 2)
        self.probabilities: NDArray[np.float64] = decay / decay.sum()

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""
        rows = np.zeros((n, self.d))
        axes = rng.choice(self.d, size=n, p=self.probabilities)
        rows[np.arange(n), axes] = rng.choice([-1.0, 1.0], size=n) if self.signed else 1.0
        return rows

    def second_moment(self) -> Subspace:
        """Return E[x x'] = diag(p)."""
        return Subspace(np.eye(self.d), self.probabilities)
