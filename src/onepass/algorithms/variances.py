"""Variances along the directions that an algorithm has found: exact, or as the directions moved."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onepass.moments.directional import DirectionalMoment
from onepass.moments.exact import SecondMoment
from onepass.persistence.fields import Field, Part, State
from onepass.rows.centred import Mean
from onepass.rows.rows import rows_about

# The directions (m, d) of two solvers that are merged, and those of the merged one.
Held = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


class Step(NamedTuple):
    """What a chunk did to the directions that variances are measured along.

    Attributes
    ----------
    values : ndarray or csr_array of shape (r, d)
        The rows of the chunk, as they came; dense where there are few columns.
    weights : ndarray of shape (r,)
    rotation : ndarray of shape (m', m)
        The new directions in terms of the old ones.
    inner : ndarray of shape (m', m')
        The second moment of the rows along them, each measured before it was learned from.
    energy : float
        The sum of the squared norms of the centred rows.
    """

    values: Any
    weights: NDArray[np.float64]
    rotation: NDArray[np.float64]
    inner: NDArray[np.float64]
    energy: float


class Variances(State):
    """The second moment of all rows along the directions of a solver."""

    def fields(self) -> dict[str, Field]:
        return {"moment": Part()}


class ExactVariances(Variances):
    """The second moment of all rows as a matrix, for few columns."""

    def __init__(self, d: int, center: bool) -> None:
        self.moment = SecondMoment(d, center)

    @property
    def energy(self) -> float:
        """The sum of the squared norms of all rows about their mean."""
        return self.moment.energy()

    def add(self, step: Step) -> None:
        """Include the rows of a chunk."""
        moment = self.moment
        origin = moment.origin
        if moment.center and not moment.weight > 0.0:
            # The mean, since a model file holds the origin, and no row. It is taken about the first
            # row, so that it is exact for columns that are constant.
            first = step.values[0].astype(np.float64)
            mean = first + np.average(step.values - first, axis=0, weights=step.weights)
            origin = mean.astype(step.values.dtype).astype(np.float64)
        rows = rows_about(step.values, step.weights, origin)
        moment.add(rows, step.weights)
        if moment.center:  # where most squares are those of the mean, sums would lose digits
            far = moment.weight * moment.column_squares < 2.0 * moment.total**2
            nearer = moment.mean.astype(step.values.dtype).astype(np.float64)
            moment.move(np.where(far, nearer, moment.origin))

    def compress(
        self, directions: NDArray[np.float64], held: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the sum of x x' over all rows along orthonormal directions (k, d)."""
        return self.moment.compress(directions)

    def spectrum(self, held: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums along all principal directions, shape (d,), largest first."""
        return self.moment.spectrum()

    def still_moving(self) -> float:
        """Return how much newer rows have more along the directions: nothing that matters here."""
        return 0.0

    def merge(self, other: Self, means: tuple[Mean, Mean], held: Held) -> None:
        """Include the rows of another one."""
        self.moment.merge(other.moment)


class TrackedVariances(Variances):
    """The second moment along directions that move, from recent rows, for many columns."""

    def __init__(self, d: int) -> None:
        self.moment = DirectionalMoment(d)

    @property
    def energy(self) -> float:
        """The sum of the squared norms of all rows about their mean."""
        return self.moment.energy

    def add(self, step: Step) -> None:
        """Include the rows of a chunk."""
        self.moment.add(step.rotation, step.inner, step.energy, float(step.weights.sum()))

    def compress(
        self, directions: NDArray[np.float64], held: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the sum of x x' over all rows along orthonormal directions (k, d).

        `held` (m, d) are the directions that rows were measured along.
        """
        return self.moment.compress(directions, held)

    def spectrum(self, held: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums along the directions (m, d) that rows were measured along."""
        return np.linalg.eigvalsh(self.compress(held, held))[::-1].clip(min=0.0)

    def still_moving(self) -> float:
        """Return by which share the newer rows have more along the directions than the older."""
        return abs(self.moment.gain())

    def merge(self, other: Self, means: tuple[Mean, Mean], held: Held) -> None:
        """Include the rows of another one; the means are those of both."""
        ours, theirs, joint = held
        self.moment.merge(other.moment, joint @ ours.T, joint @ theirs.T)
        between = means[0].between(means[1])
        inner, energy = joint @ between, float(between @ between)
        self.moment.add(np.eye(len(joint)), np.outer(inner, inner), energy, 0.0)
