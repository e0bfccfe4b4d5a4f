"""The leading eigenpairs of a small symmetric matrix.

LAPACK spends most of its time on the tridiagonal matrix that it reduces a small one to, and finds
all eigenvectors. Here the tridiagonal matrix is torn into pairs, which are put together again by
`rank_one` updates, two blocks at a time (Cuppen 1981); what is not wanted is left out of the last
one and of everything after it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import workspace
from onepass.kernels.compiling import jit
from onepass.kernels.rank_one import rank_one
from onepass.kernels.small_space import combine_at
from onepass.kernels.tridiagonal import reflect, tridiagonal
from onepass.kernels.vectors import LANES, whole_vectors

LARGE = 256  # from here on LAPACK is as quick, as it keeps what it needs in the cache
BLAS_COUNT = 32  # directions from which on a product is worth copying them


@jit
def leading_eigenpairs(
    matrix: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Finite; all of it is read.
    most : int
        How many are wanted, at most n of them.

    Returns
    -------
    values : ndarray of shape (j,)
    vectors : ndarray of shape (j, n)
        Orthonormal rows.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.symmetric import leading_eigenpairs
    >>> values, vectors = leading_eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]), 1)
    >>> values, abs(vectors)
    (array([3.]), array([[0.70710678, 0.70710678]]))
    """
    n = len(matrix)
    most = min(most, n)
    if most <= 0:
        return np.empty(0), np.empty((0, n))
    if n > LARGE:
        ascending, columns = np.linalg.eigh(matrix)
        return ascending[::-1][:most].copy(), columns.T[::-1][:most].copy()
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(matrix[i, j]))
    scale = math.ldexp(1.0, max(-1000, min(1000, math.frexp(largest)[1]))) if largest > 0.0 else 1.0
    diagonal, beside, reflectors = tridiagonal(matrix, scale)
    vectors = _torn(diagonal, beside, most)
    reflect(reflectors, vectors)
    return scale * diagonal[:most], vectors[:most, :n].copy()


@jit
def _torn(
    diagonal: NDArray[np.float64], beside: NDArray[np.float64], most: int
) -> NDArray[np.float64]:
    """Replace the diagonal of a tridiagonal matrix by its eigenvalues, descending.

    Returns the eigenvectors of the `most` largest in rows, with columns filled up to whole vectors;
    there is one row more where their number is odd.
    """
    n = len(diagonal)
    columns = whole_vectors(n) + LANES  # a vector may begin anywhere
    for i in range(1, n - 1, 2):
        diagonal[i] -= abs(beside[i])
        diagonal[i + 1] -= abs(beside[i])
    now, then = np.zeros((n + 1, columns)), np.zeros((n + 1, columns))
    for i in range(0, n - 1, 2):
        _solve_pair(diagonal, beside[i], i, now)
    if n % 2 == 1:
        now[n - 1, n - 1] = 1.0
    z, values, turn = np.empty(n), np.empty(n), np.empty((n, n))
    work, order = workspace(n)
    size = 2
    while size < n:
        for start in range(0, n, 2 * size):
            middle, stop = start + size, min(start + 2 * size, n)
            if middle >= n:
                for i in range(start, n):
                    for c in range(start, n):
                        then[i, c] = now[i, c]
                continue
            root = math.sqrt(abs(beside[middle - 1]))
            for i in range(start, middle):
                z[i - start] = root * now[i, middle - 1]
            for i in range(middle, stop):
                z[i - start] = math.copysign(root, beside[middle - 1]) * now[i, middle]
            count = stop - start
            rank_one(count, diagonal[start:stop], z, values, turn, work, order)
            for i in range(count):
                diagonal[start + i] = values[i]
            kept = count if 2 * size < n else most
            _multiply(turn, kept, 0, now, start, middle, then, start)
            _multiply(turn, kept, size, now, middle, stop, then, start)
        now, then = then, now
        size *= 2
    return now[: most + most % 2]


@jit
def _solve_pair(
    diagonal: NDArray[np.float64], beside: float, i: int, vectors: NDArray[np.float64]
) -> None:
    """Write the eigenpairs of rows and columns i and i + 1, the larger eigenvalue first."""
    tangent = 0.0
    if beside != 0.0:
        ratio = (diagonal[i + 1] - diagonal[i]) / (2.0 * beside)
        tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    one, other = diagonal[i] - tangent * beside, diagonal[i + 1] + tangent * beside
    first, second = (i, i + 1) if one >= other else (i + 1, i)
    diagonal[i], diagonal[i + 1] = max(one, other), min(one, other)
    vectors[first, i], vectors[first, i + 1] = cosine, -sine
    vectors[second, i], vectors[second, i + 1] = sine, cosine


@jit
def _multiply(
    turn: NDArray[np.float64],
    kept: int,
    first: int,
    basis: NDArray[np.float64],
    start: int,
    stop: int,
    out: NDArray[np.float64],
    begin: int,
) -> None:
    """Write turn[:kept, first:] @ basis[start:stop] into `out`, in columns start..stop.

    Into its rows from `begin` on. What is beyond these columns in the last vector is zero in the
    basis, and in the product.
    """
    if stop - start >= BLAS_COUNT:
        left = turn[:kept, first : first + stop - start].copy()
        out[begin : begin + kept, start:stop] = np.dot(left, basis[start:stop, start:stop].copy())
        return
    for c in range(start, stop, LANES):
        combine_at(c, turn, kept, first, basis, start, stop, out, begin, c)
