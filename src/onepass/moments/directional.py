"""The second moment of the rows along directions that move."""

from __future__ import annotations

import numpy as np

from onepass.persistence.fields import Array, Field, Number, Size, State, weight
from onepass.precision import Doubles

LOST = 0.5  # cosine with its past below which a direction counts as a new one


class DirectionalMoment(State):
    """Shares of variance along the directions that an algorithm holds, from recent rows.

    Rows are measured along the directions held before them. What was measured turns with the
    directions, and only the rows of the last half to three quarters of the stream count.

    Attributes
    ----------
    energy : float
        The sum of the squared norms of all rows.
    sums, energies : ndarray of shape (2, m, m) and (2,)
        Of the two windows, the older one first: x x' along the directions, and squared norms.
    weight, next_window : float
        Of all rows, and that at which the windows move on.
    """

    def __init__(self, d: int) -> None:
        self.d = d
        self.energy = 0.0
        self.weight = 0.0
        self.sums: Doubles = np.zeros((2, 0, 0))
        self.energies: Doubles = np.zeros(2)
        self.next_window = 0.0

    def fields(self) -> dict[str, Field]:
        held = Size("measured directions", self.d)
        return {
            "energy": Number(fades=1),
            "weight": weight(),
            "next_window": weight(),
            "sums": Array((2, held, held), fades=1),
            "energies": Array((2,), least=0.0, fades=1),
        }

    def add(self, rotation: Doubles, inner: Doubles, energy: float, weight: float) -> None:
        """Include rows of an energy and a weight, with sums of x x' along directions (m', m').

        `rotation` (m', m) has these in terms of the previous directions.
        """
        self.energy += energy
        self.weight += weight
        if not self.next_window:
            self.next_window = 2.0 * self.weight
        elif self.weight > self.next_window:
            self.next_window *= 2.0
            self.sums = np.stack([self.sums[1], np.zeros_like(self.sums[1])])
            self.energies = np.array([self.energies[1], 0.0])
        if rotation.size:
            # Directions that fluctuate would lose a little with every chunk. So the closest
            # orthogonal matrix is taken, except for directions that are lost: these shrink.
            left, cosines, right = np.linalg.svd(rotation, full_matrices=False)
            rotation = (left * np.where(cosines > LOST, 1.0, cosines)) @ right
        older, newer = rotation @ self.sums @ rotation.T
        self.sums = np.stack([older, newer + inner])
        self.energies = self.energies + [0.0, energy]

    def second(self) -> Doubles:
        """Return the sum of x x' over all rows along the directions, shape (m, m)."""
        measured = float(self.energies.sum())
        return self.sums.sum(axis=0) * (self.energy / measured if measured > 0.0 else 0.0)

    def compress(self, directions: Doubles, held: Doubles) -> Doubles:
        """Return the sum of x x' over all rows along orthonormal directions (k, d).

        What is outside of `held` (m, d), which rows were measured along, is spread evenly.
        """
        inner, measured = directions @ held.T, self.second()
        outside = max(held.shape[1] - len(held), 1)
        spread = max(self.energy - float(measured.trace()), 0.0) / outside
        second = inner @ (measured - spread * np.eye(len(held))) @ inner.T
        return second + spread * np.eye(len(directions))

    def gain(self) -> float:
        """Return by which share newer rows have more along the directions than older ones."""
        if not self.energies.all():
            return 0.0
        older, newer = np.trace(self.sums, axis1=1, axis2=2) / self.energies
        return float(1.0 - older / newer) if newer > 0.0 else 0.0

    def merge(
        self, other: DirectionalMoment, our_rotation: Doubles, their_rotation: Doubles
    ) -> None:
        """Include the rows of another one; rotations lead from both to the joint directions."""
        other, unmeasured = other.copy(), np.zeros(2 * our_rotation.shape[:1])
        self.add(our_rotation, unmeasured, 0.0, 0.0)
        other.add(their_rotation, unmeasured, 0.0, 0.0)
        self.sums = self.sums + other.sums
        self.energies = self.energies + other.energies
        self.energy, self.weight = self.energy + other.energy, self.weight + other.weight
        self.next_window += other.next_window
