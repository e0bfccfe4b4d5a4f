"""The Nystroem approximation of a second moment, from its product with some directions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from onepass.kernels.orthonormal import orthonormal
from onepass.subspace import Subspace

# Ratio of the least to the largest variance below which rounding leaves eigenvectors skew.
ROUGH = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-2}


def nystroem(product: NDArray, core: NDArray[np.float64], max_rank: int) -> Subspace:
    """Return ``product' core^-1 product`` in eigenvectors, largest first.

    Parameters
    ----------
    product : ndarray of shape (j, d)
        ``Q S`` for orthonormal rows Q.
    core : ndarray of shape (j, j)
        ``Q S Q'``.
    max_rank : int
        How many eigenvectors are wanted; there are fewer where S has fewer directions.
    """
    if not np.trace(core) > 0.0:  # rows without any spread
        return Subspace.empty(product.shape[1], dtype=product.dtype)
    cut = float(np.finfo(product.dtype).eps) ** 0.75
    root, info = dpotrf(core, lower=1, clean=1)
    pivots = root.diagonal() ** 2
    if info == 0 and pivots.min(initial=np.inf) > cut * pivots.max(initial=0.0):
        root = dtrtrs(root, np.eye(len(root)), lower=1)[0]
    else:
        values, vectors = np.linalg.eigh(core)
        kept = values > cut * values[-1]
        root = (vectors[:, kept] / np.sqrt(values[kept])).T
    factor = root.astype(product.dtype) @ product
    values, vectors = np.linalg.eigh((factor @ factor.T).astype(np.float64))
    kept = np.flatnonzero(values > cut * values[-1])[::-1][:max_rank]
    turn = (vectors[:, kept] / np.sqrt(values[kept])).T.astype(product.dtype)
    basis = turn @ factor
    if values[kept[-1]] < ROUGH[product.dtype] * values[-1]:
        basis = orthonormal(basis)
    return Subspace(basis, values[kept])
