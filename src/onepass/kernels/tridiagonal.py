"""The tridiagonal matrix that is similar to a small symmetric one, and the way back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.vectors import LANES, fma, load, spread, store, total, whole_vectors

TINY = 1e-280  # a square beside an entry of order 1, which nothing depends on
# Rows of the room for a reflector v and what it does to the matrix: A - v w' - w v'. Then the next
# reflector, and its products with the matrix.
V, W, NEXT, PRODUCTS = range(4)


@jit
def tridiagonal(
    matrix: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Reduce a symmetric matrix over a scale by Householder's reflections.

    What a reflection does to the matrix is done when the next one is known, with the products that
    this one needs.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        All of it is read.
    scale : float
        About the size of its largest entry.

    Returns
    -------
    diagonal, beside : ndarray of shape (n,)
        Of the tridiagonal matrix.
    reflectors : ndarray of shape (n, >= n)
        Row j is a vector of length sqrt(2), zero up to column j, or nothing.
    """
    n = len(matrix)
    # Rows come in pairs and columns in vectors: what is filled up stays zero.
    A = np.zeros((n + 1, whole_vectors(n + 1)))
    for i in range(n):
        for j in range(n):
            A[i, j] = matrix[i, j] / scale
    diagonal, beside, reflectors = np.zeros(n), np.zeros(n), np.zeros((n, A.shape[1]))
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
    return diagonal, beside, reflectors


@jit
def _advance(A: NDArray[np.float64], work: NDArray[np.float64], start: int, n: int) -> None:
    """Apply the last reflection to rows and columns from `start` on, and go over to the next.

    Reflectors have length sqrt(2), so that w = A v - v (v'A v) / 2.
    """
    begin = start - start % LANES
    for i in range(start, n, 2):  # two rows share what is read of the work
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
    half = 0.0
    for i in range(start, n):
        half += 0.5 * work[PRODUCTS, i] * work[NEXT, i]
    work[V, start - 1], work[W, start - 1] = 0.0, 0.0
    for i in range(start, n):
        work[V, i] = work[NEXT, i]
        work[W, i] = work[PRODUCTS, i] - half * work[NEXT, i]


@jit
def reflect(reflectors: NDArray[np.float64], vectors: NDArray[np.float64]) -> None:
    """Apply all reflections to the rows of `vectors`, an even number, the last one first."""
    n = len(reflectors)
    for j in range(n - 2, -1, -1):
        begin = (j + 1) - (j + 1) % LANES
        for i in range(0, len(vectors), 2):
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
