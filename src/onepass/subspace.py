"""The matrix that every algorithm keeps, and sums of such matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from onepass.precision import ZERO_EIGENVALUE, Doubles


@dataclass(frozen=True)
class Subspace:
    """A symmetric d x d matrix that is a multiple of the identity outside of a few directions.

    It stands for ``M = basis.T @ diag(weights) @ basis + rest * (I - basis.T @ basis)``, which is
    never formed. Iterates of the paper's algorithms and their averages are of this kind.

    Parameters
    ----------
    basis : ndarray of shape (m, d)
        Orthonormal rows.
    weights : ndarray of shape (m,)
        The eigenvalues of the basis rows.
    rest : float
        The eigenvalue of the whole complement of the basis, of multiplicity d - m.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.subspace import Subspace
    >>> M = Subspace(np.eye(2, 3), np.array([1.0, 0.5]), rest=0.25)
    >>> M.trace
    1.75
    >>> M.top(1)
    array([[1., 0., 0.]])
    """

    basis: NDArray[np.floating]
    weights: Doubles
    rest: float = 0.0

    @classmethod
    def empty(cls, d: int, rest: float = 0.0, dtype: np.dtype | type = np.float64) -> Subspace:
        """Return ``rest * I`` in d dimensions."""
        return cls(np.zeros((0, d), dtype=dtype), np.zeros(0), rest)

    def scaled(self, factor: float) -> Subspace:
        """Return the matrix times a number."""
        return Subspace(self.basis, factor * self.weights, factor * self.rest)

    @property
    def rank(self) -> int:
        """The number m of directions that are kept one by one."""
        return len(self.weights)

    @property
    def n_features(self) -> int:
        """The dimension d of the space."""
        return self.basis.shape[1]

    @property
    def trace(self) -> float:
        """The sum of all d eigenvalues."""
        return float(self.weights.sum() + self.rest * (self.n_features - self.rank))

    def top(self, k: int) -> NDArray[np.floating]:
        """Return the k basis rows with the largest weights, largest first, shape (k, d)."""
        order = np.argsort(-self.weights, kind="stable")[:k]
        return self.basis[order]

    def compress(self, directions: NDArray[np.floating]) -> Doubles:
        """Return ``directions @ M @ directions.T`` for rows ``directions`` of shape (j, d)."""
        inner = (directions @ self.basis.T).astype(np.float64)
        gram = (directions @ directions.T).astype(np.float64)
        return (inner * (self.weights - self.rest)) @ inner.T + self.rest * gram

    def captured(self, directions: NDArray[np.floating]) -> float:
        """Return ``tr(directions @ M @ directions.T)`` for rows ``directions`` of shape (j, d)."""
        return float(self.compress(directions).trace())

    def leading(self, k: int) -> tuple[Doubles, Doubles, float]:
        """Return the largest eigenvalues, their eigenvectors (j, d), and the k-th eigenvalue.

        These are the k largest or, where the k-th is one of the complement, those above it.
        """
        above = int((self.weights > self.rest).sum())
        if above < k <= above + self.n_features - self.rank:
            values = np.sort(self.weights)[::-1][:above]
            return values, self.top(above).astype(np.float64), self.rest
        named = self
        if above < k:  # The whole complement is among the best k: name its directions.
            complement = scipy.linalg.null_space(self.basis).T
            weights = np.append(self.weights, np.full(len(complement), self.rest))
            named = Subspace(np.vstack([self.basis, complement]), weights)
        values = np.sort(named.weights)[::-1][:k]
        return values, named.top(k).astype(np.float64), float(values[-1])

    def to_dense(self) -> Doubles:
        """Return the d x d matrix itself, for small d."""
        return self.compress(np.eye(self.n_features))

    def factor(self) -> NDArray[np.floating]:
        """Return rows F (m, d) with ``F.T @ F = M - rest * I``, for weights of at least `rest`."""
        root = np.sqrt(np.maximum(self.weights - self.rest, 0.0)).astype(self.basis.dtype)
        return root[:, None] * self.basis


def orthonormal(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return rows (k, d) that span the same nested spaces, orthonormal to rounding."""
    basis, triangle = np.linalg.qr(rows.T)
    signs = np.where(np.diagonal(triangle) < 0.0, -1, 1).astype(rows.dtype)
    return np.ascontiguousarray((basis * signs).T)


def truncate(factor: NDArray[np.floating], max_rank: int) -> tuple[NDArray[np.floating], Doubles]:
    """Return the leading eigenvectors (r, d) and eigenvalues (r,) of ``factor.T @ factor``.

    At most `max_rank` of them, and none that is zero to rounding. They are found from the Gram
    matrix of the rows, so eigenvectors of small eigenvalues are less orthonormal.
    """
    gram = (factor @ factor.T).astype(np.float64)
    values, columns = np.linalg.eigh(gram)
    values, columns = values[::-1][:max_rank], columns[:, ::-1][:, :max_rank]
    kept = values > ZERO_EIGENVALUE * max(values[0], 0.0)
    combination = (columns[:, kept] / np.sqrt(values[kept])).T.astype(factor.dtype)
    return combination @ factor, values[kept]


def add_up(summands: list[Subspace], max_rank: int) -> Subspace:
    """Return the sum of matrices whose weights are at least their rest, truncated to a rank."""
    rest = sum(summand.rest for summand in summands)
    factor = np.vstack([summand.factor() for summand in summands])
    if not len(factor):
        return Subspace.empty(summands[0].n_features, rest, factor.dtype)
    basis, values = truncate(factor, max_rank)
    return Subspace(basis, values + rest, rest)
