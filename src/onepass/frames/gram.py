"""The Gram matrix of a state's basis and a block of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.frames.block import Block
from onepass.frames.room import Room
from onepass.kernels.sparse_rows import gram_of_rows, project_rows

PANEL = 1024  # columns of U and of a block's rows that are in the cache together


def wide_gram(basis: NDArray, block: Block, room: Room) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; rows]: a few columns at a time, which stay in the cache."""
    d, m = basis.shape[1], len(basis)
    gram = np.zeros((m + len(block.rows),) * 2)
    for start in range(0, d, PANEL):
        columns = slice(start, min(start + PANEL, d))
        stack = room.panel(m + len(block.rows), columns.stop - start, basis.dtype)
        stack[:m], stack[m:] = basis[:, columns], block.rows[:, columns]
        gram += stack @ stack.T
    return gram


def sparse_gram(basis: NDArray, block: Block, room: Room) -> NDArray[np.float64]:
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


def mix(gram: NDArray[np.float64], m: int, mixing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; mixing @ rows] from that of [U; rows]."""
    mixed = np.empty((m + len(mixing),) * 2)
    mixed[:m, :m] = gram[:m, :m]
    mixed[m:, :m] = mixing @ gram[m:, :m]
    mixed[:m, m:] = mixed[m:, :m].T
    mixed[m:, m:] = mixing @ gram[m:, m:] @ mixing.T
    return mixed
