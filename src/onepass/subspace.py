"""The one state that everything speaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.symmetric import leading_eigenpairs

SMALL = 64  # up to here LAPACK is quick enough, and spares six megabytes of machine code


@dataclass(frozen=True)
class Subspace:
    """A symmetric d x d matrix that is a multiple of the identity outside of a few directions.

    It stands for ``M = basis.T @ diag(weights) @ basis + rest * (I - basis.T @ basis)`` and is
    never formed. An iterate of the paper's algorithms, an average of iterates, the second moment
    of the rows: all of them are a `Subspace`.

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
    weights: NDArray[np.float64]
    rest: float = 0.0

    @classmethod
    def empty(cls, d: int, rest: float = 0.0, dtype: np.dtype | type = np.float64) -> Subspace:
        """``rest * I`` in d dimensions: nothing learned yet."""
        return cls(np.zeros((0, d), dtype=dtype), np.zeros(0), rest)

    def copy(self) -> Subspace:
        """Return a copy with arrays of its own."""
        return Subspace(self.basis.copy(), self.weights.copy(), self.rest)

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
        """Return the k basis rows with the largest weights, largest first, as a (k, d) array."""
        order = np.argsort(-self.weights, kind="stable")[:k]
        return self.basis[order]

    def compress(self, directions: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return ``directions @ M @ directions.T`` for rows ``directions`` of shape (j, d)."""
        inner = (directions @ self.basis.T).astype(np.float64)
        gram = (directions @ directions.T).astype(np.float64)
        return (inner * (self.weights - self.rest)) @ inner.T + self.rest * gram

    def to_dense(self) -> NDArray[np.float64]:
        """Return the d x d matrix itself, for small d."""
        return self.compress(np.eye(self.n_features))


def add_up(summands: list[Subspace], max_rank: int) -> Subspace:
    """Return the sum of matrices whose weights are at least their rest, truncated to a rank."""
    rest = sum(summand.rest for summand in summands)
    if sum(summand.rank for summand in summands) == summands[0].rank:
        return Subspace(summands[0].basis, summands[0].weights - summands[0].rest + rest, rest)
    factor = np.vstack(
        [
            np.sqrt(np.maximum(s.weights - s.rest, 0.0)).astype(s.basis.dtype)[:, None] * s.basis
            for s in summands
        ]
    )
    values, vectors = leading((factor @ factor.T).astype(np.float64), max_rank)
    kept = values > 1e-14 * values[0]
    turn = (vectors[kept] / np.sqrt(values[kept])[:, None]).astype(factor.dtype)
    return Subspace(turn @ factor, values[kept] + rest, rest)


def leading(
    matrix: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a symmetric matrix, descending, and eigenvectors (j, n).

    At most `most` of them; as `leading_eigenpairs`, but by LAPACK where the matrix is small.
    """
    if len(matrix) > SMALL:
        return leading_eigenpairs(matrix, most)
    ascending, columns = np.linalg.eigh(matrix)
    return ascending[::-1][:most], columns.T[::-1][:most]
