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

PANEL = 1024  # columns of U and of a block's rows that are in the cache together
GROUP = 16  # rows whose products with all rows before them are worked out at once
SMALL = 10**6  # multiplications up to which BLAS is quickest, as it copies nothing then


def narrow_gram(stack: NDArray, m: int, sure: bool) -> NDArray[np.float64]:
    """Return the Gram matrix of stack = [U; rows], up to the diagonal of each group of rows.

    `sure` says that the m rows of U are orthonormal.
    """
    gram = np.zeros((len(stack),) * 2)
    _add_products(stack, m, sure, gram)
    return gram


def wide_gram(basis: NDArray, rows: NDArray, room: Room) -> NDArray[np.float64]:
    """Return the same a few columns at a time, which stay in the cache."""
    d, m = basis.shape[1], len(basis)
    gram = np.zeros((m + len(rows),) * 2)
    sure = basis is room.sure_of
    for start in range(0, d, PANEL):
        columns = slice(start, min(start + PANEL, d))
        stack = room.panel(len(gram), columns.stop - start, basis.dtype)
        stack[:m], stack[m:] = basis[:, columns], rows[:, columns]
        _add_products(stack, m, sure, gram)
    return gram


def _add_products(stack: NDArray, m: int, sure: bool, gram: NDArray[np.float64]) -> None:
    """Add the inner products of the rows of a stack with those before them to their Gram matrix."""
    if not sure:
        gram[:m, :m] += stack[:m] @ stack[:m].T
    n, d = stack.shape
    groups = -(-(n - m) // max(1, min(GROUP, SMALL // (n * d))))
    for group in range(groups):
        first, last = m + (n - m) * group // groups, m + (n - m) * (group + 1) // groups
        gram[first:last, :last] += np.dot(stack[first:last], stack[:last].T)


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
