"""The two buffers that the rank-one update works in, and what their rows are.

They are one array each, not a dozen, since every array that a compiled function is given costs it
as much as a dozen divisions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit

# Rows of `work` that describe the secular equation: poles and weights, and the roots found, each
# as a pole and an offset from it.
POLE, WEIGHT, BASE, OFFSET = range(4)
# A root that is not yet found has a slot: its pole, the distance between the two poles that it is
# between and the offset as of now, and three sums.
SLOT_BASE, SLOT_GAP, SLOT_OFFSET, VALUE, SLOPE, FAR = range(4, 10)
# The problem as given, scaled; and the rotations that made entries of z zero.
DIAGONAL, Z, COSINE, SINE = range(10, 14)
WORK_ROWS = 14

# Rows of `order`: indices into the problem as given, by descending diagonal, and with the poles of
# the secular equation first; the two indices of each rotation; the row of each root in the result;
# the root of each slot.
SORTED, KEPT, FIRST, SECOND, PLACE, SLOT = range(6)
ORDER_ROWS = 6


@jit
def workspace(capacity: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return buffers ``work, order`` for any n up to `capacity`.

    A multiple of four columns lets loops over roots run in whole vectors, that is all.
    """
    columns = (capacity + 3) & ~3
    return np.empty((WORK_ROWS, columns)), np.empty((ORDER_ROWS, columns), np.int64)
