"""Double precision, in which sums are kept, and limits of floating-point arithmetic."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Rows: TypeAlias = NDArray[np.floating] | sparse.csr_array  # of shape (r, d), float32 or float64
Doubles = NDArray[np.float64]  # float32 rows are NDArray[np.floating], as others are
ROUNDING = 8 * np.finfo(np.float64).eps  # relative size of what differences of sums leave over
# Eigenvalues, relative to the largest, that are rounding: 2e-16 times the rows of a Gram matrix,
# which are some 50 for an iterate with a batch, and some 500 for a sketch with a chunk. The third
# one is for ranks, in which every direction of any variance counts: rounding of the solver alone.
ZERO_EIGENVALUE, ZERO_OF_SKETCH, ZERO_VARIANCE = 1e-14, 1e-13, 4 * np.finfo(np.float64).eps
TINY = 1e-300  # in place of zero where something is divided by it
LARGEST_RATIO = 1e100  # of two energies, so that sums of their squares stay finite
