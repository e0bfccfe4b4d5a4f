"""The second moment of the rows along directions that move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.kernels.orthonormal import householder
from onepass.moments.mean import Mean
from onepass.moments.moment import Moment, Shifted
from onepass.moments.products import mean_step

FEW = 96  # rows
NEGLIGIBLE = 1e-12  # part of a direction that is rounding
HEAVY = 2.0  # times the energy of a chunk on average
SLACK = 1.25  # what directions capture may be more than what they captured when rows came
LITTLE = 1e-6  # how much what is not known counts, against everything that was seen


class TrackedMoment(Moment):
    """Variances along the directions that an algorithm holds, for next to nothing.

    Two small matrices are kept in the coordinates of these directions: the sum of x x', and the
    energy of the rows that each direction has been measured with. When the directions turn, both
    turn with them and lose what is no longer inside. Their quotient so stays a share of energy,
    and rows from the time of other directions count less. It is exact for one chunk; on longer
    streams it is right within a few per cent once the directions have settled, and too low for
    one that came late.

    Parameters
    ----------
    d : int
        The dimension of the rows.
    center : bool
        Whether it is about the mean or about zero.
    dtype : dtype
        Of the rows.
    thin_after : float or None
        After so many rows every second chunk is looked at, after four times as many every fourth,
        and so on: the error of a variance from that many rows is small enough. Chunks with much
        energy are always looked at. None stands for directions whose motions are reported, which
        says all about the rows.
    """

    def __init__(self, d: int, center: bool, dtype: np.dtype, thin_after: float | None) -> None:
        super().__init__(center)
        self.thin_after = thin_after
        self._known = 0.0  # energy of the rows that have been offered
        self._captured = 0.0  # energy of the rows along the directions held when they came
        self._directions: NDArray[np.floating] = np.zeros((0, d), dtype)
        self._sums = np.zeros((0, 0))
        self._energies = np.zeros((0, 0))
        self._updates = 0

    def copy(self) -> TrackedMoment:
        twin = TrackedMoment.__new__(TrackedMoment)
        twin.__dict__.update(self.__dict__)  # no array is changed in place, but for one
        if self.thin_after is None:
            twin._directions = self._directions.copy()
        return twin

    def add_energy(self, energy: float, captured: float = 0.0) -> None:
        super().add_energy(energy)
        self._captured += captured

    def fade(self, factor: float) -> None:
        self._captured *= factor
        self._energy, self._known = factor * self._energy, factor * self._known
        self._sums, self._energies = factor * self._sums, factor * self._energies

    def follow(self, turn: NDArray[np.float64], inner: NDArray[np.float64], energy: float) -> None:
        """Include rows by what they did to the directions, see `engine.Motion`."""
        if not self._sums.size:  # nothing was seen along the first directions
            self._sums = self._energies = np.zeros((turn.shape[1],) * 2)
        self._sums = turn @ self._sums @ turn.T + inner.T @ inner
        self._energies = turn @ self._energies @ turn.T + energy * np.eye(len(turn))

    def update(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        before: Mean,
        after: Mean,
        held: NDArray[np.floating] | None = None,
        shifted: Shifted | None = None,
    ) -> None:
        assert held is not None
        if self.thin_after is None:
            self._directions = held  # until the next chunk
            return
        self._updates += 1
        energy, self._known = self.energy - self._known, self.energy
        stands_for = self._stands_for(energy, before.weight)
        if not stands_for:
            return
        self._turn(held)
        inner = _products(rows, self._directions)
        if self.center:
            inner = inner - weights @ inner / weights.sum()
        self._sums = self._sums + stands_for * (weights[:, None] * inner).T @ inner
        self._energies = self._energies + stands_for * energy * np.eye(len(held))
        if self.center:
            self._add_row(np.sqrt(stands_for) * mean_step(before, after))

    def merge(
        self,
        other: TrackedMoment,
        between: NDArray[np.float64],
        held: NDArray[np.floating] | None = None,
    ) -> None:
        assert held is not None
        self._updates += other._updates
        self._captured += other._captured
        self._energy, self._known = self._energy + other.energy, self._known + other._known
        both = householder(np.vstack([self._directions, other._directions]).astype(np.float64))[1]
        theirs = other.copy()
        for moment in (self, theirs):
            moment._turn(both.astype(held.dtype))
        self._sums, self._energies = self._sums + theirs._sums, self._energies + theirs._energies
        if self.center:
            energy = float(between @ between)
            self._add_row(between)
            self._energies += energy * np.eye(len(both))
            self._energy, self._known = self._energy + energy, self._known + energy
        self._turn(held)

    def compress(self, directions: NDArray[np.floating], mean: Mean | None) -> NDArray[np.float64]:
        # Outside of the directions that were looked along, variance is the same everywhere.
        turn = (directions @ self._directions.T).astype(np.float64)
        outside = LITTLE * self.energy * (np.eye(len(directions)) - turn @ turn.T)
        m, d = self._directions.shape
        level = (1.0 - float(np.trace(_quotient(self._sums, self._energies)))) / max(d - m, 1)
        sums, energies = turn @ self._sums @ turn.T, turn @ self._energies @ turn.T
        whole = self.energy * _quotient(sums + max(level, 0.0) * outside, energies + outside)
        # A direction that came with a huge row tells nothing of the rows before.
        beyond = float(np.trace(whole - sums))
        most = max(SLACK * self._captured - float(np.trace(sums)), 0.0)
        return sums + min(1.0, most / beyond) * (whole - sums) if beyond > 0.0 else whole

    def _turn(self, held: NDArray[np.floating]) -> None:
        """Go over to other orthonormal directions (m, d)."""
        turn = (held @ self._directions.T).astype(np.float64)
        self._sums, self._energies = turn @ self._sums @ turn.T, turn @ self._energies @ turn.T
        self._directions = held.copy(order="K")

    def _add_row(self, row: NDArray[np.float64]) -> None:
        """Add a row of the scatter that is none of the rows counted, of shape (d,) or (0,)."""
        if row.size:
            along = self._directions @ row
            self._sums = self._sums + np.outer(along, along)

    def _stands_for(self, energy: float, weight: float) -> int:
        """Return for how many chunks one of some energy is looked at, after rows of some weight.

        Chunks with far more energy than others stand for themselves: none of them is left out.
        """
        assert self.thin_after is not None
        if weight < self.thin_after or energy * self._updates > HEAVY * self.energy:
            return 1
        stride = int(2 ** np.ceil(np.log2(weight / self.thin_after) / 2 + 0.5))
        return stride if self._updates % stride == 0 else 0


def _products(rows: Any, directions: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return ``rows @ directions.T``; of dense rows a few at a time, which BLAS does quicker."""
    if issparse(rows):
        return np.asarray(rows @ directions.T, dtype=np.float64)
    inner = np.empty((len(rows), len(directions)))
    for start in range(0, len(rows), FEW):
        inner[start : start + FEW] = rows[start : start + FEW] @ directions.T
    return inner


def _quotient(sums: NDArray[np.float64], energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``energies^-1/2 @ sums @ energies^-1/2``, zero where there was no energy."""
    values, vectors = np.linalg.eigh(energies)
    some = values > NEGLIGIBLE * values.max(initial=0.0)
    root = vectors[:, some] / np.sqrt(values[some]) @ vectors[:, some].T
    return root @ sums @ root
