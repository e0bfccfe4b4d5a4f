"""The eigenpairs of the state plus the gradient of a whole batch, in the small space."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit


@jit
def block_eigen(
    basis: NDArray[np.float64],
    weights: NDArray[np.float64],
    rows: NDArray[np.float64],
    gain: float,
    most: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenpairs of ``basis' diag(weights) basis + gain * rows' rows``.

    Parameters
    ----------
    basis : ndarray of shape (m, n)
        Orthonormal rows.
    weights : ndarray of shape (m,)
        Their eigenvalues, not negative.
    rows : ndarray of shape (b, n)
        The rows of the batch.
    gain : float
        The step, not negative.
    most : int
        How many pairs are wanted; no more than m + b are not zero.

    Returns
    -------
    values : ndarray of shape (j,)
        Descending, without the part that is zero by rank.
    vectors : ndarray of shape (j, n)
        One eigenvector per row.
    """
    n = basis.shape[1]
    scaled = math.sqrt(gain) * rows
    matrix = np.dot(scaled.T, scaled)
    if len(basis):
        matrix += np.dot(basis.T * weights, basis)
    # All pairs are found, which is quicker here than LAPACK's drivers for a few of them.
    ascending, columns = np.linalg.eigh(matrix)
    # Dependent rows leave eigenvalues that are zero but for rounding: they are no directions.
    least = 4 * n * np.finfo(np.float64).eps * ascending[n - 1]
    count, most = 0, min(most, n, len(basis) + len(rows))
    while count < most and ascending[n - 1 - count] > least:
        count += 1
    values, vectors = np.empty(count), np.empty((count, n))
    for i in range(count):
        values[i] = ascending[n - 1 - i]
        for j in range(n):
            vectors[i, j] = columns[j, n - 1 - i]
    return values, vectors
