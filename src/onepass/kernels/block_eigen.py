"""The eigenpairs of the state plus the gradient of a whole batch, in the small space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
    count = min(most, n, len(basis) + len(rows))
    scaled = np.sqrt(gain) * rows
    matrix = (basis.T * weights) @ basis + scaled.T @ scaled
    if count == 0:
        return np.zeros(0), np.zeros((0, n))
    values, vectors = np.linalg.eigh(matrix)  # quicker here than LAPACK's drivers for a few pairs
    # Dependent rows leave eigenvalues that are zero but for rounding: they are no directions.
    count = min(count, int((values > 4 * n * np.finfo(np.float64).eps * values[-1]).sum()))
    largest = slice(n - 1, n - 1 - count if count < n else None, -1)
    return values[largest], np.ascontiguousarray(vectors.T[largest])
