"""Angles between subspaces."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from onepass.metrics.span import orthonormal


def principal_angles(A: ArrayLike, B: ArrayLike) -> NDArray[np.float64]:
    """Return the principal angles between the spans of the rows of A and of B, largest first.

    Small angles are accurate too: they come from sines, not from cosines.

    Parameters
    ----------
    A : array-like of shape (i, d)
        Directions.
    B : array-like of shape (j, d)
        Directions.

    Returns
    -------
    ndarray of shape (min(i, j),)
        In radians; fewer where the rows are linearly dependent.

    Examples
    --------
    >>> from onepass import metrics
    >>> metrics.principal_angles([[1.0, 0.0, 0.0]], [[1.0, 1e-12, 0.0]])
    array([1.e-12])
    """
    d = np.atleast_2d(A).shape[1]
    return scipy.linalg.subspace_angles(orthonormal(A, d).T, orthonormal(B, d).T)
