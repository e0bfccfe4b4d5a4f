r"""The projection onto {0 <= sigma <= 1, sum sigma = k}: Algorithm 2 of the paper, corrected.

By Lemma 3.2 the projection of M' keeps its eigenvectors and maps its eigenvalues sigma' to
``clip(sigma' + S, 0, 1)``; `shift` finds S and `project` applies it. In the paper (`sigma'`
ascending, distinct, with multiplicities `kappa'` that sum to d)::

    project(d, k, n, sigma', kappa')
     1  sigma', kappa' <- sort(sigma', kappa')
     2  i <- 1; j <- 1; s_i <- 0; s_j <- 0; c_i <- 0; c_j <- 0
     3  while i <= n
     4    if i < j
     5      S <- (k - (s_j - s_i) - (d - c_j)) / (c_j - c_i)
     6      b <- (
     7        (sigma'_i + S >= 0) and (sigma'_{j-1} + S <= 1)
     8        and ((i <= 1) or (sigma'_{i-1} + S <= 0))
     9        and ((j >= n) or (sigma'_{j+1} >= 1))
    10      )
    11      return S if b
    12    if (j <= n) and (sigma'_j - sigma'_i <= 1)
    13      s_j <- s_j + kappa'_j sigma'_j; c_j <- c_j + kappa'_j; j <- j + 1
    14    else
    15      s_i <- s_i + kappa'_i sigma'_i; c_i <- c_i + kappa'_i; i <- i + 1
    16  return error

What is different here:

- Line 9 is misprinted. j is one past the last eigenvalue that is not clipped, so it must read
  ``((j > n) or (sigma'_j + S >= 1))``.
- Sums are of ``sigma' - sigma'_i`` over the unclipped i..j-1 only, all of it in [0, 1], and the
  unknown is the level ``sigma'_i + S``: an eigenvalue of 1e300 beside others in [0, 1] then costs
  them no digit.
- The tests of lines 7 to 9 allow for rounding, are repeated with a sum that is taken anew, and
  bisection stands behind line 16.
- Repeated eigenvalues are welcome, and a `target` that not even all ones can reach gives all ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.sorting import sort_descending

# The relative error that a short sum of positive terms may have.
ROUNDING = 2.0**-50


@jit
def clip_shifted(value: float, shift: float) -> float:
    """Return ``clip(value + shift, 0, 1)``, what becomes of an eigenvalue in the projection."""
    return min(1.0, max(0.0, value + shift))


@jit
def total_clipped(
    n: int, values: NDArray[np.float64], multiplicities: NDArray[np.float64], shift: float
) -> float:
    """Return ``sum_i multiplicities[i] * clip(values[i] + shift, 0, 1)`` over the first n."""
    total = 0.0
    for i in range(n):
        total += multiplicities[i] * clip_shifted(values[i], shift)
    return total


@jit
def _bisect(
    n: int, values: NDArray[np.float64], multiplicities: NDArray[np.float64], target: float
) -> float:
    """Return S by bisection, for the input that slips through every window by rounding."""
    low, high = -values[0], 1.0 - values[0]
    for i in range(n):
        low = min(low, -values[i])
        high = max(high, 1.0 - values[i])
    while True:
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            return high
        if total_clipped(n, values, multiplicities, middle) < target:
            low = middle
        else:
            high = middle


@jit
def _fits(left: float, count: float, span: float, below: float, above: float, slack: float) -> bool:
    """Return whether a window is what is unclipped at the level left / count: lines 7 to 9.

    `span`, `below` and `above` are the distances from its bottom to its top and to its neighbours.
    In units of the sum, in which rounding is small; in those of the level it is not, if one of the
    multiplicities is large.
    """
    return (
        left >= -slack
        and left <= count * (1.0 - span) + slack
        and left <= count * below + slack
        and left >= count * (1.0 - above) - slack
    )


@jit
def _level(
    n: int,
    values: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    order: NDArray[np.int64],
) -> tuple[float, float]:
    """Return an eigenvalue and the level that it goes to before it is clipped; S is between."""
    if n == 0:
        return 0.0, 0.0
    up = order[0]
    sort_descending(n, values, up, order[1])
    for p in range(n // 2):
        up[p], up[n - 1 - p] = up[n - 1 - p], up[p]

    ones = 0.0  # d - c_j
    for p in range(n):
        ones += multiplicities[p]
    if target >= ones:
        return values[up[0]], 1.0

    drift = n * ROUNDING * ones
    i, j = 0, 0
    over, count = 0.0, 0.0  # s_j - s_i less count * sigma_i, and c_j - c_i
    while i < n:
        bottom = values[up[i]]
        above = values[up[j]] - bottom if j < n else math.inf
        if i < j and count > 0.0:
            span = values[up[j - 1]] - bottom
            below = bottom - values[up[i - 1]] if i > 0 else math.inf
            if _fits(target - ones - over, count, span, below, above, drift):
                over = 0.0
                for p in range(i, j):
                    over += multiplicities[up[p]] * (values[up[p]] - bottom)
                left = target - ones - over
                slack = ROUNDING * (abs(target - ones) + over)
                if _fits(left, count, span, below, above, slack):
                    return bottom, left / count
        if above <= 1.0:
            over += multiplicities[up[j]] * above
            count += multiplicities[up[j]]
            ones -= multiplicities[up[j]]
            j += 1
        else:
            count -= multiplicities[up[i]]
            i += 1
            # A window of one has nothing over its bottom: here rounding errors end.
            over = 0.0 if i + 1 >= j else over - count * (values[up[i]] - bottom)
    return 0.0, _bisect(n, values, multiplicities, target)


@jit
def shift(
    n: int,
    values: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    order: NDArray[np.int64],
) -> float:
    """Return S such that ``sum_i multiplicities[i] * clip(values[i] + S, 0, 1) = target``.

    Where a whole interval of S does, it is the upper end: -sigma of the largest value that becomes
    0, which is exact however large the values above. O(n log n); O(n) when `values` is sorted.

    Parameters
    ----------
    n : int
        How many values; the arrays may be longer.
    values : ndarray of shape (>= n,)
        Eigenvalues in any order, repeated or not.
    multiplicities : ndarray of shape (>= n,)
        Not negative; floats that hold integers.
    target : float
        The wanted sum, k in the paper; at least 0. All ones if it cannot be reached.
    order : ndarray of int64, of shape (>= 2, >= n)
        Room to work in.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.simplex import shift
    >>> shift(3, np.array([1.5, 0.5, 0.0]), np.ones(3), 1.0, np.empty((2, 3), np.int64))
    -0.5
    """
    bottom, level = _level(n, values, multiplicities, target, order)
    return level - bottom


@jit
def shift_at_most(
    n: int,
    values: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    order: NDArray[np.int64],
) -> float:
    """Return S of the projection onto ``sum <= target``: 0 if clipping is enough, else `shift`.

    Parameters are those of `shift`.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.simplex import shift_at_most
    >>> room = np.empty((2, 2), np.int64)
    >>> shift_at_most(2, np.array([1.5, 0.5]), np.ones(2), 2.0, room)
    0.0
    >>> shift_at_most(2, np.array([1.5, 0.5]), np.ones(2), 1.25, room)
    -0.25
    """
    if total_clipped(n, values, multiplicities, 0.0) <= target:
        return 0.0
    return min(0.0, shift(n, values, multiplicities, target, order))


@jit
def project(
    n: int,
    values: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    exact: bool,
    order: NDArray[np.int64],
) -> None:
    """Replace ``values[:n]`` by ``clip(values + S, 0, 1)``, whose sum is the target or at most it.

    As `shift` (`exact`) or `shift_at_most` and `clip_shifted`, but also right for several equal
    values of 1e300, which S as one number cannot tell from their level.

    Parameters are those of `shift`, and `exact`: whether the sum must be equal to the target.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.simplex import project
    >>> values = np.array([1e300, 1e300, 0.25])
    >>> project(3, values, np.ones(3), 1.0, True, np.empty((2, 3), np.int64))
    >>> values
    array([0.5, 0.5, 0. ])
    """
    bottom, level = 0.0, 0.0
    if exact or total_clipped(n, values, multiplicities, 0.0) > target:
        bottom, level = _level(n, values, multiplicities, target, order)
    for i in range(n):
        values[i] = clip_shifted(values[i] - bottom, level)
