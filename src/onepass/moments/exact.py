"""The second moment of the rows as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.moments.accumulator import Accumulator


class ExactMoment(Accumulator):
    """The sum (d, d) of x x' over rows that are weighted and centred already, as by `weigh`."""

    changed = ("matrix",)

    def __init__(self, d: int) -> None:
        self.matrix: NDArray[np.float64] = np.zeros((d, d))

    @property
    def energy(self) -> float:
        """The sum of the squared norms of the rows."""
        return float(self.matrix.trace())

    def add(self, rows: NDArray[np.floating]) -> None:
        """Include rows (r, d)."""
        wide = rows.astype(np.float64, copy=False)
        self.matrix += wide.T @ wide

    def merge(self, other: ExactMoment, between: NDArray[np.float64]) -> None:
        """Include another one, and the row (d,) that accounts for the difference of the means."""
        self.matrix += other.matrix
        self.add(between[None])

    def compress(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``directions @ matrix @ directions.T`` for directions (j, d)."""
        return directions @ self.matrix @ directions.T

    def saved(self) -> dict[str, Any]:
        return {"triangle": self.matrix[np.triu_indices(len(self.matrix))]}

    def restore(self, state: dict[str, Any]) -> None:
        rows, columns = np.triu_indices(len(self.matrix))
        self.matrix[rows, columns] = self.matrix[columns, rows] = state["triangle"]
