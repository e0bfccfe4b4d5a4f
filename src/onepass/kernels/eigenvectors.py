"""The eigenvectors of a diagonal plus a rank-one matrix, from the roots of its secular equation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import BASE, FAR, KEPT, OFFSET, PLACE, POLE, SLOPE, WEIGHT, Z
from onepass.kernels.compiling import jit

# Two rows of `work` that nobody needs once the roots are found.
ENTRIES, OTHER_ENTRIES = SLOPE, FAR
# Where no pole is.
AWAY = 4.0


@jit
def _consistent_weights(m: int, work: NDArray[np.float64]) -> None:
    """Replace the weights by those, up to a factor, whose roots are exactly the computed ones.

    w_j is proportional to prod_i (x_i - d_j) / prod_{i != j} (d_i - d_j) (Gu and Eisenstat 1994).
    Two roots share a division; the two poles that it does not fit are moved away meanwhile.
    """
    d, base, offset, product = work[POLE], work[BASE], work[OFFSET], work[WEIGHT]
    for j in range(m):
        product[j] = 1.0
    for pair in range(m >> 1):
        i = 2 * pair
        x, t, y, u = base[i], offset[i], base[i + 1], offset[i + 1]
        d0, d1 = d[i], d[i + 1]
        before0, before1 = product[i], product[i + 1]
        d[i], d[i + 1] = AWAY, AWAY
        for j in range(m):
            numerator = ((d[j] - x) - t) * ((d[j] - y) - u)
            product[j] *= numerator / ((d0 - d[j]) * (d1 - d[j]))
        d[i], d[i + 1] = d0, d1
        product[i] = before0 * ((d0 - x) - t) * (((d0 - y) - u) / (d1 - d0))
        product[i + 1] = before1 * ((d1 - y) - u) * (((d1 - x) - t) / (d0 - d1))
    if m & 1:
        x, t, last = base[m - 1], offset[m - 1], d[m - 1]
        for j in range(m - 1):
            product[j] *= ((d[j] - x) - t) / (last - d[j])
        product[m - 1] *= (last - x) - t
    for j in range(m):
        product[j] = abs(product[j])


@jit
def write_eigenvectors(
    m: int, work: NDArray[np.float64], order: NDArray[np.int64], vectors: NDArray[np.float64]
) -> None:
    """Write the eigenvectors that belong to the m roots of the secular equation.

    Parameters
    ----------
    m : int
        How many.
    work, order : ndarray
        Buffers. Rows POLE, BASE and OFFSET of `work` hold the equation and its roots, row Z the
        signs; the weights are overwritten. Row PLACE of `order` says which row of `vectors` a root
        has, row KEPT which column belongs to a pole.
    vectors : ndarray of shape (>= m, >= m)
        Receives the unit vectors proportional to z_j / (d_j - x_i); other columns are not touched.
    """
    if m == 1:
        vectors[order[PLACE, 0], order[KEPT, 0]] = 1.0
        return
    _consistent_weights(m, work)
    d, base, offset = work[POLE], work[BASE], work[OFFSET]
    z, first, second = work[WEIGHT], work[ENTRIES], work[OTHER_ENTRIES]
    rows, columns = order[PLACE], order[KEPT]
    straight = True
    for j in range(m):
        z[j] = math.copysign(math.sqrt(z[j]), work[Z, columns[j]])
        straight = straight and columns[j] == j
    for pair in range((m + 1) >> 1):
        i = 2 * pair
        k = min(i + 1, m - 1)
        x, t, y, u = base[i], offset[i], base[k], offset[k]
        for j in range(m):
            apart0, apart1 = (d[j] - x) - t, (d[j] - y) - u
            both = z[j] / (apart0 * apart1)
            first[j] = t * (both * apart1)
            second[j] = u * (both * apart0)
        even0, even1, odd0, odd1 = 0.0, 0.0, 0.0, 0.0
        for half in range(m >> 1):
            j = 2 * half
            even0 += first[j] * first[j]
            even1 += second[j] * second[j]
            odd0 += first[j + 1] * first[j + 1]
            odd1 += second[j + 1] * second[j + 1]
        if m & 1:
            even0 += first[m - 1] * first[m - 1]
            even1 += second[m - 1] * second[m - 1]
        factor0, factor1 = 1.0 / math.sqrt(even0 + odd0), 1.0 / math.sqrt(even1 + odd1)
        row0, row1 = rows[i], rows[k]
        if straight:
            for j in range(m):
                vectors[row0, j] = factor0 * first[j]
            for j in range(m):
                vectors[row1, j] = factor1 * second[j]
        else:
            for j in range(m):
                vectors[row0, columns[j]] = factor0 * first[j]
                vectors[row1, columns[j]] = factor1 * second[j]
