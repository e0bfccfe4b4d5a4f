"""The eigenvectors of a diagonal plus a rank-one matrix, from the roots of its secular equation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import (
    BASE,
    ENTRIES,
    KEPT,
    OFFSET,
    OTHER_ENTRIES,
    PLACE,
    POLE,
    WEIGHT,
    Z,
)
from onepass.kernels.compiling import jit
from onepass.kernels.vectors import (
    LANES,
    fma,
    larger,
    load,
    replace_zeros,
    spread,
    store,
    total,
    whole_vectors,
)

# Below all poles, and so below all roots.
BELOW = -4.0


@jit
def _consistent_weights(m: int, work: NDArray[np.float64]) -> None:
    """Replace the weights by those, up to a factor, whose roots are exactly the computed ones.

    w_j is proportional to prod_i (x_i - d_j) / prod_{i != j} (d_i - d_j) (Gu and Eisenstat 1994).
    Two roots share a division.
    """
    for s in range(0, m, LANES):
        d, product = load(work, POLE, s), spread(1.0)
        for pair in range(m >> 1):
            i = 2 * pair
            left0 = (d - work[BASE, i]) - work[OFFSET, i]
            left1 = (d - work[BASE, i + 1]) - work[OFFSET, i + 1]
            apart0 = replace_zeros(work[POLE, i] - d, 1.0)  # only d_j itself is not apart
            apart1 = replace_zeros(work[POLE, i + 1] - d, 1.0)
            product *= (left0 * left1) / (apart0 * apart1)
        if m & 1:
            apart0 = replace_zeros(work[POLE, m - 1] - d, 1.0)
            product *= ((d - work[BASE, m - 1]) - work[OFFSET, m - 1]) / apart0
        store(work, WEIGHT, s, larger(product, 0.0 - product))


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
    rows, columns = order[PLACE], order[KEPT]
    straight = True
    for j in range(m):
        z = math.sqrt(work[WEIGHT, j])
        work[WEIGHT, j] = math.copysign(z, work[Z, columns[j]])
        straight = straight and columns[j] == j
    for j in range(m, whole_vectors(m)):
        work[POLE, j], work[WEIGHT, j] = BELOW, 0.0
    for pair in range((m + 1) >> 1):
        i = 2 * pair
        k = min(i + 1, m - 1)
        x, t, y, u = work[BASE, i], work[OFFSET, i], work[BASE, k], work[OFFSET, k]
        squares0, squares1 = spread(0.0), spread(0.0)
        for s in range(0, m, LANES):
            d = load(work, POLE, s)
            apart0, apart1 = (d - x) - t, (d - y) - u
            both = load(work, WEIGHT, s) / (apart0 * apart1)
            entries0, entries1 = t * (both * apart1), u * (both * apart0)
            squares0, squares1 = (
                fma(entries0, entries0, squares0),
                fma(entries1, entries1, squares1),
            )
            store(work, ENTRIES, s, entries0)
            store(work, OTHER_ENTRIES, s, entries1)
        factor0, factor1 = 1.0 / math.sqrt(total(squares0)), 1.0 / math.sqrt(total(squares1))
        row0, row1 = rows[i], rows[k]
        if straight:
            for j in range(m):
                vectors[row0, j] = factor0 * work[ENTRIES, j]
            for j in range(m):
                vectors[row1, j] = factor1 * work[OTHER_ENTRIES, j]
        else:
            for j in range(m):
                vectors[row0, columns[j]] = factor0 * work[ENTRIES, j]
                vectors[row1, columns[j]] = factor1 * work[OTHER_ENTRIES, j]
