"""What directions lose, and batch PCA, which they are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Numbers = NDArray[np.float64]
Directions = NDArray[np.floating]

# Losses are differences of sums that are this much larger; below, they are rounding.
ROUNDING = 1e-13


def batch_pca(X: Any, k: int) -> Directions:
    """Return the k leading eigenvectors (k, d) of the covariance of X (n, d)."""
    return leading(X - X.mean(axis=0), k)


def leading(rows: Any, k: int) -> Directions:
    """Return the k leading right singular vectors (k, d) of rows (n, d)."""
    n, d = rows.shape
    gram = rows @ rows.T if n < d else rows.T @ rows
    vectors = eigh(gram, subset_by_index=(len(gram) - k, len(gram) - 1))[1][:, ::-1]
    return np.linalg.qr(rows.T @ vectors if n < d else vectors)[0].T


def covariance_of(X: Numbers) -> Numbers:
    """Return the covariance (d, d) of rows X (n, d)."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


def loss(directions: Directions, covariance: Numbers, k: int) -> float:
    """Return by how much orthonormal directions (m, d) capture less than the best k.

    A covariance of shape (d,) is diagonal. No loss is below what rounding makes of zero.
    """
    found = directions.astype(np.float64)
    if covariance.ndim == 1:
        best = float(np.sort(covariance)[-k:].sum())
        captured = float(np.sum(found**2 @ covariance))
    else:
        best = float(np.linalg.eigvalsh(covariance)[-k:].sum())
        captured = float(np.sum((found @ covariance) * found))
    return max(best - captured, ROUNDING * best)
