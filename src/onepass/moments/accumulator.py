"""What all sums over the rows of a stream have in common, and the simplest of them, the mean."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray


class Accumulator:
    """Sums over rows that are copied, saved and faded alike.

    Arrays are replaced, never changed in place, so that copies can share them. Exceptions are named
    in `changed`.

    Attributes
    ----------
    fading : tuple of str
        The sums that count less when the rows so far do.
    given : tuple of str
        What is known without the rows, and not kept in a model file.
    changed : tuple of str
        What is changed in place, or learns by itself: it is copied.
    """

    fading: ClassVar[tuple[str, ...]] = ()
    given: ClassVar[tuple[str, ...]] = ()
    changed: ClassVar[tuple[str, ...]] = ()

    def copy(self) -> Self:
        """Return a copy that goes on by itself."""
        twin = copy.copy(self)
        for name in self.changed:
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        for name in self.fading:
            setattr(self, name, factor * getattr(self, name))

    def saved(self) -> dict[str, Any]:
        """Return what a model file keeps, as a dict of numbers and arrays."""
        return {name: value for name, value in vars(self).items() if name not in self.given}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        vars(self).update(state)


class Mean(Accumulator):
    """The weighted mean of the rows so far.

    Attributes
    ----------
    weight : float
        The sum of the weights; the number of rows where these have none.
    vector : ndarray of shape (d,)
    """

    def __init__(self, d: int) -> None:
        self.weight = 0.0
        self.vector: NDArray[np.float64] = np.zeros(d)

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
