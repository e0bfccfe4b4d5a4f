"""The span of directions."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray


def orthonormal(directions: ArrayLike, d: int) -> NDArray[np.float64]:
    """Return orthonormal rows that span the directions, as a (rank, d) array."""
    rows = np.atleast_2d(np.asarray(directions, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != d:
        raise ValueError(f"directions have shape {rows.shape}, not (k, {d})")
    if not np.isfinite(rows).all():
        raise ValueError("directions must be finite")
    # Scaling each row first keeps a short one from being taken for a dependent one.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows[largest[:, 0] > 0] / largest[largest[:, 0] > 0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(scipy.linalg.orth(rows.T).T)


def residual(rows: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of rows (i, d) outside of the span of the orthonormal basis (j, d)."""
    for _ in range(2):
        rows = rows - (rows @ basis.T) @ basis
    return rows
