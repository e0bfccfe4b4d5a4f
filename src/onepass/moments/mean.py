"""The running mean of the rows, and rows centred as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.centring import centre


class Mean:
    """The weighted mean of the rows so far.

    Attributes
    ----------
    weight : float
        The sum of the weights; the number of rows where they have none.
    vector : ndarray of shape (d,)
    """

    def __init__(self, d: int) -> None:
        self.weight = 0.0
        self.vector = np.zeros(d)

    def copy(self) -> Mean:
        """Return a copy; `update` never changes a vector in place."""
        twin = Mean(0)
        twin.weight, twin.vector = self.weight, self.vector
        return twin

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.weight *= factor

    def between(self, other: Mean) -> NDArray[np.float64]:
        """Return the row whose square is the scatter of two groups' means about the joint one."""
        together = self.weight + other.weight
        share = np.sqrt(self.weight) * np.sqrt(other.weight / together) if together > 0.0 else 0.0
        return share * (other.vector - self.vector)

    def merge(self, other: Mean) -> None:
        """Include the rows of another mean."""
        together = self.weight + other.weight
        if together > 0.0:
            self.vector = self.vector + other.weight / together * (other.vector - self.vector)
        self.weight = together

    def update(self, shift: Any, rows: Any, weights: NDArray[np.float64]) -> None:
        """Include rows of shape (b, d), dense or sparse, given as shift + rows.

        Rows that are all the same leave a mean that is that row to the last bit.
        """
        self.move(shift, weights @ rows, float(weights.sum()))

    def move(self, shift: Any, total: NDArray[np.float64], added: float) -> None:
        """Include rows of weight `added`, whose weighted sum is that times shift + total (d,)."""
        if added > 0.0:
            before = self.weight / (self.weight + added) if self.weight > 0.0 else 0.0
            self.weight += added
            self.vector = shift + before * (self.vector - shift) + total / self.weight

    def take(
        self, rows: NDArray, weights: NDArray[np.float64], centred: NDArray[np.floating]
    ) -> None:
        """Include dense rows of shape (b, d) one by one, and write them centred as they come.

        These are the rows of `kernels.centring`, whose second moment is the scatter of the rows.
        """
        shift = self.vector if self.weight > 0.0 else rows[0].astype(np.float64)
        moved = np.zeros(len(shift))
        self.weight = centre(rows, shift, moved, self.weight, weights, centred)
        self.vector = shift + moved
