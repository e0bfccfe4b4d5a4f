"""A few leading eigenvectors of a symmetric matrix: found quickly, and proven to be the leading.

Lanczos' iteration finds the ends of a spectrum in a few dozen products, but may miss one of several
equal eigenvalues. That nothing was missed is proven by a Cholesky factorisation: it exists if and
only if what is left of the matrix is nowhere larger than the least eigenvalue found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf

from onepass.kernels.squares import add_squares, dsyrk

LOOK_EVERY = 12  # products
ROUNDING = 4 * np.finfo(np.float64).eps
SMALLEST, LARGEST = 1e-140, 1e140  # squares of such numbers are in range


def leading_pairs(
    matrix: NDArray[np.float64], k: int, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the k largest eigenvalues, descending, and their eigenvectors (k, d).

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Its upper triangle counts, and no eigenvalue is negative; in Fortran order.
    k : int
        How many.
    most : int
        How many products with the matrix may be tried.

    Returns
    -------
    pairs : tuple or None
        As exact as those of LAPACK; None where they were not found or not proven.
    """
    if not SMALLEST < matrix.diagonal().max(initial=0.0) < LARGEST:
        return None
    found = _iterate(matrix, k, most)
    return found if found is not None and _proven(matrix, *found) else None


def _iterate(
    matrix: NDArray[np.float64], k: int, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return k eigenpairs at the upper end of the spectrum, or None if there are not so many."""
    d = len(matrix)
    basis, diagonal, beside = np.empty((most, d)), np.empty(most), np.empty(most)
    row = np.random.default_rng(0).normal(size=d)
    row /= np.linalg.norm(row)
    for j in range(most):
        basis[j] = row
        row = dsymv(1.0, matrix, row)
        so_far = basis[: j + 1]
        diagonal[j] = row @ basis[j]
        for _ in range(2):  # once is not enough for rows that are orthogonal to rounding
            row -= (so_far @ row) @ so_far
        beside[j] = np.linalg.norm(row)
        through = not beside[j] > ROUNDING * np.abs(diagonal[: j + 1]).max()
        if through or ((j + 1) % LOOK_EVERY == 0 and j >= k):
            if j + 1 < k:
                return None
            values, turn = eigh_tridiagonal(diagonal[: j + 1], beside[:j])
            left = beside[j] * np.abs(turn[-1, -k:]).max()
            if through or left <= ROUNDING * np.sqrt(d) * values[-1]:
                return values[: -k - 1 : -1], turn.T[: -k - 1 : -1] @ so_far
        row /= beside[j]
    return None


def _proven(
    matrix: NDArray[np.float64], values: NDArray[np.float64], vectors: NDArray[np.float64]
) -> bool:
    """Whether no other eigenvalue is larger than the least of these, but for rounding."""
    d = len(matrix)
    room = np.asfortranarray(-matrix)
    add_squares(np.sqrt(values.clip(min=0.0))[:, None] * vectors, room.T, dsyrk())
    room.flat[:: d + 1] += values[-1] + d * ROUNDING * values[0]
    return bool(values[-1] > 0.0) and dpotrf(room, overwrite_a=True, clean=False)[1] == 0
