"""The eigenpairs of the state plus the gradient of a whole batch, in the small space."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.symmetric import leading_eigenpairs

EPS = 2.0**-52


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
    values, vectors = leading_eigenpairs(matrix, min(most, len(basis) + len(rows)))
    # Dependent rows leave eigenvalues that are zero but for rounding: they are no directions.
    count = len(values)
    while count > 0 and not values[count - 1] > 4 * n * EPS * values[0]:
        count -= 1
    return values[:count], vectors[:count]
