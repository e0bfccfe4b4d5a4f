"""Leading eigenvectors of a symmetric matrix: found quickly, and proven to be the leading ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.sparse.linalg import ArpackError, eigsh

SMALL = 256  # columns up to which LAPACK takes no longer than an iteration
MANY = 12  # columns for each eigenvector below which an iteration takes too long
MOST_RESTARTS = 12  # of the iteration: LAPACK is faster where a spectrum needs more
ROUNDING = 8 * np.finfo(np.float64).eps


def leading_pairs(
    matrix: NDArray[np.float64], k: int, *, prove: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k leading eigenvectors (k, d) and eigenvalues (k,), largest first.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric; no eigenvalue is negative but for rounding.
    k : int
        How many, at most d.
    prove : bool
        Whether it must be certain that none of several equal eigenvalues is missing.
    """
    d = len(matrix)
    found = _iterate(matrix, k, prove) if d > SMALL and MANY * k <= d else None
    if found is None:
        if 4 * k > d:  # LAPACK finds all of them faster than some
            found = np.linalg.eigh(matrix)
        else:
            found = eigh(matrix, subset_by_index=(d - k, d - 1), check_finite=False)
    values, vectors = found[0][-k:], found[1][:, -k:]
    return np.ascontiguousarray(vectors.T[::-1]), values[::-1].clip(min=0.0)


def _iterate(
    matrix: NDArray[np.float64], k: int, prove: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return eigenvalues (k,) and eigenvectors (d, k), ascending, or None if there is no proof.

    Lanczos' iteration may miss one of several equal eigenvalues. The Cholesky factor of
    ``top I - (matrix - what was found)`` exists only if no eigenvalue above `top` was missed.
    """
    d, size = len(matrix), float(matrix.trace())
    if not 1e-200 < size < 1e200:
        return None
    start = np.random.default_rng(0).normal(size=d)
    try:
        values, vectors = eigsh(matrix, k, v0=start, maxiter=MOST_RESTARTS)
    except ArpackError:
        return None
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    if not prove:
        return values, vectors
    missed = (vectors * values) @ vectors.T - matrix
    missed.flat[:: d + 1] += values[0] + d * ROUNDING * values[-1]
    try:
        cholesky(missed, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return values, vectors
