"""`PCA` and its peers: each answers with directions about the mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.decomposition import IncrementalPCA

from onepass import PCA, CappedMSG

Directions = NDArray[np.floating]
SIGN_STEPS = 30  # of Weiszfeld's iteration for the spatial median


@dataclass(frozen=True)
class Method:
    """Something that answers with directions.

    Attributes
    ----------
    name : str
        As on the command line.
    fit : callable
        ``fit(X, k)`` returns orthonormal directions (k, d).
    """

    name: str
    fit: Callable[[Any, int], Directions]


def batch(X: Any, k: int) -> Directions:
    """Return the k leading eigenvectors (k, d) of the covariance of X (n, d)."""
    return leading(X - X.mean(axis=0), k)


def spatial_sign(X: Any, k: int) -> Directions:
    """Return those of the rows' unit vectors about their spatial median."""
    centre = X.mean(axis=0)
    for _ in range(SIGN_STEPS):
        inverse = 1.0 / np.maximum(np.linalg.norm(X - centre, axis=1), 1e-300)
        centre = inverse @ X / inverse.sum()
    away = X - centre
    return leading(away / np.maximum(np.linalg.norm(away, axis=1), 1e-300)[:, None], k)


def leading(rows: Any, k: int) -> Directions:
    """Return the k leading right singular vectors (k, d) of rows (n, d)."""
    n, d = rows.shape
    gram = rows @ rows.T if n < d else rows.T @ rows
    vectors = eigh(gram, subset_by_index=(len(gram) - k, len(gram) - 1))[1][:, ::-1]
    return np.linalg.qr(rows.T @ vectors if n < d else vectors)[0].T


def capped_msg(X: Any, k: int) -> Directions:
    """Return the components of averaged Capped MSG."""
    model = CappedMSG(k, batch_size=max(32, 2 * k), average=True, center=True)
    return model.fit(X).components_


METHODS = [
    Method("PCA", lambda X, k: PCA(k).fit(X).components_),
    Method("batch", batch),
    Method("spatial sign", spatial_sign),
    Method("IncrementalPCA", lambda X, k: IncrementalPCA(k).fit(X).components_),
    Method("IncrementalPCA 100", lambda X, k: IncrementalPCA(k, batch_size=100).fit(X).components_),
    Method("CappedMSG", capped_msg),
]
