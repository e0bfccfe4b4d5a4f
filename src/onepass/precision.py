"""Limits of floating-point arithmetic that several modules share."""

import numpy as np

ROUNDING = 8 * np.finfo(np.float64).eps  # relative size of what differences of sums leave over
ZERO_EIGENVALUE = 1e-14  # of the largest: smaller ones are the rounding of a sum of products
TINY = 1e-300  # in place of zero where something is divided by it
LARGEST_RATIO = 1e100  # of two energies, so that sums of their squares stay finite
