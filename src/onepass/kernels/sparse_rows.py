"""Products with sparse rows, for directions that are kept as the columns of a (d, m) array.

Every entry of a row then meets m numbers that lie side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit


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
    room: NDArray[np.float64],
    result: NDArray[np.float64],
) -> None:
    """Write the inner products of rows in CSR format with each other, of shape (b, b).

    `room`, of shape (d,), is zero before and after.
    """
    for row in range(len(starts) - 1):
        for p in range(starts[row], starts[row + 1]):
            room[columns[p]] = entries[p]
        for other in range(row, len(starts) - 1):
            even, odd = 0.0, 0.0
            start, stop = starts[other], starts[other + 1]
            for p in range(start, stop - 1, 2):
                even += entries[p] * room[columns[p]]
                odd += entries[p + 1] * room[columns[p + 1]]
            if (stop - start) % 2:
                even += entries[stop - 1] * room[columns[stop - 1]]
            result[row, other] = result[other, row] = even + odd
        for p in range(starts[row], starts[row + 1]):
            room[columns[p]] = 0.0


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
