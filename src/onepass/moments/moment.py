"""What is asked of a running second moment of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onepass.moments.mean import Mean


class Shifted(NamedTuple):
    """Rows of shape (b, d) minus something, their weighted sum (d,), and if all weights are 1.

    The rows are None where their squares are in the moment's `squares` already.
    """

    rows: Any
    total: NDArray[np.float64]
    alike: bool


class Moment(ABC):
    """The sum S of x x' of the rows: exact, sketched, or along some directions.

    Parameters
    ----------
    center : bool
        Whether it is about the mean or about zero.
    """

    def __init__(self, center: bool) -> None:
        self.center = center
        self._energy = 0.0

    @property
    def energy(self) -> float:
        """The sum of the squared norms of the rows."""
        return self._energy

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that goes on by itself."""

    @abstractmethod
    def fade(self, factor: float) -> None:
        """Let everything so far count less."""

    @abstractmethod
    def update(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        before: Mean,
        after: Mean,
        held: NDArray[np.floating] | None = None,
        shifted: Shifted | None = None,
    ) -> None:
        """Include rows of shape (b, d), dense or sparse, seen between two means.

        Their energy has been added already. `shifted` are the same rows minus the mean before them,
        or minus something near if they are the first, where somebody has that at hand. `held` are
        the orthonormal directions (m, d) that an algorithm holds after it has learned from them,
        for a moment that looks along these only.
        """

    @abstractmethod
    def merge(
        self,
        other: Self,
        between: NDArray[np.float64],
        held: NDArray[np.floating] | None = None,
    ) -> None:
        """Include the rows of another one; `between` is the row (d,) that the two means add."""

    @abstractmethod
    def compress(self, directions: NDArray[np.floating], mean: Mean | None) -> NDArray[np.float64]:
        """Return ``directions @ S @ directions.T`` for orthonormal rows (j, d).

        A moment that has to look for what it has not seen needs the `mean` of the rows for that,
        and leaves it out without one.
        """

    def add_energy(self, energy: float, captured: float = 0.0) -> None:
        """Count the energy of rows, and how much of it was captured before learning from them."""
        self._energy += energy

    def follow(self, turn: NDArray[np.float64], inner: NDArray[np.float64], energy: float) -> None:
        """Take notice of how the directions of an algorithm moved; only some moments ask for it."""
        return

    def lighten(self) -> None:
        """Leave out what is not needed to merge, so that it is quick to send: usually nothing."""
        return


class WholeMoment(Moment):
    """A second moment that is known, or approximated, in all directions."""

    @property
    def squares(self) -> NDArray[np.float64]:
        """A matrix (d, d) to whose lower triangle squares of rows can be added, or of size 0."""
        return np.zeros((0, 0))

    @abstractmethod
    def leading(
        self, k: int, start: NDArray[np.floating] | None = None
    ) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        """Return k leading directions (k, d) and the sums of squares along them, descending.

        A sketch may have fewer. With `start`, directions (j >= k, d) that are about right already,
        they may be found from these, which is quicker and nearly as good.
        """

    def spanned(self, k: int, start: NDArray[np.floating] | None = None) -> NDArray[np.floating]:
        """Return the leading directions along which there is any variance: (at most k, d)."""
        directions, sums = self.leading(k, start)
        rounding = 4 * np.sqrt(directions.shape[1]) * np.finfo(np.float64).eps
        least = rounding * sums.max(initial=0.0)
        return directions[sums > least]
