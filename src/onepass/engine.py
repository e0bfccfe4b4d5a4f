"""Rows -> small space -> rule -> back.

Every algorithm keeps its new state in the span of [U; x]. A block of b rows is therefore taken in
the space of [U; x_1 .. x_b], of dimension m + b at most: the Gram matrix of these rows gives an
orthonormal frame and the coordinates of everything in it, the rule moves in the coordinates, and
one product with the rows carries the result back (`onepass.frames`). The engine knows no
algorithm and no schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass import strides
from onepass.frames import Block, Frame, Room, find_frame
from onepass.kernels.orthonormal import orthonormal
from onepass.strides import DenseStretch, SparseStretch, Stretch
from onepass.subspace import Subspace

Steps = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Rule(strides.Rule, Protocol):
    """What the engine asks of an algorithm; `onepass.rules.rule` says it in full."""

    k: int
    d: int

    def rows(
        self,
        state: Subspace,
        rows: NDArray[np.float64],
        width: int,
        steps: NDArray[np.float64],
        total: NDArray[np.float64],
    ) -> tuple[Subspace, NDArray[np.float64], float]:
        """Take rows one by one."""

    def batch(self, state: Subspace, rows: NDArray[np.float64], step: float) -> Subspace:
        """Take one step with a batch."""

    def primal(self, state: Subspace) -> Subspace:
        """Return the iterate M that a state stands for."""


class Motion(NamedTuple):
    """How a basis moved, and the rows that moved it.

    Attributes
    ----------
    turn : ndarray of shape (m', m)
        The new basis in terms of the old one, as far as it lies in it.
    inner : ndarray of shape (b, m')
        The inner products of the rows with the new basis.
    energy : float
        The sum of the squared norms of the rows.
    """

    turn: NDArray[np.float64]
    inner: NDArray[np.float64]
    energy: float


class Outcome(NamedTuple):
    """What a block did.

    Attributes
    ----------
    state : Subspace
        Its basis lies in the engine's own room and changes with the next block.
    energy : ndarray of shape (b,)
        The squared norms of the rows.
    captured : ndarray of shape (b,)
        The part of it in the k leading directions, before the row (the batch) was learned from.
    iterates : list of Subspace
        They add up to the sum of the iterates held before each step; empty if not asked for.
    motions : list of Motion
        One after the other; empty if not asked for.
    """

    state: Subspace
    energy: NDArray[np.float64]
    captured: NDArray[np.float64]
    iterates: list[Subspace]
    motions: list[Motion]


class Engine:
    """Takes blocks with a rule; holds nothing but room to work in.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    batch : bool
        Whether a block is a batch, one gradient step, or is taken row by row.
    averaging : bool
        Whether the sum of the iterates is wanted.
    tracking : bool
        Whether the motions of the basis are wanted.
    """

    def __init__(
        self, rule: Rule, batch: bool = False, averaging: bool = False, tracking: bool = False
    ) -> None:
        self.rule, self.batch, self.averaging, self.tracking = rule, batch, averaging, tracking
        self._room = Room()

    def trust(self, basis: NDArray[np.floating] | None) -> None:
        """Take a basis for orthonormal; if None, how orthonormal the next one is is looked at."""
        self._room.sure_of = basis

    def advance(self, state: Subspace, block: Block, steps: Steps) -> Outcome:
        """Take a block. `steps` gives the step sizes from the norms of the gradients."""
        frame = find_frame(state, block, self._room, whole=self.batch)
        if frame is None:  # nearly dependent rows: fewer at a time
            middle = len(block) // 2
            first = self.advance(state, block.part(0, middle), steps)
            second = self.advance(first.state, block.part(middle, len(block)), steps)
            return Outcome(
                second.state,
                np.concatenate([first.energy, second.energy]),
                np.concatenate([first.captured, second.captured]),
                first.iterates + second.iterates,
                first.motions + second.motions,
            )
        take = self._take_batch if self.batch else self._take_rows
        return take(state, Subspace(frame.basis, state.weights, state.rest), frame, steps)

    def stretch(self, state: Subspace, block: Block) -> Stretch:
        """Return many rows, to be taken one by one; nothing is averaged or tracked."""
        kind = SparseStretch if issparse(block.rows) else DenseStretch
        return kind(state, block, self._room)

    def _take_rows(self, state: Subspace, small: Subspace, frame: Frame, steps: Steps) -> Outcome:
        """Take the rows of a block one by one."""
        n = frame.coordinates.shape[1] if self.averaging else 0
        total = np.zeros((n, n))
        etas = steps(frame.energy)
        moved, captured, rests = self.rule.rows(small, frame.coordinates, frame.width, etas, total)
        iterates = []
        if self.averaging:
            values, vectors = np.linalg.eigh(total, UPLO="U")
            kept = values > 1e-16 * values[-1]
            lifted = frame.carry(np.ascontiguousarray(vectors.T[kept]))
            iterates = [Subspace(lifted, values[kept] + rests, rests)]
        return self._outcome(moved, frame, captured, iterates)

    def _take_batch(self, state: Subspace, small: Subspace, frame: Frame, steps: Steps) -> Outcome:
        """Take one step with the mean gradient of the block."""
        rows = frame.coordinates
        inside = rows @ small.top(self.rule.k).T
        gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
        size = np.abs(gram).max()
        norm = size * np.linalg.norm(gram / size) / len(rows) if size else 0.0
        iterates = []
        if self.averaging:
            primal = self.rule.primal(state)
            iterates = [Subspace(primal.basis.copy(), primal.weights, primal.rest)]
        moved = self.rule.batch(small, rows, float(steps(np.array([norm]))[0]) / len(rows))
        return self._outcome(moved, frame, (inside**2).sum(axis=1), iterates)

    def _outcome(
        self, moved: Subspace, frame: Frame, captured: NDArray[np.float64], iterates: list[Subspace]
    ) -> Outcome:
        """Carry the state back into d dimensions."""
        basis = frame.carry(moved.basis, self._room)
        if not frame.sound:
            basis = orthonormal(basis)
        self._room.sure_of = basis
        if self.rule.k == self.rule.d:  # all directions capture everything
            captured = frame.energy
        motions = [_motion(moved, frame)] if self.tracking else []
        state = Subspace(basis, moved.weights, moved.rest)
        return Outcome(state, frame.energy, captured, iterates, motions)


def _motion(moved: Subspace, frame: Frame) -> Motion:
    """Return what became of the basis, from its new coordinates."""
    inner = frame.coordinates @ moved.basis.T
    return Motion(moved.basis @ frame.basis.T, inner, float(frame.energy.sum()))
