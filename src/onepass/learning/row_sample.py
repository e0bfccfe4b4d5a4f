"""A few rows to look at: their coordinates and errors, never the rows themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SAMPLE_ROWS = 400
LARGEST_ROWS = 12  # with the largest errors
MOST_DIRECTIONS = 8  # along which coordinates are kept
WARM_UP_ROWS = 128  # whose errors say more about the model than about the rows


class RowSample:
    """Coordinates of some rows along the directions that would have answered when they came.

    A row is in the sample if its priority, a number that depends on nothing but its position in the
    stream, is among the smallest: so a sample merges with another, and how rows are split into
    chunks changes nothing. The rows with the largest errors are kept beside it. When directions
    turn, coordinates are turned with them; what is outside of the new directions is lost.

    Parameters
    ----------
    d : int
        The number of columns.
    half_life : float or None
        With it later rows are more likely to be in the sample, by a factor of two for each.

    Attributes
    ----------
    rows : int
        How many rows have been offered.
    directions : ndarray of shape (m, d)
    point : ndarray of shape (d,)
        From which coordinates are measured.
    numbers : ndarray of shape (s,)
        Positions of the rows in the stream, counted from 0.
    priorities, errors : ndarray of shape (s,)
        The error is the squared distance from the subspace, before the row was learned from.
    coordinates : ndarray of shape (s, m)
    """

    def __init__(self, d: int, half_life: float | None = None) -> None:
        self.half_life, self.rows = half_life, 0
        self.directions: NDArray[np.float64] = np.zeros((0, d))
        self.point: NDArray[np.float64] = np.zeros(d)
        self.numbers: NDArray[np.int64] = np.zeros(0, np.int64)
        self.priorities: NDArray[np.float64] = np.zeros(0)
        self.errors: NDArray[np.float64] = np.zeros(0)
        self.coordinates: NDArray[np.float64] = np.zeros((0, 0))

    def add(
        self,
        rows: Any,
        errors: NDArray[np.float64],
        directions: NDArray[np.floating],
        point: NDArray[np.float64],
    ) -> None:
        """Offer rows (r, d) with errors (r,), about a point (d,), along directions (m, d)."""
        numbers = self.rows + np.arange(rows.shape[0])
        self.rows += rows.shape[0]
        if rows.shape[1] <= MOST_DIRECTIONS:  # then nothing is lost when directions turn
            directions = np.eye(rows.shape[1])
        if not len(directions):
            return
        priorities = self._priorities(numbers)
        errors = np.where((numbers < WARM_UP_ROWS) | ~np.isfinite(errors), 0.0, errors.clip(0.0))
        wanted = priorities < self._limit(self.priorities, SAMPLE_ROWS)
        wanted |= errors > -self._limit(-self.errors, LARGEST_ROWS, 0.0)
        if not wanted.any():
            return
        self.turn(directions[:MOST_DIRECTIONS], point)
        chosen = rows[np.flatnonzero(wanted)]
        if sparse.issparse(chosen):
            inner = chosen @ self.directions.T - self.directions @ self.point
        else:
            inner = (chosen.astype(np.float64) - self.point) @ self.directions.T
        self._include(numbers[wanted], priorities[wanted], errors[wanted], inner)

    def turn(self, directions: NDArray[np.floating], point: NDArray[np.float64]) -> None:
        """Measure coordinates along other directions (m, d) and from another point (d,)."""
        if np.array_equal(directions, self.directions) and np.array_equal(point, self.point):
            return
        old, new = self.directions, directions.astype(np.float64)
        turned = (self.point - point) @ new.T
        if len(self.numbers):
            turned = self.coordinates @ np.linalg.pinv(old @ old.T) @ (old @ new.T) + turned
        self.coordinates = turned if len(self.numbers) else np.zeros((0, len(new)))
        self.directions, self.point = new, point.astype(np.float64)

    def along(
        self, components: NDArray[np.floating], point: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Return the coordinates (s, m) of the sample along components (m, d)."""
        twin = self.copy()
        twin.turn(components[:MOST_DIRECTIONS], np.asarray(point, dtype=np.float64))
        return twin.coordinates

    def largest(self) -> NDArray[np.intp]:
        """Return where in the sample the rows with the largest errors are, largest first."""
        order = np.lexsort((self.numbers, -self.errors))[:LARGEST_ROWS]
        return order[self.errors[order] > 0.0]

    def merge(self, other: RowSample) -> None:
        """Include another sample, whose rows count as coming after these."""
        other = other.copy()
        if len(self.directions):
            other.turn(self.directions, self.point)
        elif len(other.directions):
            self.turn(other.directions, other.point)
        numbers, priorities = other.numbers + self.rows, other.priorities
        if self.half_life is not None:
            priorities = priorities - self.rows / self.half_life * np.log(2.0)
        self.rows += other.rows
        if len(numbers):
            self._include(numbers, priorities, other.errors, other.coordinates)

    def copy(self) -> RowSample:
        """Return a copy; no array is changed in place."""
        twin = object.__new__(RowSample)
        twin.__dict__.update(self.__dict__)
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {name: value for name, value in vars(self).items() if name != "half_life"}

    @classmethod
    def from_state(cls, state: dict[str, Any], half_life: float | None) -> RowSample:
        """Return the sample of a checked state."""
        sample = cls(len(state["point"]), half_life)
        sample.__dict__.update(state)
        return sample

    def _priorities(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return logarithms of exponential variates, hashes of positions by splitmix64."""
        z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        uniform = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53 + 2.0**-54
        priorities = np.log(-np.log(uniform))
        if self.half_life is not None:
            priorities -= numbers / self.half_life * np.log(2.0)
        return priorities

    @staticmethod
    def _limit(values: NDArray[np.float64], count: int, default: float = np.inf) -> float:
        """Return the count-th smallest value, the default where there are fewer."""
        return (
            float(np.partition(values, count - 1)[count - 1]) if len(values) >= count else default
        )

    def _include(
        self,
        numbers: NDArray[np.int64],
        priorities: NDArray[np.float64],
        errors: NDArray[np.float64],
        coordinates: NDArray[np.float64],
    ) -> None:
        """Add rows, and drop those that are neither in the sample nor among the largest."""
        numbers = np.concatenate([self.numbers, numbers])
        priorities = np.concatenate([self.priorities, priorities])
        errors = np.concatenate([self.errors, errors])
        kept = np.zeros(len(numbers), dtype=bool)
        kept[np.lexsort((numbers, priorities))[:SAMPLE_ROWS]] = True
        kept[np.lexsort((numbers, -errors))[:LARGEST_ROWS]] = True
        self.numbers, self.priorities, self.errors = numbers[kept], priorities[kept], errors[kept]
        self.coordinates = np.vstack([self.coordinates, coordinates])[kept]
