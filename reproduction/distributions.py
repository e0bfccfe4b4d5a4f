"""The paper's distributions, and random directions to start from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Orthogonal:
    """Unit basis vectors: e_i with probability p_i, p decaying geometrically.

    The distribution of Figures 1 and 2 (Section 4 of the paper). The second moment is diag(p),
    and the largest eigenvalues belong to the first axes.

    Parameters
    ----------
    d : int
        The dimension.
    tau : float
        The rate of decay.
    signed : bool
        False is the paper's text: p_i proportional to sqrt(Sigma_ii), that is to tau^(-i/2). The
        text forgets to normalise it. True is a later variant of the first author:
        p_i proportional to tau^-i, and a random sign.
    """

    def __init__(self, d: int = 32, tau: float = 1.1, *, signed: bool = False) -> None:
        self.d, self.signed = d, signed
        decay = tau ** -(np.arange(1, d + 1) if signed else np.arange(1, d + 1) / 2)
        self.probabilities: NDArray[np.float64] = decay / decay.sum()

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows, shape (n, d)."""
        rows = np.zeros((n, self.d))
        axes = rng.choice(self.d, size=n, p=self.probabilities)
        rows[np.arange(n), axes] = rng.choice([-1.0, 1.0], size=n) if self.signed else 1.0
        return rows


def toy_rows(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n rows (n, 2): [sqrt(3), 0] with probability 1/3, else [0, sqrt(2)].

    The larger row comes less often: the second moment is diag(1, 4/3), and with k = 1 the
    incremental algorithm nevertheless ends at [1, 0] with probability 5/9 (Section 5.2 of the
    paper).
    """
    return np.diag(np.sqrt([3.0, 2.0]))[rng.choice(2, size=n, p=[1 / 3, 2 / 3])]


def random_directions(k: int, d: int, seed: int) -> NDArray[np.float64]:
    """Return uniformly random orthonormal rows, shape (k, d)."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, k)))
    # Without the signs the distribution would depend on LAPACK's convention.
    return np.ascontiguousarray((q * np.sign(np.diag(r))).T)
