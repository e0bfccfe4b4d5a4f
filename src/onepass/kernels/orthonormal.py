"""Orthonormal frames: of given rows, or only their coordinates from a Gram matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.blas import dgemm, sgemm
from scipy.linalg.lapack import dpotrf, dtrtrs

from onepass.kernels.compiling import jit

# A row keeps this share of its energy outside of the rows before it, or its residual has lost too
# many digits in the Gram matrix: eps / share is the loss of orthogonality.
SOUND = {np.dtype(np.float64): 1e-3, np.dtype(np.float32): 0.1}
USABLE = {np.dtype(np.float64): 1e-5, np.dtype(np.float32): 1e-2}


@jit
def cholesky(
    gram: NDArray[np.float64], smallest: float, largest: float, coordinates: NDArray[np.float64]
) -> float:
    """Replace the upper triangle of a Gram matrix by its Cholesky factor R, gram = R' R.

    Rows are scaled to unit length on the way, so that only their directions decide how much is
    lost. A row of zeros gets a direction of its own, which nothing ever uses.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Overwritten; zero below the diagonal on return.
    smallest, largest : float
        Energies outside of this range may have lost digits already.
    coordinates : ndarray of shape (b, n)
        Receives the last b rows of R': the coordinates of the rows in the frame.

    Returns
    -------
    float
        The least share of a row's energy that is outside of the rows before it; 0 where a row
        is out of range or there is no factor.
    """
    n, b = len(gram), len(coordinates)
    length = np.empty(n)
    for i in range(n):
        length[i] = np.sqrt(gram[i, i])
        if gram[i, i] != 0.0 and not smallest <= gram[i, i] <= largest:
            return 0.0
    for i in range(n):
        for j in range(i):
            gram[i, j] = 0.0
        for j in range(i, n):
            if length[i] > 0.0 and length[j] > 0.0:
                gram[i, j] /= length[i] * length[j]
            else:
                gram[i, j] = 1.0 if i == j else 0.0
    least = 1.0
    for i in range(n):
        least = min(least, gram[i, i])
        if not least > 0.0:
            return 0.0
        root = np.sqrt(gram[i, i])
        for j in range(i, n):
            gram[i, j] /= root
        for p in range(i + 1, n):
            share = gram[i, p]
            if share != 0.0:
                for j in range(p, n):
                    gram[p, j] -= share * gram[i, j]
    for i in range(n):
        for j in range(i, n):
            if length[j] > 0.0:
                gram[i, j] *= length[j]
            if j >= n - b:
                coordinates[j - (n - b), i] = gram[i, j] if length[j] > 0.0 else 0.0
        for j in range(max(0, n - b), i):
            coordinates[j - (n - b), i] = 0.0
    return least


def add_product(left: NDArray, right: NDArray, out: NDArray) -> None:
    """Add ``left @ right`` to `out`, all of one dtype and `out` in C order."""
    gemm = dgemm if out.dtype == np.float64 else sgemm
    # The transposes are what BLAS calls a matrix; it adds in place.
    gemm(1.0, right.T, left.T, beta=1.0, c=out.T, overwrite_c=True)


def solve_right(coefficients: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray:
    """Return ``coefficients @ inv(factor.T)`` for an upper triangular factor in C order."""
    if not len(coefficients):
        return coefficients
    solution, _ = dtrtrs(factor.T, coefficients.T, lower=1, trans=1)
    return solution.T


def householder(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower-trapezoidal coordinates and an orthonormal frame, however dependent the rows.

    Parameters
    ----------
    rows : ndarray of shape (m, d)

    Returns
    -------
    coordinates : ndarray of shape (m, n)
        n = min(m, d); rows = coordinates @ frame; the diagonal is not negative.
    frame : ndarray of shape (n, d)
        Orthonormal rows.
    """
    q, r = qr(rows.T, mode="economic", check_finite=False)
    sign = np.where(r.diagonal() < 0, -1.0, 1.0)
    return np.ascontiguousarray((r * sign[:, None]).T), np.ascontiguousarray((q * sign).T)


def orthonormal(basis: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return rows (m, d) with the same span, orthonormal to rounding; best if nearly so already."""
    factor, info = dpotrf((basis @ basis.T).astype(np.float64), lower=1, clean=1)
    pivots = factor.diagonal()
    if info or pivots.min(initial=1.0) < 1e-2 * pivots.max(initial=0.0):
        return householder(basis.astype(np.float64))[1].astype(basis.dtype)
    inverse, _ = dtrtrs(factor, np.eye(len(basis)), lower=1) if len(basis) else (factor, 0)
    return inverse.astype(basis.dtype) @ basis
