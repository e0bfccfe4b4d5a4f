"""The progressive estimate of the share of variance captured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.kernels.survey import add_scores


@dataclass(frozen=True)
class Captured:
    """The share of variance captured by the directions, each row scored before it was learned from.

    Attributes
    ----------
    mean : float
        The sum of the captured energies over the sum of the energies; NaN before any energy.
    standard_error : float
        Of the mean, as of a ratio of two sums over rows.
    """

    mean: float
    standard_error: float


class Score:
    """Sums for `Captured`, kept relative to the largest energy so that squares stay in range."""

    def __init__(self) -> None:
        self.unit = 0.0
        self.count = 0.0
        self.sums = np.zeros(5)  # of c, e, c^2, c e, e^2

    def copy(self) -> Score:
        """Return a copy; `add` never changes the sums in place."""
        twin = Score()
        twin.unit, twin.count, twin.sums = self.unit, self.count, self.sums
        return twin

    def add(self, captured: NDArray[np.float64], energy: NDArray[np.float64]) -> None:
        """Add rows with these captured energies and energies."""
        sums = self.sums.copy()
        self.go_on(add_scores(captured, energy, self.unit, sums), sums, len(energy))

    def go_on(self, unit: float, sums: NDArray[np.float64], added: int) -> None:
        """Take sums, in units of their own, that somebody has added rows to."""
        self.unit, self.sums = unit, sums
        self.count += added

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.count *= factor
        self.sums = factor * self.sums

    def merge(self, other: Score) -> None:
        """Include the rows of another score."""
        self._reach(other.unit)
        self.count += other.count
        if self.unit > 0.0:
            ratio = other.unit / self.unit
            self.sums = self.sums + other.sums * ratio ** np.array([1, 1, 2, 2, 2])

    def _reach(self, largest: float) -> None:
        """Make the unit at least `largest`."""
        if largest > self.unit:
            self.sums = self.sums * (self.unit / largest) ** np.array([1, 1, 2, 2, 2])
            self.unit = largest

    def value(self) -> Captured:
        """Return the estimate."""
        c, e, cc, ce, ee = self.sums
        if e == 0.0 or self.count < 2:
            return Captured(float("nan"), float("nan"))
        mean = c / e
        spread = max(cc - 2 * mean * ce + mean * mean * ee, 0.0) * self.count / (self.count - 1)
        return Captured(float(mean), float(np.sqrt(spread) / e))


def first_scores(
    rows: Any, weights: NDArray[np.float64], k: int, center: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score the second half of the first rows by the k leading directions of the first half.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (b, d)
        Before which nothing was learned.
    weights : ndarray of shape (b,)
    k : int
        How many directions.
    center : bool
        Whether energies are about the mean of the first half, or about zero.

    Returns
    -------
    captured, energy : ndarray of shape (s,)
        Of the rows of the second half; empty if the first half is too short.
    """
    half = rows.shape[0] // 2
    if half <= k:
        return np.zeros(0), np.zeros(0)
    if center and not issparse(rows):  # so that a far mean does not cost digits
        rows = rows - weights[:half] @ rows[:half] / weights[:half].sum()
    inner = rows @ rows.T
    inner = np.asarray(inner.toarray() if issparse(inner) else inner, dtype=np.float64)
    return scores_from(inner, weights, k, center)


def scores_from(
    inner: NDArray[np.float64], weights: NDArray[np.float64], k: int, center: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what `first_scores` does, from the products (b, b) of rows that are not far away."""
    half = len(inner) // 2
    if half <= k:
        return np.zeros(0), np.zeros(0)
    share = weights[:half] / weights[:half].sum()
    if center:
        across = inner[:, :half] @ share
        inner = inner - across[:, None] - across + share @ across[:half]
    size = float(inner.diagonal().max(initial=0.0)) or 1.0
    root = np.sqrt(weights)
    inner = root[:, None] * (inner / size) * root
    values, vectors = np.linalg.eigh(inner[:half, :half])
    kept = values[-k:] > 1e-12 * max(float(values[-1]), 0.0)
    along = inner[half:, :half] @ (vectors[:, -k:][:, kept] / np.sqrt(values[-k:][kept]))
    energy = inner.diagonal()[half:]
    captured = np.minimum(np.einsum("ij,ij->i", along, along), energy)
    return size * captured, size * energy
