"""An orthonormal frame of a state's basis and a block of rows: the small space.

There are three ways to one, and each gives the coordinates of basis and rows and a way to carry
coordinates back into d dimensions:

- from the Gram matrix of [U; rows] (`GramFrame`), the fast one: the frame is never formed, and
  factoring the Gram matrix anew for every block also keeps U orthonormal;
- by Householder reflections (`FormedFrame`), where rows are nearly dependent and the Gram matrix
  has lost their residuals;
- all d dimensions (`WholeSpace`), where the block is no smaller than that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.kernels.orthonormal import (
    SOUND,
    USABLE,
    add_product,
    cholesky,
    householder,
    solve_right,
)
from onepass.kernels.sparse_rows import add_rows, gram_of_rows, project_rows
from onepass.subspace import Subspace

# Squares outside of this range lose digits to overflow or underflow.
RANGE = {np.dtype(np.float64): (1e-280, 1e290), np.dtype(np.float32): (1e-24, 1e34)}
LARGEST = 1e152  # sums of squares of larger numbers leave the range of double precision
PANEL = 1024  # columns of U and of a block's rows that are in the cache together
FEW = 8  # sparse rows that may be made dense at once


@dataclass(frozen=True)
class Block:
    """Rows on their way into the engine: ``mixing @ [offset; rows]``.

    Attributes
    ----------
    rows : ndarray or CSR array of shape (r, d)
        In the dtype of the state.
    mixing : ndarray of shape (b, r) or, with an offset, (b, 1 + r); or None
        What is learned from are combinations of the rows: weighted, or centred as they come. None
        stands for the rows as they are.
    offset : ndarray of shape (d,) or None
        One more row, in front: how sparse rows are centred without making them dense.
    """

    rows: Any
    mixing: NDArray[np.float64] | None = None
    offset: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return self.rows.shape[0] if self.mixing is None else len(self.mixing)

    def part(self, start: int, stop: int) -> Block:
        """Return rows start..stop of what is learned from."""
        if self.mixing is None:
            return Block(self.rows[start:stop])
        return Block(self.rows, self.mixing[start:stop], self.offset)

    def inner(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the products of what is learned from with directions of shape (j, d): (b, j)."""
        inner = np.asarray(self.rows @ directions.T, dtype=np.float64)
        if self.offset is not None:
            inner = np.vstack([directions @ self.offset, inner])
        return inner if self.mixing is None else self.mixing @ inner

    def energy(self) -> NDArray[np.float64]:
        """Return the squared norms of what is learned from, of shape (b,)."""
        rows = self.to_dense()
        return np.einsum("ij,ij->i", rows, rows)

    def to_dense(self) -> NDArray[np.float64]:
        """Return what is learned from as a (b, d) array."""
        rows = self.rows.toarray() if issparse(self.rows) else self.rows
        rows = rows.astype(np.float64)
        if self.offset is not None:
            rows = np.vstack([self.offset, rows])
        return rows if self.mixing is None else self.mixing @ rows


class Room:
    """Two arrays that take turns: one holds U or [U; rows], the other receives the next U."""

    def __init__(self) -> None:
        self._arrays = [np.empty((0, 0)), np.empty((0, 0))]
        self._panel, self._zeros = np.empty(0), np.zeros(0)
        self.sure_of: NDArray | None = None  # a basis that was made orthonormal not long ago

    def stack(self, basis: NDArray, below: int) -> NDArray:
        """Return [basis; room for `below` rows], without a copy where the basis is there."""
        self._fit(0, len(basis) + below, basis)
        front = self._arrays[0]
        if not np.may_share_memory(front, basis):
            front[: len(basis)] = basis
        return front[: len(basis) + below]

    def receive(self, rows: int, like: NDArray) -> NDArray:
        """Return room for the next basis, which `stack` will then find in place."""
        self._fit(1, rows, like)
        self._arrays.reverse()
        return self._arrays[0][:rows]

    def receive_columns(self, count: int, like: NDArray) -> NDArray:
        """Return room for the next basis as the columns of a (d, count) array."""
        self._arrays.reverse()
        size = count * like.shape[1]
        if self._arrays[0].size < size or self._arrays[0].dtype != like.dtype:
            self._arrays[0] = np.empty(size, like.dtype)
        return self._arrays[0].reshape(-1)[:size].reshape(-1, count)

    def zeros(self, size: int) -> NDArray[np.float64]:
        """Return an array of zeros, which whoever uses it leaves as such."""
        if len(self._zeros) < size:
            self._zeros = np.zeros(size)
        return self._zeros

    def panel(self, rows: int, columns: int, dtype: np.dtype) -> NDArray:
        """Return an array that is used until the next one is asked for."""
        if self._panel.size < rows * columns or self._panel.dtype != dtype:
            self._panel = np.empty(rows * columns, dtype)
        return self._panel[: rows * columns].reshape(rows, columns)

    def _fit(self, which: int, rows: int, like: NDArray) -> None:
        """Make array `which` large enough."""
        array = self._arrays[which]
        if len(array) < rows or array.shape[1:] != like.shape[1:] or array.dtype != like.dtype:
            self._arrays[which] = np.empty((rows, like.shape[1]), like.dtype)


@dataclass(frozen=True)
class Frame(ABC):
    """A small space of n dimensions.

    Attributes
    ----------
    basis : ndarray of shape (m, n)
        The basis of the state in the frame.
    coordinates : ndarray of shape (b, n)
        The rows in the frame; row t is zero from column width + t + 1 on.
    width : int
        How many coordinates can be non-zero before the first row.
    energy : ndarray of shape (b,)
        The squared norms of the rows.
    sound : bool
        Whether what is carried back is orthonormal to rounding.
    """

    basis: NDArray[np.float64]
    coordinates: NDArray[np.float64]
    width: int
    energy: NDArray[np.float64]
    sound: bool

    @abstractmethod
    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        """Return ``coefficients @ frame`` in d dimensions, in `room` where given."""


@dataclass(frozen=True)
class GramFrame(Frame):
    """The frame ``inv(factor.T) @ [U; mixed rows]``, never formed; `factor` is upper triangular.

    `stack` is [U; rows], where that is small enough to have been put together.
    """

    factor: NDArray[np.float64]
    state: Subspace
    block: Block
    stack: NDArray[np.floating] | None

    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        combination = solve_right(coefficients, self.factor)
        basis, block = self.state.basis, self.block
        m, mixing = len(basis), block.mixing
        if mixing is not None:
            combination = np.hstack([combination[:, :m], combination[:, m:] @ mixing])
        combination = combination.astype(basis.dtype, copy=False)
        room = room or Room()
        if issparse(block.rows):
            return self._carry_sparse(combination, room)
        out = room.receive(len(combination), basis)
        if self.stack is not None:
            return np.dot(combination, self.stack, out=out)
        np.dot(combination[:, :m], basis, out=out)
        add_product(combination[:, m:], block.rows, out)
        return out

    def _carry_sparse(self, combination: NDArray, room: Room) -> NDArray:
        """Carry to columns side by side, which is how sparse rows meet them."""
        basis, rows, offset = self.state.basis, self.block.rows, self.block.offset
        m = len(basis)
        out = room.receive_columns(len(combination), basis)
        np.dot(np.ascontiguousarray(basis.T), combination[:, :m].T, out=out)
        if offset is not None:
            out += np.outer(offset.astype(basis.dtype, copy=False), combination[:, m])
            m += 1
        coefficients = np.ascontiguousarray(combination[:, m:].T)
        add_rows(rows.indptr, rows.indices, rows.data, coefficients, out)
        return out.T


@dataclass(frozen=True)
class FormedFrame(Frame):
    """A frame that had to be formed, as the rows of `vectors`, shape (n, d)."""

    vectors: NDArray[np.float64]
    dtype: np.dtype

    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        return (coefficients @ self.vectors).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class WholeSpace(Frame):
    """All d dimensions as they are."""

    dtype: np.dtype

    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        return coefficients.astype(self.dtype)


def find_frame(state: Subspace, block: Block, room: Room, whole: bool) -> Frame | None:
    """Return a frame of the state's basis and the block, or None if the block should be halved.

    Parameters
    ----------
    state : Subspace
        In d dimensions.
    block : Block
    room : Room
    whole : bool
        Whether the block has to be taken at once: never None.

    Raises
    ------
    FloatingPointError
        If a row is not finite, or too large.
    """
    basis, d = state.basis, state.n_features
    if len(basis) + len(block) >= d:
        rows = _in_range(block.to_dense())
        small = basis.astype(np.float64)
        energy = np.einsum("ij,ij->i", rows, rows)
        return WholeSpace(small, rows, d, energy, False, basis.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found and done again
        found = _gram_frame(state, block, room)
    if found is not None:
        return found
    if issparse(block.rows) and not whole and len(block) > FEW:
        return None
    rows = _in_range(block.to_dense())
    scale = np.abs(rows).max(axis=1, keepdims=True)
    scale[scale == 0.0] = 1.0
    coordinates, vectors = householder(np.vstack([basis, rows / scale]))
    m = len(basis)
    rows = coordinates[m:] * scale
    energy = np.einsum("ij,ij->i", rows, rows)
    # Householder finds the frame of the basis to be the basis, up to rounding.
    small = np.eye(m, len(vectors))
    return FormedFrame(small, rows, m, energy, True, vectors, basis.dtype)


def _in_range(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows, or raise where one of them cannot be learned from."""
    if not np.abs(rows).max(initial=0.0) <= LARGEST:  # nor where it is NaN
        raise FloatingPointError("A row is not finite, or too large")
    return rows


def _gram_frame(state: Subspace, block: Block, room: Room) -> GramFrame | None:
    """Return the frame by Cholesky, or None where the Gram matrix has lost too many digits."""
    basis, mixing = state.basis, block.mixing
    m, dtype = len(basis), basis.dtype
    stack = None
    if issparse(block.rows):
        gram = _sparse_gram(basis, block, room)
    elif basis.shape[1] > PANEL:
        gram = _wide_gram(basis, block, room)
    else:
        stack = room.stack(basis, len(block.rows))
        stack[m:] = block.rows
        gram = (stack @ stack.T).astype(np.float64, copy=False)
    energy, left = gram.diagonal()[m:], 1.0
    if not energy.all() and _underflow(energy, block):
        return None
    if mixing is not None:
        mixed = np.abs(mixing) @ np.sqrt(energy)
        gram = _mix(gram, m, mixing)
        left = _left(gram.diagonal()[m:], mixed**2)
    energy = gram.diagonal()[m:].copy()
    coordinates = np.empty((len(energy), len(gram)))
    share = left * cholesky(gram, *RANGE[dtype], coordinates)
    if not share >= USABLE[dtype]:  # nor where it is NaN
        return None
    small, sound = np.eye(m, len(gram)), share >= SOUND[dtype]
    return GramFrame(small, coordinates, m, energy, sound, gram, state, block, stack)


def _wide_gram(basis: NDArray, block: Block, room: Room) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; rows]: a few columns at a time, which stay in the cache."""
    d, m = basis.shape[1], len(basis)
    gram = np.zeros((m + len(block.rows),) * 2)
    for start in range(0, d, PANEL):
        columns = slice(start, min(start + PANEL, d))
        stack = room.panel(m + len(block.rows), columns.stop - start, basis.dtype)
        stack[:m], stack[m:] = basis[:, columns], block.rows[:, columns]
        gram += stack @ stack.T
    return gram


def _sparse_gram(basis: NDArray, block: Block, room: Room) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; offset; rows] for sparse rows."""
    rows, m = block.rows, len(basis)
    csr = rows.indptr, rows.indices, rows.data
    front = m + (block.offset is not None)
    gram = np.empty((front + rows.shape[0],) * 2)
    columns = np.ascontiguousarray(basis.T)  # always the same layout: the same bits
    # Without a look at it now and then, rounding would add up.
    gram[:m, :m] = np.eye(m) if basis is room.sure_of else columns.T @ columns
    project_rows(*csr, columns, gram[front:])
    gram_of_rows(*csr, room.zeros(rows.shape[1]), gram[front:, front:])
    if block.offset is not None:
        gram[m, :m], gram[m, m] = block.offset @ columns, block.offset @ block.offset
        gram[front:, m] = gram[m, front:] = rows @ block.offset
        gram[:m, m] = gram[m, :m]
    gram[:m, front:] = gram[front:, :m].T
    return gram


def _mix(gram: NDArray[np.float64], m: int, mixing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; mixing @ rows] from that of [U; rows]."""
    mixed = np.empty((m + len(mixing),) * 2)
    mixed[:m, :m] = gram[:m, :m]
    mixed[m:, :m] = mixing @ gram[m:, :m]
    mixed[:m, m:] = mixed[m:, :m].T
    mixed[m:, m:] = mixing @ gram[m:, m:] @ mixing.T
    return mixed


def _left(energy: NDArray[np.float64], summands: NDArray[np.float64]) -> float:
    """Return the least share of its summands' energy that cancellation has left of a row."""
    some = energy > 0.0
    return float((energy[some] / summands[some]).min(initial=1.0))


def _underflow(energy: NDArray[np.float64], block: Block) -> bool:
    """Whether a row that is not zero has an energy of zero."""
    shift = int(block.offset is not None)
    for row in np.flatnonzero(energy == 0.0):
        if row < shift:
            if np.any(block.offset):
                return True
        elif abs(block.rows[[row - shift]]).max() > 0.0:
            return True
    return False
