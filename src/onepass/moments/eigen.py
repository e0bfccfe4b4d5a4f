"""Leading eigenvectors of symmetric matrices: found, proven to be the leading ones, and improved.

Only the lower triangles of matrices are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import spotrf
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from onepass.precision import ROUNDING, Doubles

SMALL = 256  # columns up to which LAPACK takes no longer than an iteration
BLOCK = 256  # columns of a matrix that are worked on at a time
MANY = 12  # columns for each eigenvector below which an iteration takes too long
MOST_RESTARTS = 12  # of the iteration: LAPACK is faster where a spectrum needs more
# Residual of eigenpairs that need not be proven, relative to their eigenvalues: what rows are
# evaluated with captures at most so much less, as after the steps below. The first rows of wide
# streams have eigenvalues so close to each other that the iteration would not find them to the last
# digit.
UNPROVEN = 1e-3
# Random directions that such an iteration starts from as well: rows along columns that none had
# entries in before are orthogonal to all that was found, and would never be seen otherwise.
RANDOM_STARTS = 2
Eigenpairs = tuple[Doubles, Doubles]
Times = Callable[[Doubles], Doubles]


class Scatter(NamedTuple):
    """The symmetric matrix ``(squares - t t') / s s'``, of which nothing is formed.

    Attributes
    ----------
    squares : ndarray of shape (d, d)
        A lower triangle, in Fortran order.
    t, s : ndarray of shape (d,), or None
    """

    squares: Doubles
    t: Doubles | None = None
    s: Doubles | None = None

    def times(self, vector: Doubles) -> Doubles:
        """Return the product with a vector (d,)."""
        raw = vector if self.s is None else vector / self.s
        product = dsymv(1.0, self.squares, raw, lower=1)
        if self.t is not None:
            product -= self.t * (self.t @ raw)
        return product if self.s is None else product / self.s

    def columns(self, first: int, last: int) -> Doubles:
        """Return the rows from the first on of some columns, shape (d - first, last - first)."""
        block = self.squares[first:, first:last]
        if self.t is not None:
            block = block - np.outer(self.t[first:], self.t[first:last])
        return block if self.s is None else block / self.s[first:last] / self.s[first:, None]

    def triangle(self) -> Doubles:
        """Return the lower triangle, in Fortran order."""
        d = len(self.squares)
        lower = np.zeros((d, d), order="F")
        for first in range(0, d, BLOCK):
            lower[first:, first : first + BLOCK] = self.columns(first, first + BLOCK)
        return lower

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        diagonal = self.squares.diagonal()
        if self.t is not None:
            diagonal = diagonal - self.t**2
        return float(diagonal.sum() if self.s is None else (diagonal / self.s**2).sum())


def leading_eigenpairs(matrix: Doubles | Scatter, k: int, *, prove: bool = True) -> Eigenpairs:
    """Return the k leading eigenvectors (k, d) and eigenvalues (k,), largest first.

    Parameters
    ----------
    matrix : ndarray of shape (d, d), or Scatter
        The lower triangle of a symmetric one; no eigenvalue is negative but for rounding.
    k : int
        How many, at most d.
    prove : bool
        Whether it must be certain that none of several equal eigenvalues is missing.
    """
    d, found = len(matrix.squares if isinstance(matrix, Scatter) else matrix), None
    if iterates(d, k):
        given = matrix if isinstance(matrix, Scatter) else Scatter(np.asfortranarray(matrix))
        found = _iterate(given, k, prove)
    if found is None:
        lower = matrix.triangle() if isinstance(matrix, Scatter) else matrix
        if 4 * k > d:  # LAPACK finds all of them faster than some
            found = np.linalg.eigh(lower)
        else:
            found = eigh(lower, subset_by_index=(d - k, d - 1), check_finite=False)
    return _largest_first(found[0], found[1], k)


def iterates(d: int, k: int) -> bool:
    """Return whether k of d eigenvectors are found faster by iteration than by LAPACK."""
    return d > SMALL and MANY * k <= d


def _largest_first(values: Doubles, vectors: Doubles, k: int) -> Eigenpairs:
    """Return the last k of ascending eigenvalues and of eigenvectors (d, m), in reverse."""
    values, vectors = values[-k:], vectors[:, -k:]
    return np.ascontiguousarray(vectors.T[::-1]), values[::-1].clip(min=0.0)


def _iterate(scatter: Scatter, k: int, prove: bool) -> Eigenpairs | None:
    """Return eigenvalues (k,) and eigenvectors (d, k), ascending, or None if there is no proof.

    Lanczos' iteration may miss one of several equal eigenvalues.
    """
    d = len(scatter.squares)
    if not 1e-200 < scatter.trace() < 1e200:
        return None
    operator = LinearOperator((d, d), scatter.times, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=d)
    try:
        tolerance = 0.0 if prove else UNPROVEN
        values, vectors = eigsh(operator, k, v0=start, maxiter=MOST_RESTARTS, tol=tolerance)
    except ArpackError:
        return None
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    if prove and not _are_leading(scatter, values, vectors):
        return None
    return values, vectors


def _are_leading(scatter: Scatter, values: Doubles, vectors: Doubles) -> bool:
    """Return whether no eigenvalue above the first of these (k,), ascending, is missing.

    The Cholesky factor of ``top I - (scatter - what was found)`` exists only then. It is found in
    single precision, which takes half the time and memory. Its rounding hides eigenvalues above
    `top` by less than d * 1e-7 of it: components that as good as tie with the last one.
    """
    d = len(vectors)
    top = values[0] + d * ROUNDING * values[-1]
    found = vectors * np.sqrt(values.clip(min=0.0))
    missed = np.empty((d, d), np.float32, order="F")
    with np.errstate(over="ignore"):  # infinite where it was missed by far
        for start in range(0, d, BLOCK):  # no second matrix (d, d) in double precision
            block = slice(start, start + BLOCK)
            rest = found[start:] @ found[block].T - scatter.columns(start, start + BLOCK)
            missed[start:, block] = rest / top
    missed[np.diag_indices(d)] += 1.0 + d * np.finfo(np.float32).eps
    return spotrf(missed, lower=1, clean=0, overwrite_a=1)[1] == 0


def improve(times: Times, start: Doubles) -> Eigenpairs:
    """Return about the leading eigenpairs of a matrix A, from previous eigenvectors (k, d).

    The best directions in the span of V and A V, where V are the previous ones and a few random
    ones. `times` returns the product (d, m) of A with columns (d, m).
    """
    k, d = start.shape
    beside = np.random.default_rng(0).normal(size=(RANDOM_STARTS, d))
    basis = np.linalg.qr(np.vstack([start, beside]).T)[0]
    product = times(basis)
    # The first columns of Q are those of the basis, but for signs.
    added = np.linalg.qr(np.hstack([basis, product]))[0][:, k + RANDOM_STARTS :]
    basis, product = np.hstack([basis, added]), np.hstack([product, times(added)])
    values, turn = np.linalg.eigh(basis.T @ product)
    return _largest_first(values, basis @ turn[:, -k:], k)
