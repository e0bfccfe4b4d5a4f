"""The eigenpairs of a diagonal plus a rank-one matrix, in O(n^2): line 3 of Algorithm 1.

The eigenvalues of ``diag(d) + z z'`` are the roots of the secular equation (d descending)::

    f(x) = 1 + sum_j z_j^2 / (d_j - x),      d_0 < x_0,  d_i < x_i < d_{i-1}

and eigenvector i is proportional to ``z_j / (d_j - x_i)``. What makes that work in floating point:

- *Scaling*: d and z by powers of two of their own, so that neither swamps the other and no square
  leaves the range: f becomes ``inverse + sum_j w_j / (d_j - x)`` with d and w of order 1.
- *Deflation* (as LAPACK's dlaed2): a zero z_j leaves d_j an eigenvalue; of two equal d_j, one z_j
  is made zero with a rotation. Only what would leave the floating-point range counts as equal or
  zero: small eigenvalues keep their digits beside a huge z.
- *Roots as offsets* from the nearest pole: all differences d_j - x_i are accurate.
- *Another z* (Gu and Eisenstat 1994): the z whose exact eigenvalues are the computed roots. It
  differs from z by rounding, and its eigenvectors are orthogonal however close the roots are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import (
    BASE,
    COSINE,
    DIAGONAL,
    FIRST,
    KEPT,
    OFFSET,
    PLACE,
    POLE,
    SECOND,
    SINE,
    SORTED,
    WEIGHT,
    Z,
    workspace,
)
from onepass.kernels.compiling import jit
from onepass.kernels.eigenvectors import write_eigenvectors
from onepass.kernels.secular import secular_roots
from onepass.kernels.sorting import sort_descending

__all__ = ["rank_one", "workspace"]

# In units of the largest pole, or weight: what is below would leave the floating-point range.
TINY_GAP = 2.0**-100
TINY_WEIGHT = 2.0**-200
TINY_OFFSET = 2.0**-300


@jit
def _exponent(largest: float, otherwise: int) -> int:
    """Return the binary exponent of a magnitude, kept in the range where powers have inverses."""
    exponent = math.frexp(largest)[1] if largest > 0.0 else otherwise
    return max(-1000, min(1000, exponent))


@jit
def _in_order(n: int, inverse: float, work: NDArray[np.float64]) -> bool:
    """Return whether the poles are descending and none is to be deflated, which is the rule."""
    least = max(TINY_WEIGHT, inverse * TINY_OFFSET)
    good = n > 0 and work[Z, 0] * work[Z, 0] > least
    for i in range(1, n):
        apart = work[DIAGONAL, i - 1] - work[DIAGONAL, i] > TINY_GAP
        good &= apart & (work[Z, i] * work[Z, i] > least)
    return good


@jit
def _deflate(
    n: int, inverse: float, work: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[int, int]:
    """Separate the poles of the secular equation from the eigenvalues that are known already.

    On return ``order[KEPT, :m]`` are the indices of the m poles that stay and ``order[KEPT, m:n]``
    those of the others, each by descending pole. The rotations of equal poles are in rows FIRST and
    SECOND (indices), COSINE and SINE. Returns m and the number of rotations.
    """
    m, rotations = 0, 0
    for p in range(n):
        i = order[SORTED, p]
        z = work[Z, i]
        weight = z * z
        last = order[KEPT, m - 1] if m > 0 else i
        if weight <= TINY_WEIGHT or weight <= inverse * TINY_OFFSET:
            order[PLACE, p - m] = i
        elif m > 0 and work[DIAGONAL, last] - work[DIAGONAL, i] <= TINY_GAP:
            length = math.sqrt(work[Z, last] * work[Z, last] + weight)
            order[FIRST, rotations], order[SECOND, rotations] = last, i
            work[COSINE, rotations], work[SINE, rotations] = work[Z, last] / length, z / length
            work[Z, last] = length
            rotations += 1
            order[PLACE, p - m] = i
        else:
            order[KEPT, m] = i
            m += 1
    for p in range(n - m):
        order[KEPT, m + p] = order[PLACE, p]
    return m, rotations


@jit
def _merge(
    n: int,
    m: int,
    scale: float,
    work: NDArray[np.float64],
    order: NDArray[np.int64],
    values: NDArray[np.float64],
    vectors: NDArray[np.float64],
) -> None:
    """Write all eigenvalues in order, the rows of the m roots, and the eigenvectors of the others.

    Parameters are those of `rank_one`.
    """
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 0.0
    root, known = 0, m
    for row in range(n):
        x = work[BASE, root] + work[OFFSET, root] if root < m else -math.inf
        if known < n and work[DIAGONAL, order[KEPT, known]] > x:
            values[row] = work[DIAGONAL, order[KEPT, known]] * scale
            vectors[row, order[KEPT, known]] = 1.0
            known += 1
        else:
            values[row] = x * scale
            order[PLACE, root] = row
            root += 1


@jit
def rank_one(
    n: int,
    diagonal: NDArray[np.float64],
    z: NDArray[np.float64],
    values: NDArray[np.float64],
    vectors: NDArray[np.float64],
    work: NDArray[np.float64],
    order: NDArray[np.int64],
) -> None:
    """Write the eigenpairs of ``diag(diagonal) + outer(z, z)``, eigenvalues descending.

    With ``basis`` the rows that `diagonal` belongs to, ``vectors @ basis`` are the new ones. For
    ``diag(d) - outer(z, z)`` pass -d and negate the result.

    Parameters
    ----------
    n : int
        The size; every array may be larger, and its first n entries per axis are used.
    diagonal, z : ndarray of shape (>= n,)
        Read only, in any order (fastest when `diagonal` is descending).
    values : ndarray of shape (>= n,)
        Receives the eigenvalues. Must not share memory with the input.
    vectors : ndarray of shape (>= n, >= n)
        Row i receives the coordinates of eigenvector i.
    work, order : ndarray
        Buffers, from `workspace`.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.rank_one import rank_one, workspace
    >>> values, vectors = np.empty(2), np.empty((2, 2))
    >>> rank_one(2, np.array([3.0, 0.0]), np.array([2.0, 2.0]), values, vectors, *workspace(2))
    >>> values
    array([9.77200187, 1.22799813])
    """
    largest, largest_z = 0.0, 0.0
    for i in range(n):
        largest, largest_z = max(largest, abs(diagonal[i])), max(largest_z, abs(z[i]))
    high_z = _exponent(largest_z, 0)
    high = _exponent(largest, 2 * high_z)
    scale, scale_z = math.ldexp(1.0, high), math.ldexp(1.0, high_z)
    for i in range(n):
        work[DIAGONAL, i] = diagonal[i] / scale
        work[Z, i] = z[i] / scale_z
    # In these units the matrix is diag + z z' / inverse.
    inverse = math.ldexp(1.0, max(-100, min(320, high - 2 * high_z)))

    m, rotations = n, 0
    if _in_order(n, inverse, work):
        for i in range(n):
            order[KEPT, i] = i
    else:
        sort_descending(n, work[DIAGONAL], order[SORTED], order[KEPT])
        m, rotations = _deflate(n, inverse, work, order)
    total = 0.0
    for j in range(m):
        i = order[KEPT, j]
        work[POLE, j] = work[DIAGONAL, i]
        work[WEIGHT, j] = work[Z, i] * work[Z, i]
        total += work[WEIGHT, j]
    secular_roots(m, inverse, work, order)

    if m == n:  # the roots are descending
        for i in range(n):
            values[i] = (work[BASE, i] + work[OFFSET, i]) * scale
            order[PLACE, i] = i
    else:
        _merge(n, m, scale, work, order, values, vectors)
    if m > 0 and high - 2 * high_z < -100:  # beyond the units: the largest is |z|^2
        values[order[PLACE, 0]] = total * scale_z * scale_z
    write_eigenvectors(m, work, order, vectors)

    for p in range(rotations - 1, -1, -1):
        first, second = order[FIRST, p], order[SECOND, p]
        c, s = work[COSINE, p], work[SINE, p]
        for row in range(n):
            a, b = vectors[row, first], vectors[row, second]
            vectors[row, first] = c * a - s * b
            vectors[row, second] = s * a + c * b
