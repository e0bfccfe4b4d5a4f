"""The ways to an orthonormal frame of a state's basis and a block of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onepass.frames.block import Block
from onepass.frames.gram import dense_gram, mix, sparse_gram
from onepass.frames.room import Room
from onepass.kernels.orthonormal import (
    SOUND,
    USABLE,
    cholesky,
    householder,
    solve_right,
)
from onepass.kernels.sparse_rows import add_rows
from onepass.kernels.tiles import combine
from onepass.subspace import Subspace

# Squares outside of this range lose digits to overflow or underflow.
RANGE = {np.dtype(np.float64): (1e-280, 1e290), np.dtype(np.float32): (1e-24, 1e34)}
LARGEST = 1e152  # sums of squares of larger numbers leave the range of double precision
ROUNDING = 8 * np.finfo(np.float64).eps
FEW = 8  # sparse rows that may be made dense at once


@dataclass(slots=True)
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


@dataclass(slots=True)
class GramFrame(Frame):
    """The frame ``inv(factor) @ [U; mixed rows]``, never formed; `factor` is lower triangular.

    Its first `known` rows are those of the identity.
    """

    factor: NDArray[np.float64]
    known: int
    state: Subspace
    block: Block

    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        combination = solve_right(coefficients, self.factor, self.known)
        basis, block = self.state.basis, self.block
        m, mixing = len(basis), block.mixing
        room = room or Room()
        if issparse(block.rows):
            return carry_sparse(combination, basis, block, room)
        if mixing is not None:
            combination = np.hstack([combination[:, :m], combination[:, m:] @ mixing])
        combination = combination.astype(basis.dtype, copy=False)
        out = room.receive(len(combination), basis)
        rows = np.ascontiguousarray(block.rows)
        combine(combination, np.ascontiguousarray(basis), m, rows, out)
        return out


@dataclass(slots=True)
class FormedFrame(Frame):
    """A frame that had to be formed, as the rows of `vectors`, shape (n, d)."""

    vectors: NDArray[np.float64]
    dtype: np.dtype

    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        return (coefficients @ self.vectors).astype(self.dtype, copy=False)


@dataclass(slots=True)
class WholeSpace(Frame):
    """All d dimensions as they are."""

    dtype: np.dtype

    def carry(self, coefficients: NDArray, room: Room | None = None) -> NDArray:
        return coefficients.astype(self.dtype)


def carry_sparse(
    combination: NDArray[np.float64], basis: NDArray, block: Block, room: Room
) -> NDArray:
    """Return ``combination @ [basis; mixed rows]`` for sparse rows.

    Its columns lie side by side, which is how sparse rows meet them.
    """
    m, rows = len(basis), block.rows
    if block.mixing is not None:
        combination = np.hstack([combination[:, :m], combination[:, m:] @ block.mixing])
    combination = combination.astype(basis.dtype, copy=False)
    out = room.receive_columns(len(combination), basis)
    np.dot(np.ascontiguousarray(basis.T), combination[:, :m].T, out=out)
    if block.offset is not None:
        out += np.outer(block.offset.astype(basis.dtype, copy=False), combination[:, m])
        m += 1
    coefficients = np.ascontiguousarray(combination[:, m:].T)
    add_rows(rows.indptr, rows.indices, rows.data, coefficients, out)
    return out.T


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
        rows = dense_rows(block)
        small = basis.astype(np.float64)
        energy = np.einsum("ij,ij->i", rows, rows)
        return WholeSpace(small, rows, d, energy, False, basis.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found and done again
        found = _gram_frame(state, block, room)
    if found is not None:
        return found
    if issparse(block.rows) and not whole and len(block) > FEW:
        return None
    rows = dense_rows(block)
    scale = np.abs(rows).max(axis=1, keepdims=True)
    scale[scale == 0.0] = 1.0
    coordinates, vectors = householder(np.vstack([basis, rows / scale]))
    m = len(basis)
    rows = coordinates[m:] * scale
    energy = np.einsum("ij,ij->i", rows, rows)
    # Householder finds the frame of the basis to be the basis, up to rounding.
    small = np.eye(m, len(vectors))
    return FormedFrame(small, rows, m, energy, True, vectors, basis.dtype)


def dense_rows(block: Block) -> NDArray[np.float64]:
    """Return what is learned from a block as a (b, d) array.

    A row of which cancellation has left nothing but rounding of what it is mixed of is zero: steps
    that do not depend on the scale of the rows would take rounding for rows otherwise.

    Raises
    ------
    FloatingPointError
        If a row is not finite, or too large.
    """
    rows = block.to_dense()
    if not np.abs(rows).max(initial=0.0) <= LARGEST:  # nor where it is NaN
        raise FloatingPointError("A row is not finite, or too large")
    if block.mixing is None:
        return rows
    largest = abs(block.rows).max(axis=1)
    largest = np.asarray(largest.todense() if issparse(largest) else largest).ravel()
    if block.offset is not None:
        largest = np.append(np.abs(block.offset).max(initial=0.0), largest)
    floor = ROUNDING * (np.abs(block.mixing) @ largest)
    return np.where(np.abs(rows).max(axis=1) <= floor, 0.0, 1.0)[:, None] * rows


def _gram_frame(state: Subspace, block: Block, room: Room) -> GramFrame | None:
    """Return the frame by Cholesky, or None where the Gram matrix has lost too many digits."""
    basis, mixing = state.basis, block.mixing
    m, dtype = len(basis), basis.dtype
    sure = basis is room.sure_of
    if issparse(block.rows):
        gram = sparse_gram(basis, block, room)
    else:
        gram = dense_gram(basis, block.rows, sure)
    energy, left = gram.diagonal()[m:], 1.0
    if not energy.all() and underflow(energy, block):
        return None
    if mixing is not None:
        gram = mix(gram, m, mixing)
        left = float(left_of(gram.diagonal()[m:], energy, mixing).min(initial=1.0))
    n, b = len(gram), len(gram) - m
    coordinates, energy = np.empty((b, n)), np.empty(b)
    known = m if sure else 0
    share, _ = cholesky(gram, known, *RANGE[dtype], USABLE[dtype], coordinates, energy)
    share *= left
    if not share >= USABLE[dtype]:  # nor where it is NaN
        return None
    small, sound = room.eye(m, n), share >= SOUND[dtype]
    return GramFrame(small, coordinates, m, energy, sound, gram, known, state, block)


def left_of(
    energy: NDArray[np.float64], summands: NDArray[np.float64], mixing: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of its summands' energy that cancellation has left of each row (b,).

    A row of nothing has lost nothing.
    """
    most = (np.abs(mixing) @ np.sqrt(summands)) ** 2
    return np.divide(energy, most, out=np.ones(len(energy)), where=most > 0.0)


def underflow(energy: NDArray[np.float64], block: Block) -> bool:
    """Whether a row that is not zero has an energy of zero."""
    shift = int(block.offset is not None)
    for row in np.flatnonzero(energy == 0.0):
        if row < shift:
            if np.any(block.offset):
                return True
        elif abs(block.rows[[row - shift]]).max() > 0.0:
            return True
    return False
