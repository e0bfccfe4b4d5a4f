"""Distributions of the studies that the library itself has no use for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.sources.synthetic import Distribution
from onepass.subspace import Subspace


class RareDirections(Distribution):
    """Gaussian rows, a few of which also have a large part along directions of their own.

    Parameters
    ----------
    spectrum : ndarray of shape (d - len(rare),)
        The variances of what is common to all rows.
    rare : ndarray of shape (r,)
        The variances along the rare directions, which come first.
    rate : float
        The share of the rows that have a rare part.
    """

    def __init__(
        self, spectrum: NDArray[np.float64], rare: NDArray[np.float64], rate: float
    ) -> None:
        self.spectrum, self.rare, self.rate = spectrum, rare, rate
        self.d = len(rare) + len(spectrum)

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""
        rows = rng.normal(size=(n, self.d))
        r = len(self.rare)
        rows[:, r:] *= np.sqrt(self.spectrum)
        rows[:, :r] *= np.sqrt(self.rare / self.rate) * (rng.random((n, 1)) < self.rate)
        return rows

    def second_moment(self) -> Subspace:
        """Return E[x x'], which is diagonal."""
        return Subspace(np.eye(self.d), np.concatenate([self.rare, self.spectrum]))


class IndependentT(Distribution):
    """Coordinates that are independent Student-t variables, scaled to a given spectrum.

    Parameters
    ----------
    spectrum : ndarray of shape (d,)
        Their variances.
    df : float
        Degrees of freedom, above 2.
    """

    def __init__(self, spectrum: NDArray[np.float64], df: float) -> None:
        self.spectrum, self.df, self.d = spectrum, df, len(spectrum)

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""
        deviation = np.sqrt(self.spectrum * (self.df - 2) / self.df)
        return rng.standard_t(self.df, size=(n, self.d)) * deviation

    def second_moment(self) -> Subspace:
        """Return E[x x'], which is diagonal."""
        return Subspace(np.eye(self.d), self.spectrum)
