"""A few rows to look at: their coordinates and errors, never the rows themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SAMPLE_ROWS = 400
LARGEST_ROWS = 12  # with the largest errors
MOST_DIRECTIONS = 8  # along which coordinates are kept
SAME_SPAN = 1e-6  # relative size of what is taken for rounding
SETTLED_ROWS = 2048  # from here on few rows of a chunk enter the sample
LOG_GROWTH = np.log(1.5)  # until then the frame turns whenever there are so many times more rows
WARM_UP_ROWS = 128  # whose errors say more about the model than about the rows


class RowSample:
    """Coordinates of some rows along the directions that would have answered when they came.

    A row is in the sample if its priority, a number that depends on nothing but its position in the
    stream, is among the smallest: so a sample merges with another, and how rows are split into
    chunks changes nothing. The rows with the largest errors are kept beside it. Coordinates are
    along a frame of a few directions that turns with the model; what is outside of it is lost.

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
        The frame, orthonormal.
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
        if not len(directions):
            return
        priorities = self._priorities(numbers)
        errors = np.where((numbers < WARM_UP_ROWS) | ~np.isfinite(errors), 0.0, errors.clip(0.0))
        wanted = priorities < self._limit(self.priorities, SAMPLE_ROWS)
        wanted |= errors > -self._limit(-self.errors, LARGEST_ROWS, 0.0)
        if not wanted.any():
            return
        if self._is_time_to_turn(rows.shape[0]):
            self.turn(directions[:MOST_DIRECTIONS], point)
        chosen = rows if wanted.all() else rows[np.flatnonzero(wanted)]
        if not sparse.issparse(chosen):
            chosen = chosen.astype(np.float64, copy=False)
        inner = chosen @ self.directions.T - self.directions @ self.point
        self._include(numbers[wanted], priorities[wanted], errors[wanted], inner)

    def _is_time_to_turn(self, rows: int) -> bool:
        """Return whether the frame follows the model now, after so many more rows.

        The first rows are all in the sample: to turn with each chunk of them would take longer
        than to learn from it.
        """
        before = self.rows - rows
        if not len(self.directions) or before >= SETTLED_ROWS:
            return True
        return np.floor(np.log(before) / LOG_GROWTH) < np.floor(np.log(self.rows) / LOG_GROWTH)

    def turn(self, directions: NDArray[np.floating], point: NDArray[np.float64]) -> None:
        """Measure coordinates also along new directions (m, d), and from another point (d,).

        The frame becomes the new directions, and where the sample varies most besides.
        """
        new, old = directions.astype(np.float64, copy=False), self.directions
        if np.abs(new @ new.T - np.eye(len(new))).max() > SAME_SPAN:
            new = np.linalg.qr(new.T)[0].T
        inside = new @ old.T
        if len(new) - np.linalg.norm(inside) ** 2 < SAME_SPAN**2:
            self._move(old, point)
            return
        room = self._room() - len(new)
        besides = self._spread() @ (old - inside.T @ new) if room > 0 else old[:0]
        self._move(np.vstack([new, _varying(besides, room)]) if room > 0 else new, point)

    def _room(self) -> int:
        """Return the size of the frame: less than d, so that rows cannot be had back from it."""
        return min(MOST_DIRECTIONS, self.directions.shape[1] - 1)

    def _spread(self) -> NDArray[np.float64]:
        """Return a small factor (m, m) of the second moment of the coordinates."""
        return np.linalg.qr(self.coordinates)[1]

    def _move(self, frame: NDArray[np.float64], point: NDArray[np.float64]) -> None:
        """Measure coordinates along a frame (m, d) from a point (d,)."""
        inside = self.coordinates @ (self.directions @ frame.T)
        self.coordinates = inside + (self.point - point) @ frame.T
        self.directions, self.point = frame, point.astype(np.float64)

    def along(
        self, components: NDArray[np.floating], point: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Return the coordinates (s, m) of the sample along the first components (k, d)."""
        components = components[:MOST_DIRECTIONS].astype(np.float64)
        turned = self.coordinates @ (self.directions @ components.T)
        return turned + (self.point - point) @ components.T

    def largest(self) -> NDArray[np.intp]:
        """Return where in the sample the rows with the largest errors are, largest first."""
        order = np.lexsort((self.numbers, -self.errors))[:LARGEST_ROWS]
        return order[self.errors[order] > 0.0]

    def merge(self, other: RowSample) -> None:
        """Include another sample, whose rows count as coming after these."""
        other = other.copy()
        if not len(self.directions):
            self._move(other.directions, other.point)
        elif len(other.directions):
            both = [part._spread() @ part.directions for part in (self, other)]
            frame = _varying(np.vstack(both), max(self._room(), 1))
            for part in (self, other):
                part._move(frame, self.point)
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


def _varying(rows: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return orthonormal directions (m, d), m <= count, along which rows (r, d) are largest."""
    if count < 1 or not len(rows):
        return np.zeros((0, rows.shape[1]))
    _, sizes, vectors = np.linalg.svd(rows, full_matrices=False)
    return vectors[sizes > SAME_SPAN * sizes.max(initial=0.0)][:count]
