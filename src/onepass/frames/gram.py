"""The Gram matrix of a state's basis and a block of rows.

Only its lower triangle is worked out, and of that not the part of the basis, where the room is
sure that it is orthonormal; without a look at it now and then, rounding would add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.frames.block import Block
from onepass.frames.room import Room
from onepass.kernels.sparse_rows import gram_of_rows, project_rows
from onepass.kernels.tiles import add_gram


def dense_gram(basis: NDArray, rows: NDArray, sure: bool) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; rows], up to its diagonal and a little beyond.

    `sure` says that U is orthonormal.
    """
    m = len(basis)
    gram = np.zeros((m + len(rows),) * 2)
    if not sure:
        gram[:m, :m] = basis @ basis.T
    add_gram(np.ascontiguousarray(basis), m, np.ascontiguousarray(rows), gram)
    return gram


def sparse_gram(basis: NDArray, block: Block, room: Room) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; offset; rows] for sparse rows."""
    rows, m = block.rows, len(basis)
    csr = rows.indptr, rows.indices, rows.data
    front = m + (block.offset is not None)
    gram = np.empty((front + rows.shape[0],) * 2)
    columns = np.ascontiguousarray(basis.T)  # always the same layout: the same bits
    if basis is not room.sure_of:
        gram[:m, :m] = columns.T @ columns
    project_rows(*csr, columns, gram[front:])
    gram_of_rows(*csr, room.counters(rows.shape[1]), gram[front:, front:])
    if block.offset is not None:
        gram[m, :m], gram[m, m] = block.offset @ columns, block.offset @ block.offset
        gram[front:, m] = rows @ block.offset
    return gram


def products_of_sparse(rows: Any) -> NDArray[np.float64]:
    """Return the inner products (b, b) of the rows of a CSR array."""
    lower = np.empty((rows.shape[0],) * 2)
    counters = np.zeros((2, rows.shape[1]), np.int64)
    gram_of_rows(rows.indptr, rows.indices, rows.data, counters, lower)
    return _whole(lower)


def _whole(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a symmetric matrix from its lower triangle."""
    lower = np.tril(gram)
    return lower + np.tril(lower, -1).T


def mix(gram: NDArray[np.float64], m: int, mixing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gram matrix of [U; mixing @ rows] from the lower triangle of that of [U; rows]."""
    mixed = np.zeros((m + len(mixing),) * 2)
    mixed[:m, :m] = gram[:m, :m]
    mixed[m:, :m] = mixing @ gram[m:, :m]
    mixed[m:, m:] = mixing @ _whole(gram[m:, m:]) @ mixing.T
    return mixed
