"""Orthonormal frames: of given rows, or only their coordinates from a Gram matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtrs

# A row keeps this share of its energy outside of the rows before it, or its residual has lost too
# many digits in the Gram matrix: eps / share is the loss of orthogonality.
SOUND = {np.dtype(np.float64): 1e-3, np.dtype(np.float32): 0.1}
USABLE = {np.dtype(np.float64): 1e-5, np.dtype(np.float32): 1e-2}


def cholesky(gram: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Factor a Gram matrix of unit rows; return the lower factor and the least squared pivot.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        With a unit diagonal.

    Returns
    -------
    factor : ndarray of shape (n, n)
        Lower triangular, gram = factor @ factor.T.
    pivot : float
        The least share of a row that is outside of the rows before it; 0 if there is none.
    """
    factor, info = dpotrf(gram, lower=1, clean=1)
    pivot = float(factor.diagonal().min()) if info == 0 else 0.0
    return factor, pivot * pivot


def solve_right(coefficients: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray:
    """Return ``coefficients @ inv(factor)`` for a lower triangular factor."""
    if not len(coefficients):
        return coefficients
    solution, _ = dtrtrs(factor, coefficients.T, lower=1, trans=1)
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
    """Return the nearly orthonormal rows of `basis`, shape (m, d), made orthonormal to rounding."""
    factor, info = dpotrf((basis @ basis.T).astype(np.float64), lower=1, clean=1)
    if info:
        return householder(basis.astype(np.float64))[1].astype(basis.dtype)
    inverse = solve_right(np.eye(len(basis)), factor).astype(basis.dtype)
    return inverse @ basis
