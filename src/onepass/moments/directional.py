"""The second moment of the rows along directions that move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LOST = 0.5  # cosine below which a direction is taken for another one


class DirectionalMoment:
    """Shares of variance along the directions that an algorithm holds, from recent rows.

    Each row is measured along the directions held before it was learned from, since directions
    turn towards the rows that they learn from. What was measured turns with the directions, and
    only the rows of the last half to three quarters of the stream count: earlier directions were
    others. On stationary rows the shares are those of all rows within a few per cent.

    Attributes
    ----------
    energy : float
        The sum of the squared norms of all rows.
    sums, energies : ndarray of shape (2, m, m) and (2,)
        Of the two windows, the older one first: x x' along the directions, and squared norms.
    weights : ndarray of shape (2,)
        Of the rows in the windows.
    next_window : float
        The weight of all rows at which the windows move on.
    """

    def __init__(self) -> None:
        self.energy = 0.0
        self.weight = 0.0
        self.sums: NDArray[np.float64] = np.zeros((2, 0, 0))
        self.energies: NDArray[np.float64] = np.zeros(2)
        self.next_window = 0.0

    def start(self, inner: NDArray[np.float64], energy: float, weight: float) -> None:
        """Include the first rows, measured along the directions (m) after they were learned from.

        Parameters
        ----------
        inner : ndarray of shape (m, m)
            The sum of x x' along the directions.
        energy, weight : float
            The sum of the squared norms of the rows, and of their weights.
        """
        self.energy, self.weight = energy, weight
        self.sums = np.stack([np.zeros_like(inner), inner])
        self.energies = np.array([0.0, energy])
        self.next_window = 2.0 * weight

    def add(
        self,
        turn: NDArray[np.float64],
        inner: NDArray[np.float64],
        energy: float,
        weight: float,
    ) -> None:
        """Include rows that turned the directions.

        Parameters
        ----------
        turn : ndarray of shape (m', m)
            The new directions in terms of the old ones.
        inner : ndarray of shape (m', m')
            The sum of x x' along the new directions.
        energy, weight : float
            The sum of the squared norms of the rows, and of their weights.
        """
        self.energy += energy
        self.weight += weight
        if self.weight > self.next_window:
            self.next_window *= 2.0
            self.sums = np.stack([self.sums[1], np.zeros_like(self.sums[1])])
            self.energies = np.array([self.energies[1], 0.0])
        rotation = _rotation(turn)
        self.sums = rotation @ self.sums @ rotation.T
        self.sums[1] += inner
        self.energies = self.energies + [0.0, energy]

    def second(self) -> NDArray[np.float64]:
        """Return the sum of x x' over all rows along the directions, shape (m, m)."""
        measured = float(self.energies.sum())
        return self.sums.sum(axis=0) * (self.energy / measured if measured > 0.0 else 0.0)

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        self.energy, self.weight = factor * self.energy, factor * self.weight
        self.next_window *= factor
        self.sums, self.energies = factor * self.sums, factor * self.energies

    def merge(
        self,
        other: DirectionalMoment,
        our_turn: NDArray[np.float64],
        their_turn: NDArray[np.float64],
    ) -> None:
        """Include the rows of another one; turns lead from both directions to the joint ones."""
        ours, theirs = _rotation(our_turn), _rotation(their_turn)
        self.sums = ours @ self.sums @ ours.T + theirs @ other.sums @ theirs.T
        self.energies = self.energies + other.energies
        self.energy, self.weight = self.energy + other.energy, self.weight + other.weight
        self.next_window += other.next_window

    def copy(self) -> DirectionalMoment:
        """Return a copy."""
        twin = DirectionalMoment()
        twin.__dict__.update(self.__dict__)
        twin.sums = self.sums.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return dict(self.__dict__)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DirectionalMoment:
        """Return the moment of a checked state."""
        moment = cls()
        moment.__dict__.update(state)
        return moment


def _rotation(turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation closest to a turn (m', m), a contraction for directions that are lost.

    Directions that fluctuate about their limit would lose a little of what was measured with every
    turn; their variances would be too small in the end.
    """
    if not turn.size:
        return turn
    left, cosines, right = np.linalg.svd(turn, full_matrices=False)
    return (left * np.where(cosines > LOST, 1.0, cosines)) @ right
