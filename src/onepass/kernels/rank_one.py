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

from onepass.kernels.compiling import jit
from onepass.kernels.secular import secular_root
from onepass.kernels.sorting import sort_descending

WORK_ROWS = 8
ORDER_ROWS = 5

TINY_GAP = 2.0**-200
TINY_WEIGHT = 2.0**-200
TINY_OFFSET = 2.0**-1000


def workspace(capacity: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the buffers ``work, order`` that `rank_one` needs for any n up to `capacity`."""
    return np.empty((WORK_ROWS, capacity)), np.empty((ORDER_ROWS, capacity), np.int64)


@jit
def _exponent(n: int, array: NDArray[np.float64], otherwise: int) -> int:
    """Return the binary exponent of the largest magnitude, or `otherwise` if all are zero.

    Kept within the range in which 2 to that power has an inverse.
    """
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(array[i]))
    exponent = math.frexp(largest)[1] if largest > 0.0 else otherwise
    return max(-1000, min(1000, exponent))


@jit
def _deflate(
    n: int,
    poles: NDArray[np.float64],
    z: NDArray[np.float64],
    inverse: float,
    work: NDArray[np.float64],
    order: NDArray[np.int64],
) -> tuple[int, int]:
    """Separate the poles of the secular equation from the eigenvalues that are known already.

    On entry ``order[0]`` sorts the scaled `poles` (n,), descending. On return ``order[1][:m]`` are
    the indices of the m poles that stay and ``order[1][m:n]`` those deflated, each descending; the
    rotations of ties are in ``order[2:4]`` (pairs of indices) and ``work[2:4]`` (cosine, sine).
    Returns m and the number of rotations.
    """
    kept, gone, rotations = order[1], order[4], 0
    m = 0
    for p in range(n):
        i = order[0][p]
        weight = z[i] * z[i]
        if weight <= TINY_WEIGHT or weight <= inverse * TINY_OFFSET:
            gone[p - m] = i
        elif m > 0 and poles[kept[m - 1]] - poles[i] <= TINY_GAP:
            last = kept[m - 1]
            length = math.sqrt(z[last] * z[last] + weight)
            order[2, rotations], order[3, rotations] = last, i
            work[2, rotations], work[3, rotations] = z[last] / length, z[i] / length
            rotations += 1
            z[last], z[i] = length, 0.0
            gone[p - m] = i
        else:
            kept[m] = i
            m += 1
    for p in range(n - m):
        kept[m + p] = gone[p]
    return m, rotations


@jit
def _weights(
    m: int,
    d: NDArray[np.float64],
    base: NDArray[np.float64],
    offset: NDArray[np.float64],
    z: NDArray[np.float64],
) -> None:
    """Overwrite z (m,) with the one, up to a factor, whose roots are exactly ``base + offset``.

    z_j^2 is proportional to prod_i (x_i - d_j) / prod_{i != j} (d_i - d_j).
    """
    for j in range(m):
        product = abs((base[j] - d[j]) + offset[j])
        for i in range(m):
            if i != j:
                product *= ((base[i] - d[j]) + offset[i]) / (d[i] - d[j])
        z[j] = math.copysign(math.sqrt(abs(product)), z[j])


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
    poles, weighted = work[0], work[1]
    high_z = _exponent(n, z, 0)
    high = _exponent(n, diagonal, 2 * high_z)
    scale, scale_z = math.ldexp(1.0, high), math.ldexp(1.0, high_z)
    for i in range(n):
        poles[i] = diagonal[i] / scale
        weighted[i] = z[i] / scale_z
    # The factor of z z' in units of the scaled diagonal is 1 / inverse.
    inverse = math.ldexp(1.0, max(-200, min(1020, high - 2 * high_z)))

    sort_descending(n, poles, order[0], order[1])
    m, rotations = _deflate(n, poles, weighted, inverse, work, order)

    d, u, w, base, offset = work[4], work[5], work[6], work[7], values
    kept = order[1]
    for j in range(m):
        d[j] = poles[kept[j]]
        u[j] = weighted[kept[j]]
        w[j] = u[j] * u[j]
    for i in range(m):
        base[i], offset[i] = secular_root(i, m, d, w, inverse)
    _weights(m, d, base, offset, u)

    for i in range(n):
        for j in range(n):
            vectors[i, j] = 0.0
    # From the last row to the first, so that `values`, which holds the offsets, is read before it
    # is written: root i goes to row i or below.
    root, known = m - 1, n - 1
    for row in range(n - 1, -1, -1):
        if known < m or (root >= 0 and base[root] + offset[root] <= poles[kept[known]]):
            x, tau = base[root], offset[root]
            square = 0.0
            for j in range(m):
                entry = u[j] * (tau / ((d[j] - x) - tau))
                w[j] = entry
                square += entry * entry
            length = math.sqrt(square)
            for j in range(m):
                vectors[row, kept[j]] = w[j] / length
            values[row] = (x + tau) * scale
            if root == 0 and high - 2 * high_z < -200:
                norm = 0.0
                for j in range(m):
                    norm += weighted[kept[j]] * weighted[kept[j]]
                values[row] = norm * scale_z * scale_z
            root -= 1
        else:
            vectors[row, kept[known]] = 1.0
            values[row] = poles[kept[known]] * scale
            known -= 1

    for p in range(rotations - 1, -1, -1):
        first, second = order[2, p], order[3, p]
        c, s = work[2, p], work[3, p]
        for row in range(n):
            a, b = vectors[row, first], vectors[row, second]
            vectors[row, first] = c * a - s * b
            vectors[row, second] = s * a + c * b
