"""Variances along the directions that an algorithm has found: exact, or as the directions moved."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from onepass.algorithms.centred import Mean
from onepass.algorithms.solver import ChunkResult
from onepass.moments.chunk import chunk_about
from onepass.moments.directional import DirectionalMoment
from onepass.moments.exact import SecondMoment
from onepass.persistence.fields import Field, Part, State
from onepass.precision import Doubles

# The directions (m, d) of two solvers that are merged, and those of the merged one.
Held = tuple[Doubles, Doubles, Doubles]


class ExactVariances(State):
    """The second moment of all rows as a matrix, for few columns."""

    def __init__(self, d: int, center: bool) -> None:
        self.moment = SecondMoment(d, center)

    def fields(self) -> dict[str, Field]:
        return {"moment": Part()}

    @property
    def energy(self) -> float:
        """The sum of the squared norms of all rows about their mean."""
        return self.moment.energy()

    def add(self, values: Any, weights: Doubles, result: ChunkResult) -> None:
        """Include the dense rows (r, d) of a chunk, as they came, with weights (r,)."""
        moment = self.moment
        origin = moment.origin
        if moment.center and not moment.weight > 0.0:
            # The mean, since a model file holds the origin, and no row. It is taken about the first
            # row, so that it is exact for columns that are constant.
            first = values[0].astype(np.float64)
            mean = first + np.average(values - first, axis=0, weights=weights)
            origin = mean.astype(values.dtype).astype(np.float64)
        moment.add(chunk_about(values, weights, origin), weights)
        if moment.center:
            moment.move(moment.nearer_origin().astype(values.dtype).astype(np.float64))

    def compress(self, directions: Doubles, held: Doubles) -> Doubles:
        """Return the sum of x x' over all rows along orthonormal directions (k, d)."""
        return self.moment.compress(directions)

    def spectrum(self, held: Doubles) -> Doubles:
        """Return the sums along all principal directions, shape (d,), largest first."""
        return self.moment.spectrum()

    def still_moving(self) -> float:
        """Return how much newer rows have more along the directions: it does not matter here."""
        return 0.0

    def merge(self, other: Self, means: tuple[Mean, Mean], held: Held) -> None:
        """Include the rows of another one."""
        self.moment.merge(other.moment)


class TrackedVariances(State):
    """The second moment along directions that move, from recent rows, for many columns."""

    def __init__(self, d: int) -> None:
        self.moment = DirectionalMoment(d)

    def fields(self) -> dict[str, Field]:
        return {"moment": Part()}

    @property
    def energy(self) -> float:
        """The sum of the squared norms of all rows about their mean."""
        return self.moment.energy

    def add(self, values: Any, weights: Doubles, result: ChunkResult) -> None:
        """Include rows with weights (r,), by what they did."""
        energy, weight = float(result.energy.sum()), float(weights.sum())
        self.moment.add(result.rotation, result.inner, energy, weight)

    def compress(self, directions: Doubles, held: Doubles) -> Doubles:
        """Return the sum of x x' over all rows along orthonormal directions (k, d).

        `held` (m, d) are the directions that rows were measured along.
        """
        return self.moment.compress(directions, held)

    def spectrum(self, held: Doubles) -> Doubles:
        """Return the sums along the directions (m, d) that rows were measured along."""
        return np.linalg.eigvalsh(self.compress(held, held))[::-1].clip(min=0.0)

    def still_moving(self) -> float:
        """Return by which share the newer rows have more along the directions than the older."""
        return abs(self.moment.gain())

    def merge(self, other: Self, means: tuple[Mean, Mean], held: Held) -> None:
        """Include the rows of another one; the means are those of both."""
        ours, theirs, joint = held
        self.moment.merge(other.moment, joint @ ours.T, joint @ theirs.T)
        row = means[0].row_between(means[1])
        inner, energy = joint @ row, float(row @ row)
        self.moment.add(np.eye(len(joint)), np.outer(inner, inner), energy, 0.0)
