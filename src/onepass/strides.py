"""Many blocks in one go, by compiled loops: as far as their rows are well behaved.

The engine takes what is left, block by block.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onepass.frames import RANGE, Block, Room, carry_sparse, left_of, mix, sparse_gram, underflow
from onepass.kernels.orthonormal import SOUND, USABLE, orthonormal
from onepass.subspace import Subspace

# For combinations of many blocks, whose coefficients must stay small.
WELL_BEHAVED = 0.01


class Rule(Protocol):
    """What is asked of an algorithm."""

    d: int

    @property
    def parameters(self) -> tuple[Any, ...]:
        """What its kernel has to know."""

    def room(self, rank: int, rows: int) -> int:
        """Return the largest rank that can be reached from `rank` with so many rows."""

    def walk(self, *arguments: Any) -> Any:
        """Take dense rows one by one, see `onepass.kernels.walking`."""

    def gram_walk(self, *arguments: Any) -> Any:
        """Take rows one by one by their Gram matrix, see `onepass.kernels.walking`."""


class Pace(NamedTuple):
    """The steps of a stretch.

    Attributes
    ----------
    steps : ndarray of shape (r,)
    over : float
        If positive, steps are this over the norms seen, and `steps` is only room for them.
    seen : float
        The root of the sum of the squared norms of the gradients before the stretch.
    """

    steps: NDArray[np.float64]
    over: float
    seen: float


class Stride(NamedTuple):
    """What became of a state.

    Attributes
    ----------
    state : Subspace
        After the rows that were taken, in the room.
    energy, captured : ndarray of shape (taken,)
        Their squared norms, and the part in the k leading directions, before each was learned from.
    seen : float
        As in `Pace`, after them.
    """

    state: Subspace
    energy: NDArray[np.float64]
    captured: NDArray[np.float64]
    seen: float


class DenseStretch:
    """Dense rows of not too many columns.

    Parameters
    ----------
    state : Subspace
        Before the rows.
    block : Block
        The rows, as they are learned from.
    room : Room
    """

    def __init__(self, state: Subspace, block: Block, room: Room) -> None:
        self.state, self.rows, self.room = state, block.rows, room

    def __len__(self) -> int:
        return len(self.rows)

    def norms(self) -> NDArray[np.float64]:
        """Return the norms of the gradients (r,): the squared norms of the rows."""
        return np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64)

    def stride(self, rule: Rule, size: int, pace: Pace) -> Stride:
        """Take rows in blocks of some size."""
        rows, state, room, m = self.rows, self.state, self.room, self.state.rank
        most = min(rule.room(m, len(rows)), rule.d)
        basis, spare = room.pair(state.basis, most)
        weights = np.append(state.weights, np.zeros(most + 1 - m))
        energy, captured = np.empty((2, len(rows)))
        taken, rank, rest, seen, swapped = rule.walk(
            rows, size, basis, spare, weights, m, float(state.rest), most,
            state.basis is room.sure_of, *pace, (*RANGE[rows.dtype], SOUND[rows.dtype]),
            energy, captured, rule.parameters,
        )  # fmt: skip
        if taken:
            basis = spare if swapped else basis
            state = Subspace(basis[:rank], weights[:rank].copy(), rest)
            room.sure_of = state.basis
        return Stride(state, energy[:taken], captured[:taken], seen)


class SparseStretch:
    """Sparse rows, by their Gram matrix: the basis is carried along only at the end.

    Parameters are those of `DenseStretch`.
    """

    def __init__(self, state: Subspace, block: Block, room: Room) -> None:
        if state.basis is not room.sure_of:
            state = Subspace(orthonormal(state.basis), state.weights, state.rest)
            room.sure_of = state.basis
        self.state, self.block, self.room = state, block, room
        gram, m = sparse_gram(state.basis, block, room), state.rank
        before = gram.diagonal()[m:]
        self._hard = not before.all() and underflow(before, block)
        if block.mixing is not None:
            gram = mix(gram, m, block.mixing)
            lost = left_of(gram.diagonal()[m:], before, block.mixing) < USABLE[state.basis.dtype]
            if lost.any():  # a mean so far away that too few digits are left of a row
                easy = m + int(np.argmax(lost))
                gram = gram[:easy, :easy].copy()
        self.gram = gram

    def __len__(self) -> int:
        return len(self.gram) - self.state.rank

    def norms(self) -> NDArray[np.float64]:
        """Return the norms of the gradients: the squared norms of the rows that are easy."""
        return self.gram.diagonal()[self.state.rank :]

    def stride(self, rule: Rule, size: int, pace: Pace) -> Stride:
        """Take rows in blocks of some size."""
        state, block, m = self.state, self.block, self.state.rank
        energy, captured = np.empty((2, len(self)))
        if self._hard:
            return Stride(state, energy[:0], captured[:0], pace.seen)
        most = min(rule.room(m, len(block)), rule.d)
        weights = np.append(state.weights, np.zeros(most + 1 - m))
        dtype = state.basis.dtype
        taken, combination, rest, seen = rule.gram_walk(
            self.gram, size, weights, m, float(state.rest), most, *pace,
            (*RANGE[dtype], max(SOUND[dtype], WELL_BEHAVED)), energy, captured, rule.parameters,
        )  # fmt: skip
        if taken:
            basis = carry_sparse(combination, state.basis, block.part(0, taken), self.room)
            state = Subspace(basis, weights[: len(basis)].copy(), rest)
            self.room.sure_of = basis
        return Stride(state, energy[:taken], captured[:taken], seen)


Stretch = DenseStretch | SparseStretch
