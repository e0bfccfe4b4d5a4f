"""The progressive estimate of the share of variance captured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
        largest = float(energy.max(initial=0.0))
        self.count += len(energy)
        self._reach(largest)
        if self.unit > 0.0:
            c, e = captured / self.unit, energy / self.unit
            self.sums = self.sums + [c.sum(), e.sum(), c @ c, c @ e, e @ e]

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
