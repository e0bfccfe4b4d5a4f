"""Double precision, in which sums are kept, and limits of floating-point arithmetic."""

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]  # float32 rows are NDArray[np.floating], as others are
ROUNDING = 8 * np.finfo(np.float64).eps  # relative size of what differences of sums leave over
# Eigenvalues, relative to the largest, that are rounding. It grows with the rows of a Gram matrix:
# an iterate and a batch are tens of rows, a sketch and a chunk hundreds. The third one is that of
# LAPACK alone, for a rank: every direction in which rows vary is to be counted.
ZERO_EIGENVALUE, ZERO_OF_SKETCH, ZERO_VARIANCE = 1e-14, 1e-13, 4 * np.finfo(np.float64).eps
TINY = 1e-300  # in place of zero where something is divided by it
LARGEST_RATIO = 1e100  # of two energies, so that sums of their squares stay finite
