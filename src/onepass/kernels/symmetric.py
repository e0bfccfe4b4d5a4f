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
from onepass.kernels.vectors import LANES, fma, load, spread, store, total, whole_vectors

LARGE = 256  # from here on LAPACK is as quick, as it keeps what it needs in the cache
TINY = 1e-280  # a square beside an entry of order 1, which nothing depends on
BLAS_COUNT = 32  # directions from which on a product is worth copying them
# Rows of the room for a reflector v and what it does to the matrix: A - v w' - w v'. Then
# the next reflector, and its products with the matrix.
V, W, NEXT, PRODUCTS = range(4)


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
    A = np.zeros((n, whole_vectors(n)))
    for i in range(n):
        for j in range(n):
            A[i, j] = matrix[i, j] / scale
    reflectors = np.zeros((n, A.shape[1]))
    diagonal, beside = _tridiagonal(A, reflectors)
    vectors = _torn(diagonal, beside, most)
    _reflect(reflectors, vectors)
    return scale * diagonal[:most], np.ascontiguousarray(vectors[:, :n])


@jit
def _tridiagonal(
    A: NDArray[np.float64], reflectors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Reduce a matrix, which is overwritten, by Householder's reflections.

    Row j of `reflectors` receives a vector of length sqrt(2), zero up to column j, or nothing. What
    a reflection does to the matrix is done when the next one is known, with the products that this
    one needs. Returns the diagonal and what is beside it.
    """
    n = len(A)
    diagonal, beside = np.zeros(n), np.zeros(n)
    work = np.zeros((4, A.shape[1]))
    for j in range(n - 1):
        # Column j as the last reflection leaves it, from row j on.
        for i in range(j, n):
            work[NEXT, i] = A[i, j] - work[V, i] * work[W, j] - work[W, i] * work[V, j]
        diagonal[j], work[NEXT, j] = work[NEXT, j], 0.0
        squares = 0.0
        for i in range(j + 2, n):
            squares += work[NEXT, i] * work[NEXT, i]
        first = work[NEXT, j + 1]
        beside[j] = first
        if squares > TINY:
            beside[j] = -math.copysign(math.sqrt(first * first + squares), first)
            work[NEXT, j + 1] = first - beside[j]
            length = math.sqrt(0.5 * (work[NEXT, j + 1] * work[NEXT, j + 1] + squares))
            for i in range(j + 1, n):
                work[NEXT, i] /= length
        else:
            for i in range(j + 1, n):
                work[NEXT, i] = 0.0
        _advance(A, work, j + 1, n)
        for i in range(n):
            reflectors[j, i] = work[V, i]
    if n > 0:
        last = n - 1
        diagonal[last] = A[last, last] - 2.0 * work[V, last] * work[W, last]
    return diagonal, beside


@jit
def _advance(A: NDArray[np.float64], work: NDArray[np.float64], start: int, n: int) -> None:
    """Apply the last reflection to rows and columns from `start` on, and go over to the next.

    Reflectors have length sqrt(2), so that w = A v - v (v'A v) / 2.
    """
    begin = start - start % LANES
    even = n - (n - start) % 2
    for i in range(start, even, 2):  # two rows share what is read of the work
        v0, w0, v1, w1 = -work[V, i], -work[W, i], -work[V, i + 1], -work[W, i + 1]
        products0, products1 = spread(0.0), spread(0.0)
        for c in range(begin, n, LANES):
            v, w, x = load(work, V, c), load(work, W, c), load(work, NEXT, c)
            row0 = fma(v0, w, fma(w0, v, load(A, i, c)))
            row1 = fma(v1, w, fma(w1, v, load(A, i + 1, c)))
            products0, products1 = fma(row0, x, products0), fma(row1, x, products1)
            store(A, i, c, row0)
            store(A, i + 1, c, row1)
        work[PRODUCTS, i], work[PRODUCTS, i + 1] = total(products0), total(products1)
    for i in range(even, n):
        v0, w0, products0 = -work[V, i], -work[W, i], spread(0.0)
        for c in range(begin, n, LANES):
            row0 = fma(v0, load(work, W, c), fma(w0, load(work, V, c), load(A, i, c)))
            products0 = fma(row0, load(work, NEXT, c), products0)
            store(A, i, c, row0)
        work[PRODUCTS, i] = total(products0)
    half = 0.0
    for i in range(start, n):
        half += 0.5 * work[PRODUCTS, i] * work[NEXT, i]
    work[V, start - 1], work[W, start - 1] = 0.0, 0.0
    for i in range(start, n):
        work[V, i] = work[NEXT, i]
        work[W, i] = work[PRODUCTS, i] - half * work[NEXT, i]


@jit
def _torn(
    diagonal: NDArray[np.float64], beside: NDArray[np.float64], most: int
) -> NDArray[np.float64]:
    """Replace the diagonal of a tridiagonal matrix by its eigenvalues, descending.

    Returns the eigenvectors of the `most` largest, with columns filled up to whole vectors.
    """
    n = len(diagonal)
    columns = whole_vectors(n) + LANES  # a vector may begin anywhere
    for i in range(1, n - 1, 2):
        diagonal[i] -= abs(beside[i])
        diagonal[i + 1] -= abs(beside[i])
    now, then = np.zeros((n, columns)), np.zeros((n, columns))
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
    return now[:most]


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
    count, fours = stop - start, kept - kept % 4
    if count >= BLAS_COUNT:
        left = turn[:kept, first : first + count].copy()
        out[begin : begin + kept, start:stop] = np.dot(left, basis[start:stop, start:stop].copy())
        return
    for c in range(start, stop, LANES):
        for i in range(0, fours, 4):
            x, y, z, w = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
            for j in range(count):
                row = load(basis, start + j, c)
                x = fma(turn[i, first + j], row, x)
                y = fma(turn[i + 1, first + j], row, y)
                z = fma(turn[i + 2, first + j], row, z)
                w = fma(turn[i + 3, first + j], row, w)
            store(out, begin + i, c, x)
            store(out, begin + i + 1, c, y)
            store(out, begin + i + 2, c, z)
            store(out, begin + i + 3, c, w)
        for i in range(fours, kept):
            x = spread(0.0)
            for j in range(count):
                x = fma(turn[i, first + j], load(basis, start + j, c), x)
            store(out, begin + i, c, x)


@jit
def _reflect(reflectors: NDArray[np.float64], vectors: NDArray[np.float64]) -> None:
    """Apply all reflections to every row of `vectors`, the last one first."""
    n = len(reflectors)
    for j in range(n - 2, -1, -1):
        begin = (j + 1) - (j + 1) % LANES
        even = len(vectors) - len(vectors) % 2
        for i in range(0, even, 2):
            products0, products1 = spread(0.0), spread(0.0)
            for c in range(begin, n, LANES):
                v = load(reflectors, j, c)
                products0 = fma(v, load(vectors, i, c), products0)
                products1 = fma(v, load(vectors, i + 1, c), products1)
            part0, part1 = -total(products0), -total(products1)
            for c in range(begin, n, LANES):
                v = load(reflectors, j, c)
                store(vectors, i, c, fma(part0, v, load(vectors, i, c)))
                store(vectors, i + 1, c, fma(part1, v, load(vectors, i + 1, c)))
        for i in range(even, len(vectors)):
            products0 = spread(0.0)
            for c in range(begin, n, LANES):
                products0 = fma(load(reflectors, j, c), load(vectors, i, c), products0)
            part0 = -total(products0)
            for c in range(begin, n, LANES):
                row = fma(part0, load(reflectors, j, c), load(vectors, i, c))
                store(vectors, i, c, row)
