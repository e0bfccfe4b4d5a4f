"""Many blocks in one go, by compiled loops: as far as their rows are well behaved.

The engine takes what is left, block by block.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onepass.frames import RANGE, Block, Room, carry_sparse, mix, sparse_gram, underflow
from onepass.kernels.orthonormal import SOUND, orthonormal
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


class DenseStretch:
    """Dense rows of not too many columns.

    Parameters
    ----------
    state : Subspace
        Before the rows.
    block : Block
        The rows, as they are learned from.
    room : Room

    Attributes
    ----------
    energy : ndarray of shape (r,)
        The squared norms of the rows.
    """

    def __init__(self, state: Subspace, block: Block, room: Room) -> None:
        self.state, self.rows, self.room = state, block.rows, room
        self.energy = np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64)

    def stride(
        self, rule: Rule, size: int, steps: NDArray[np.float64]
    ) -> tuple[Subspace, NDArray[np.float64]]:
        """Take rows in blocks of some size, with these steps.

        Returns
        -------
        state : Subspace
            After the rows that were taken, in the room.
        captured : ndarray of shape (taken,)
            Their energies in the k leading directions, before each was learned from.
        """
        rows, state, room, m = self.rows, self.state, self.room, self.state.rank
        most = min(rule.room(m, len(rows)), rule.d)
        basis, spare = room.pair(state.basis, most + size)
        weights, captured = np.append(state.weights, np.zeros(most + 1 - m)), np.empty(len(rows))
        taken, rank, rest, swapped = rule.walk(
            rows, size, basis, spare, weights, m, float(state.rest), most,
            state.basis is room.sure_of, steps, (*RANGE[rows.dtype], SOUND[rows.dtype]),
            captured, rule.parameters,
        )  # fmt: skip
        if taken:
            basis = spare if swapped else basis
            self.state = Subspace(basis[:rank], weights[:rank].copy(), rest)
            room.sure_of = self.state.basis
        return self.state, captured[:taken]


class SparseStretch:
    """Sparse rows, by their Gram matrix: the basis is carried along only at the end.

    Parameters and attributes are those of `DenseStretch`.
    """

    def __init__(self, state: Subspace, block: Block, room: Room) -> None:
        if state.basis is not room.sure_of:
            state = Subspace(orthonormal(state.basis), state.weights, state.rest)
            room.sure_of = state.basis
        self.state, self.block, self.room = state, block, room
        gram = sparse_gram(state.basis, block, room)
        self.gram = gram if block.mixing is None else mix(gram, state.rank, block.mixing)
        self.energy = self.gram.diagonal()[state.rank :].copy()

    def stride(
        self, rule: Rule, size: int, steps: NDArray[np.float64]
    ) -> tuple[Subspace, NDArray[np.float64]]:
        """Take rows in blocks of some size, with these steps; as `DenseStretch` does."""
        state, block, m = self.state, self.block, self.state.rank
        captured = np.empty(len(block))
        if not self.energy.all() and underflow(self.energy, block):
            return state, captured[:0]
        most = min(rule.room(m, len(block)), rule.d)
        weights = np.append(state.weights, np.zeros(most + 1 - m))
        dtype = state.basis.dtype
        taken, combination, rest = rule.gram_walk(
            self.gram, size, weights, m, float(state.rest), most, steps,
            (*RANGE[dtype], max(SOUND[dtype], WELL_BEHAVED)), captured, rule.parameters,
        )  # fmt: skip
        if taken:
            basis = carry_sparse(combination, state.basis, block.part(0, taken), self.room)
            self.state = Subspace(basis, weights[: len(basis)].copy(), rest)
            self.room.sure_of = basis
        return self.state, captured[:taken]
