"""How good directions are: captured variance, suboptimality, principal angles.

Directions are rows, and only their span counts: they need not be orthonormal. They are measured on

- rows: an array or a scipy sparse matrix of shape (n, d), for the second moment X'X / n;
- or a second moment itself: a `Subspace`, as `from_dense` makes it. For estimators that centre,
  pass a covariance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import ArrayLike, NDArray

from onepass.moments.chunk import chunk_about
from onepass.subspace import Subspace

__all__ = ["captured", "captured_share", "from_dense", "principal_angles", "suboptimality"]

# Up to this size a dense eigenproblem is quicker than, and as accurate as, an iterative one.
DENSE_SIZE = 2000
SINGLE_ROUNDING = 1e-6  # of the largest entry: what is computed in float32 is off by that


def captured(directions: ArrayLike, data: Any, *, mean: ArrayLike | None = None) -> float:
    """Return the variance of the projection onto the span of the directions, per row.

    It is tr(P E[x x']), with P the projection: the objective of the paper.

    Parameters
    ----------
    directions : array-like of shape (k, d)
        Their span is measured.
    data : rows or Subspace
        See `onepass.metrics`.
    mean : array-like of shape (d,), optional
        Subtracted from the rows; sparse rows stay sparse. Only for rows.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import metrics
    >>> rows = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> metrics.captured([[0.0, 2.0]], rows)
    8.5
    """
    moment = moment_of(data, mean)
    return moment.captured(span_basis(directions, moment.n_features))


def captured_share(directions: ArrayLike, data: Any, *, mean: ArrayLike | None = None) -> float:
    """Return `captured` as a share of the total variance, between 0 and 1.

    Rows without any variance have a share of 1: there is nothing that is not captured.

    Parameters
    ----------
    directions, data, mean
        As for `captured`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import metrics
    >>> moment = metrics.from_dense(np.diag([1.0, 4.0]))
    >>> metrics.captured_share([[0.0, 1.0]], moment)
    0.8
    """
    moment = moment_of(data, mean)
    total = moment.trace
    inside = moment.captured(span_basis(directions, moment.n_features))
    return min(1.0, inside / total) if total else 1.0


def suboptimality(directions: ArrayLike, data: Any, k: int | None = None) -> float:
    """Return how much more the best k directions capture than the given ones.

    It is of second order in the angles, and computed without a difference of large numbers: it
    is right to a few digits even where it is 1e-20 of the variance.

    Parameters
    ----------
    directions : array-like of shape (j, d)
        Their span is measured.
    data : rows or Subspace
        See `onepass.metrics`.
    k : int, optional
        The number of directions to compare with, at least j; j by default. Directions that are
        linearly dependent count as fewer.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import metrics
    >>> moment = metrics.from_dense(np.diag([1.0, 4.0]))
    >>> metrics.suboptimality([[1.0, 0.0]], moment)
    3.0
    >>> print(f"{metrics.suboptimality([[1e-10, 1.0]], moment):.3g}")
    3e-20
    """
    moment = moment_of(data, None)
    span = span_basis(directions, moment.n_features)
    k = len(np.atleast_2d(directions)) if k is None else k
    if not len(span) <= k <= moment.n_features:
        raise ValueError(
            f"k={k} must be from {len(span)}, the number of directions, to {moment.n_features}"
        )
    # With mu the k-th eigenvalue and `top` the eigenvectors above it, the residuals `lost` of
    # top outside of span and `gained` of span outside of top give optimum - captured as
    #   sum_top (value - mu) |lost|^2 + mu |gained|^2 - captured by gained + mu (k - dim span).
    values, top, mu = moment.leading(k)
    lost = residual(top, span)
    gained = residual(span, top)
    exchanged = mu * np.vdot(gained, gained) - moment.captured(gained)
    missing = (values - mu) @ np.einsum("ij,ij->i", lost, lost)
    return max(0.0, float(missing + exchanged + mu * (k - len(span))))


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
    return scipy.linalg.subspace_angles(span_basis(A, d).T, span_basis(B, d).T)


def from_dense(second_moment: ArrayLike) -> Subspace:
    """Return a symmetric positive semidefinite matrix as eigenvectors and eigenvalues.

    Parameters
    ----------
    second_moment : array-like of shape (d, d)
        Symmetric, with no eigenvalue below zero, both up to rounding.

    Returns
    -------
    Subspace
        Of rank d, largest eigenvalue first.

    Examples
    --------
    >>> from onepass import metrics
    >>> metrics.from_dense([[2.0, 0.0], [0.0, 3.0]]).weights
    array([3., 2.])
    """
    dense = np.asarray(second_moment, dtype=np.float64)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not np.isfinite(dense).all():
        raise ValueError(f"a second moment is a square of finite numbers, not {dense.shape}")
    rounding = SINGLE_ROUNDING * np.abs(dense).max(initial=0.0)
    if np.abs(dense - dense.T).max(initial=0.0) > rounding:
        raise ValueError("a second moment is symmetric, and this matrix is not")
    values, vectors = np.linalg.eigh(dense)
    if values.min(initial=0.0) < -rounding * len(dense):
        raise ValueError(f"a second moment has no negative eigenvalue, this has {values[0]:.3g}")
    return Subspace(np.ascontiguousarray(vectors.T[::-1]), np.maximum(values[::-1], 0.0))


def span_basis(directions: ArrayLike, d: int) -> NDArray[np.float64]:
    """Return orthonormal rows that span the directions, as a (rank, d) array."""
    if hasattr(directions, "components_"):
        raise ValueError(f"directions are a {type(directions).__name__}: pass its components_")
    rows = np.atleast_2d(np.asarray(directions, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != d:
        raise ValueError(f"directions have shape {rows.shape}, not (k, {d})")
    if not np.isfinite(rows).all():
        raise ValueError("directions must be finite")
    # Scaling each row first keeps a short one from being taken for a dependent one.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows[largest[:, 0] > 0] / largest[largest[:, 0] > 0]
    if len(rows) == 0:  # which SciPy's orth takes from 1.14 on
        return rows
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(scipy.linalg.orth(rows.T).T)


def residual(rows: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of rows (i, d) outside of the span of the orthonormal basis (j, d)."""
    for _ in range(2):
        rows = rows - (rows @ basis.T) @ basis
    return rows


def moment_of(data: Any, mean: ArrayLike | None) -> Subspace | OfRows:
    """Return the second moment that `data` stands for."""
    if not isinstance(data, Subspace):
        return OfRows(data, mean)
    if mean is not None:
        raise ValueError("mean is subtracted from rows; a second moment has none")
    return data


class OfRows:
    """The second moment X'X / n of rows, which is not formed where that would be large."""

    def __init__(self, rows: Any, mean: ArrayLike | None) -> None:
        self.is_sparse = scipy.sparse.issparse(rows)
        self.values: Any = scipy.sparse.csr_array(rows) if self.is_sparse else np.asarray(rows)
        self.values = self.values.astype(np.float64, copy=False)
        if self.values.ndim != 2 or 0 in self.values.shape:
            raise ValueError(f"rows must be of shape (n, d), not {self.values.shape}")
        self.n, self.n_features = self.values.shape
        origin = np.zeros(self.n_features) if mean is None else np.asarray(mean, np.float64)
        if origin.shape != (self.n_features,):
            raise ValueError(f"mean has shape {origin.shape}, not ({self.n_features},)")
        self.rows = chunk_about(self.values, np.ones(self.n), origin)

    def captured(self, directions: NDArray[np.float64]) -> float:
        """Return tr(directions X'X directions') / n."""
        inner = self.rows.inner(directions)
        return float(np.vdot(inner, inner)) / self.n

    @property
    def trace(self) -> float:
        """The trace of X'X / n."""
        return float(self.rows.energies.sum()) / self.n

    def leading(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the k largest eigenvalues, their eigenvectors (k, d), and the k-th eigenvalue."""
        if self.trace == 0:
            return np.zeros(0), np.zeros((0, self.n_features)), 0.0
        if min(self.n, self.n_features) <= max(DENSE_SIZE, 4 * k):
            rows = self.values.toarray() if self.is_sparse else self.values
            if self.n > self.n_features:  # the R of a QR has the same ones, and is small
                rows = np.linalg.qr(rows, mode="r")
            _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
        else:
            start = np.ones(min(self.n, self.n_features))
            _, singular, vectors = scipy.sparse.linalg.svds(self.values, k=k, v0=start, tol=0)
            order = np.argsort(-singular)
            singular, vectors = singular[order], vectors[order]
        values = np.zeros(k)
        values[: len(singular)] = singular[:k] ** 2 / self.n
        return values[: len(vectors[:k])], vectors[:k], float(values[-1])
