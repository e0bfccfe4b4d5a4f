"""MEG's projection: scale a spectrum to a given sum, with a cap of 1, in logarithms.

After its step Warmuth and Kuzmin's algorithm holds W with eigenvalues omega', and the projection in
relative entropy onto {W <= I, tr W = d - k} is ``omega = min(1, a * omega')``: the largest are
capped at 1, the others scaled up (Section 3.3 of the paper). Eigenvalues of exp(-1e300) are
normal after a large step, so everything here is about log omega'.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.sorting import sort_descending


@jit
def _level(
    n: int,
    logs: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    order: NDArray[np.int64],
) -> tuple[float, float]:
    """Return one of the logarithms and what becomes of it; log a is between."""
    if target <= 0.0:
        return 0.0, -math.inf
    down = order[0]
    sort_descending(n, logs, down, order[1])
    while n > 0 and logs[down[n - 1]] == -math.inf:
        n -= 1
    capped = 0.0
    for p in range(n):
        capped += multiplicities[down[p]]
    if n == 0:
        return 0.0, 0.0
    if target >= capped:
        return logs[down[n - 1]], 0.0

    # From the smallest up, until the next one is at its cap: a = (target - capped) / sum. The sum
    # of exp(logs) is kept relative to its largest term, so it neither over- nor underflows.
    total, last = 0.0, logs[down[n - 1]]
    for p in range(n - 1, -1, -1):
        current = logs[down[p]]
        total = total * math.exp(last - current) + multiplicities[down[p]]
        capped -= multiplicities[down[p]]
        last = current
        # Strictly, since the exponential may be zero and the difference is divided by a sum.
        if p == 0 or target - capped > total * math.exp(current - logs[down[p - 1]]):
            break
    return last, math.log((target - capped) / total)


@jit
def log_scale(
    n: int,
    logs: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    order: NDArray[np.int64],
) -> float:
    """Return log a such that ``sum_i multiplicities[i] * min(1, a * exp(logs[i])) = target``.

    What becomes of an eigenvalue is ``min(0, logs[i] + log a)``, in logarithms. O(n log n), O(n)
    when `logs` is sorted in descending order.

    Parameters
    ----------
    n : int
        How many values; the arrays may be longer.
    logs : ndarray of shape (>= n,)
        Logarithms of the eigenvalues in any order; -inf is an eigenvalue of zero, which stays.
    multiplicities : ndarray of shape (>= n,)
        Not negative; floats that hold integers.
    target : float
        The wanted sum, d - k in the paper. If it cannot be reached, a makes all positive
        eigenvalues 1; if it is 0, log a is -inf.
    order : ndarray of int64, of shape (>= 2, >= n)
        Room to work in.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.capping import log_scale
    >>> logs = np.log([0.5, 0.2, 0.1])
    >>> log_a = log_scale(3, logs, np.ones(3), 1.6, np.empty((2, 3), np.int64))
    >>> np.exp(np.minimum(0.0, logs + log_a)).round(12)
    array([1. , 0.4, 0.2])
    """
    reference, level = _level(n, logs, multiplicities, target, order)
    return level - reference


@jit
def cap(
    n: int,
    logs: NDArray[np.float64],
    multiplicities: NDArray[np.float64],
    target: float,
    order: NDArray[np.int64],
) -> None:
    """Replace ``logs[:n]`` by ``min(0, logs + log a)``, with the log a of `log_scale`.

    Also right for several equal logarithms of -1e300, which log a as one number cannot tell from
    what becomes of them. Parameters are those of `log_scale`.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.kernels.capping import cap
    >>> logs = np.array([-1e300, -1e300])
    >>> cap(2, logs, np.ones(2), 1.0, np.empty((2, 2), np.int64))
    >>> np.exp(logs)
    array([0.5, 0.5])
    """
    reference, level = _level(n, logs, multiplicities, target, order)
    for i in range(n):
        logs[i] = min(0.0, (logs[i] - reference) + level)
