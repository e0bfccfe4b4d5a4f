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
    gram: NDArray[np.float64],
    known: int,
    smallest: float,
    largest: float,
    enough: float,
    coordinates: NDArray[np.float64],
    energy: NDArray[np.float64],
) -> tuple[float, int]:
    """Replace a Gram matrix by its lower Cholesky factor L, gram = L L'.

    A row of zeros gets a direction of its own, which nothing ever uses.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Its lower triangle is read; overwritten, with zeros above the diagonal.
    known : int
        How many rows are known to be orthonormal: their part of the triangle is not read.
    smallest, largest : float
        Energies outside of this range may have lost digits already.
    enough : float
        The share of its energy that a row must have outside of the rows before it.
    coordinates : ndarray of shape (b, n)
        Receives the last b rows of L: the coordinates of the rows in the frame.
    energy : ndarray of shape (b,)
        Receives their squared norms.

    Returns
    -------
    share : float
        The least share of a row's energy that is outside of the rows before it; 0 where that is
        not enough, or a row is out of range, and then there is no factor.
    count : int
        How many rows there are before the first of which that is so; n if there is none.
    """
    n, b = len(gram), len(coordinates)
    for t in range(b):
        energy[t] = gram[n - b + t, n - b + t]
    # What is left of the rows that are not known, as an upper triangle: its rows are contiguous.
    left = np.empty((n, n))
    for j in range(n):
        for i in range(j + 1):
            left[i, j] = gram[j, i]
    least = 1.0
    for i in range(n):
        whole = gram[i, i]
        if i < known:
            left[i, i] = 1.0
            for j in range(i + 1, known):
                left[i, j] = 0.0
        elif whole == 0.0:
            left[i, i] = 1.0
            for j in range(i + 1, n):
                left[i, j] = 0.0
        else:
            share = left[i, i] / whole
            if not (share >= enough and smallest <= whole <= largest):  # nor where it is NaN
                return 0.0, i
            least = min(least, share)
            root = 1.0 / np.sqrt(left[i, i])
            for j in range(i, n):
                left[i, j] *= root
        for p in range(max(i + 1, known), n):
            entry = left[i, p]
            if entry != 0.0:
                for j in range(p, n):
                    left[p, j] -= entry * left[i, j]
    for i in range(n):
        for j in range(n):
            gram[i, j] = left[j, i] if j <= i else 0.0
    for t in range(b):
        for j in range(n):
            coordinates[t, j] = gram[n - b + t, j] if energy[t] > 0.0 else 0.0
    return least, n


@jit
def solve_right(
    coefficients: NDArray[np.float64], factor: NDArray[np.float64], known: int
) -> NDArray[np.float64]:
    """Return ``coefficients @ inv(factor)``, of shape (m, n).

    The factor (n, n) is lower triangular, and its first `known` rows are those of the identity.
    """
    solution = coefficients.copy()
    for row in solution:
        for i in range(len(factor) - 1, known - 1, -1):
            row[i] /= factor[i, i]
            entry = row[i]
            for j in range(i):
                row[j] -= entry * factor[i, j]
    return solution


def add_product(left: NDArray, right: NDArray, out: NDArray) -> None:
    """Add ``left @ right`` to `out`, all of one dtype and `out` in C order."""
    if not out.size:
        return
    gemm = dgemm if out.dtype == np.float64 else sgemm
    # The transposes are what BLAS calls a matrix; it adds in place.
    gemm(1.0, right.T, left.T, beta=1.0, c=out.T, overwrite_c=True)


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
