"""The running mean of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


class Mean:
    """The weighted mean of the rows so far.

    Attributes
    ----------
    weight : float
        The sum of the weights; the number of rows where these have none.
    vector : ndarray of shape (d,)
        Never changed in place.
    """

    def __init__(self, d: int) -> None:
        self.weight = 0.0
        self.vector: NDArray[np.float64] = np.zeros(d)

    def copy(self) -> Mean:
        """Return a copy."""
        twin = Mean(0)
        twin.weight, twin.vector = self.weight, self.vector
        return twin

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.weight *= factor

    def origin(self, rows: Any) -> NDArray[np.float64]:
        """Return a point (d,) close to the rows, from which sums lose no digits.

        The mean so far, or the first row where there is none: rows that are all the same then
        leave a mean that is this row to the last bit.
        """
        if self.weight > 0.0 or issparse(rows):
            return self.vector
        return rows[0].astype(np.float64)

    def add(self, total: NDArray[np.float64], added: float, origin: NDArray[np.float64]) -> None:
        """Include rows of weight `added` whose weighted sum of (row - origin) is `total` (d,)."""
        if added > 0.0:
            before = self.weight / (self.weight + added)
            self.weight += added
            self.vector = origin + before * (self.vector - origin) + total / self.weight

    def between(self, other: Mean) -> NDArray[np.float64]:
        """Return the row (d,) whose square is the scatter of two groups' means about the joint."""
        together = self.weight + other.weight
        share = np.sqrt(self.weight) * np.sqrt(other.weight / together) if together > 0.0 else 0.0
        return share * (other.vector - self.vector)

    def merge(self, other: Mean) -> None:
        """Include the rows of another mean."""
        together = self.weight + other.weight
        if together > 0.0:
            self.vector = self.vector + other.weight / together * (other.vector - self.vector)
        self.weight = together

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {"weight": self.weight, "vector": self.vector}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Mean:
        """Return the mean of a checked state."""
        mean = cls(0)
        mean.weight, mean.vector = state["weight"], state["vector"]
        return mean
