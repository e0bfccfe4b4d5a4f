"""The two buffers that the rank-one update works in, and what their rows are.

They are one array each, not a dozen, since every array that a compiled function is given costs it
as much as a dozen divisions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.vectors import whole_vectors

# Rows of `work` that describe the secular equation: poles and weights, and those of the pole above;
# the roots, each as a pole, an offset from it and the distance between the two poles that it is
# between; and, while they are looked for, f and by which part of itself the offset changes.
POLE, WEIGHT, POLE_ABOVE, WEIGHT_ABOVE, BASE, OFFSET, GAP, VALUE, CHANGE = range(9)
# The problem as given, scaled; and the rotations that made entries of z zero.
DIAGONAL, Z, COSINE, SINE = range(9, 13)
# Of two eigenvectors at a time.
ENTRIES, OTHER_ENTRIES = range(13, 15)
WORK_ROWS = 15

# Rows of `order`: indices into the problem as given, by descending diagonal, and with the poles of
# the secular equation first; the two indices of each rotation; the row of each root in the result;
# where the vectors of roots that are still looked for begin.
SORTED, KEPT, FIRST, SECOND, PLACE, ACTIVE = range(6)
ORDER_ROWS = 6


@jit
def workspace(capacity: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return buffers ``work, order`` for any n up to `capacity`: whole vectors of columns."""
    columns = whole_vectors(capacity)
    return np.empty((WORK_ROWS, columns)), np.empty((ORDER_ROWS, columns), np.int64)
