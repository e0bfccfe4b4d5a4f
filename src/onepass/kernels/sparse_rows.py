"""Products with sparse rows, for directions that are kept as the columns of a (d, m) array.

Every entry of a row then meets m numbers that lie side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit

COMMON = 0.2  # share of the rows from which on a column is worth a dense one


@jit
def project_rows(
    starts: NDArray[np.integer],
    columns: NDArray[np.integer],
    entries: NDArray[np.floating],
    directions: NDArray[np.floating],
    result: NDArray[np.float64],
) -> None:
    """Write the products of rows with directions (d, m) to the first m columns of `result`.

    Parameters
    ----------
    starts, columns, entries : ndarray
        The rows in CSR format.
    directions : ndarray of shape (d, m)
        In C order.
    result : ndarray of shape (b, >= m)
    """
    m = directions.shape[1]
    for row in range(len(starts) - 1):
        for i in range(m):
            result[row, i] = 0.0
        for p in range(starts[row], starts[row + 1]):
            entry, column = entries[p], columns[p]
            for i in range(m):
                result[row, i] += entry * directions[column, i]


@jit
def gram_of_rows(
    starts: NDArray[np.integer],
    columns: NDArray[np.integer],
    entries: NDArray[np.floating],
    room: NDArray[np.int64],
    result: NDArray[np.float64],
) -> None:
    """Write the inner products of rows in CSR format to the lower triangle of `result` (b, b).

    The entries of each column are gathered as the rows come, so that a row meets only those that
    it has a column in common with. Columns that many rows have are multiplied as a dense matrix.
    `room`, of shape (2, d), is zero before and after.
    """
    b, first, last = len(starts) - 1, starts[0], starts[-1]
    begins, ends = room[0], room[1]
    for p in range(first, last):
        ends[columns[p]] += 1
    used, common = 0, 0
    for p in range(first, last):
        column = columns[p]
        count = ends[column]
        if count > COMMON * b:
            common += 1
            begins[column], ends[column] = -common, -1
        elif count > 0:
            begins[column], ends[column] = used, -used - 1
            used += count
    # Where the entries of a column end is kept as a negative number: it has its place.
    dense, rows, values = np.zeros((b, common)), np.empty(used, np.int64), np.empty(used)
    result[:] = 0.0
    for row in range(b):
        inner = result[row]
        for p in range(starts[row], starts[row + 1]):
            entry, column = entries[p], columns[p]
            begin = begins[column]
            if begin < 0:
                dense[row, -begin - 1] = entry
            else:
                end = -ends[column] - 1
                rows[end], values[end] = row, entry
                ends[column] -= 1
                for q in range(begin, end + 1):
                    inner[rows[q]] += entry * values[q]
    if common:
        result += np.dot(dense, dense.T)
    for p in range(first, last):
        begins[columns[p]] = ends[columns[p]] = 0


@jit
def add_rows(
    starts: NDArray[np.integer],
    columns: NDArray[np.integer],
    entries: NDArray[np.floating],
    coefficients: NDArray[np.floating],
    directions: NDArray[np.floating],
) -> None:
    """Add ``rows' @ coefficients`` to directions of shape (d, m), in place.

    Parameters
    ----------
    starts, columns, entries : ndarray
        The rows in CSR format.
    coefficients : ndarray of shape (b, m)
        In C order.
    directions : ndarray of shape (d, m)
        In C order.
    """
    m = directions.shape[1]
    for row in range(len(starts) - 1):
        for p in range(starts[row], starts[row + 1]):
            entry, column = entries[p], columns[p]
            for i in range(m):
                directions[column, i] += entry * coefficients[row, i]
