"""What directions are measured on."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import ArrayLike, NDArray

from onepass.subspace import Subspace

# Up to this size a dense eigenproblem is quicker than, and as accurate as, an iterative one.
_DENSE_SIZE = 2000


class Population(Protocol):
    """A distribution that knows its second moment."""

    def second_moment(self) -> Subspace:
        """Return E[x x']."""


Measured: TypeAlias = Population | Subspace | ArrayLike | Any


def from_dense(second_moment: ArrayLike) -> Subspace:
    """Return a symmetric positive semidefinite matrix as eigenvectors and eigenvalues.

    Parameters
    ----------
    second_moment : array-like of shape (d, d)
        Symmetric.

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
    values, vectors = np.linalg.eigh(np.asarray(second_moment, dtype=np.float64))
    return Subspace(np.ascontiguousarray(vectors.T[::-1]), np.maximum(values[::-1], 0.0))


def measured(data: Measured, mean: ArrayLike | None) -> OfSubspace | OfRows:
    """Return the second moment that `data` stands for."""
    if hasattr(data, "second_moment"):
        data = data.second_moment()
    if not isinstance(data, Subspace):
        return OfRows(data, mean)
    if mean is not None:
        raise ValueError("mean is subtracted from rows; a second moment has none")
    return OfSubspace(data)


class OfSubspace:
    """A second moment that is known."""

    def __init__(self, moment: Subspace) -> None:
        self.moment = moment
        self.n_features = moment.n_features

    def captured(self, directions: NDArray[np.float64]) -> float:
        """Return tr(directions E[x x'] directions')."""
        inner = directions @ self.moment.basis.T
        outside = directions - inner @ self.moment.basis
        inside = np.einsum("ij,ij->j", inner, inner) @ self.moment.weights
        return float(inside + self.moment.rest * np.vdot(outside, outside))

    def total(self) -> float:
        """Return tr E[x x']."""
        return self.moment.trace

    def leading(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return eigenvalues, eigenvectors (j, d) above the k-th eigenvalue, and that one."""
        moment = self.moment
        above = int((moment.weights > moment.rest).sum())
        if above < k <= above + moment.n_features - moment.rank:
            values, mu = np.sort(moment.weights)[::-1][:above], moment.rest
            return values, moment.top(above).astype(np.float64), mu
        if above < k:
            # The whole complement is among the best k: name its directions, fewer than k.
            complement = scipy.linalg.null_space(moment.basis).T
            weights = np.concatenate([moment.weights, np.full(len(complement), moment.rest)])
            moment = Subspace(np.vstack([moment.basis, complement]), weights)
        values = np.sort(moment.weights)[::-1][:k]
        return values, moment.top(k).astype(np.float64), float(values[-1])


class OfRows:
    """The second moment X'X / n of rows, which is not formed where that would be large."""

    def __init__(self, rows: Any, mean: ArrayLike | None) -> None:
        self.sparse = scipy.sparse.issparse(rows)
        self.rows: Any = rows.tocsr() if self.sparse else np.asarray(rows, dtype=np.float64)
        if self.rows.ndim != 2 or 0 in self.rows.shape:
            raise ValueError(f"rows must be of shape (n, d), not {self.rows.shape}")
        self.n, self.n_features = self.rows.shape
        self.mean = np.zeros(self.n_features) if mean is None else np.asarray(mean, np.float64)
        if self.mean.shape != (self.n_features,):
            raise ValueError(f"mean has shape {self.mean.shape}, not ({self.n_features},)")
        if not self.sparse and mean is not None:
            self.rows = self.rows - self.mean
            self.mean = np.zeros(self.n_features)

    def captured(self, directions: NDArray[np.float64]) -> float:
        """Return tr(directions X'X directions') / n."""
        scores = self.rows @ directions.T - directions @ self.mean
        return float(np.vdot(scores, scores)) / self.n

    def total(self) -> float:
        """Return tr X'X / n."""
        if not self.sparse:
            return float(np.vdot(self.rows, self.rows)) / self.n
        # |x - m|^2 differs from |m|^2 only in the stored entries.
        stored = self.rows.data.astype(np.float64)
        mean = self.mean[self.rows.indices]
        change = np.sum((stored - mean) ** 2 - mean**2)
        return float(change) / self.n + float(self.mean @ self.mean)

    def leading(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the k largest eigenvalues, their eigenvectors (k, d), and the k-th eigenvalue."""
        if self.total() == 0:
            return np.zeros(0), np.zeros((0, self.n_features)), 0.0
        if min(self.n, self.n_features) <= max(_DENSE_SIZE, 4 * k):
            rows = self.rows.toarray().astype(np.float64) if self.sparse else self.rows
            singular, vectors = _right_vectors(rows)
        else:
            start = np.ones(min(self.n, self.n_features))
            _, singular, vectors = scipy.sparse.linalg.svds(
                self.rows.astype(np.float64), k=k, v0=start, tol=0
            )
            order = np.argsort(-singular)
            singular, vectors = singular[order], vectors[order]
        values = np.zeros(k)
        values[: len(singular)] = singular[:k] ** 2 / self.n
        return values[: len(vectors[:k])], vectors[:k], float(values[-1])


def _right_vectors(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return singular values and right singular vectors (min(n, d), d) of rows (n, d)."""
    if len(rows) > rows.shape[1]:
        # The R of a QR has the same ones, and is small.
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
    return singular, vectors
