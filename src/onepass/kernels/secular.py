"""The roots of the secular equation, each as an offset from its nearest pole."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit

MAX_STEPS = 60
EPS = 2.0**-52


@jit
def _step(f: float, p: float, q: float, a: float, b: float) -> float:
    """Return the root y of f + p y / (1 - a y) + q y / (1 - b y) with 1 - a y, 1 - b y > 0."""
    linear = p + q - f * (a + b)
    square = f * a * b - p * b - q * a
    spread = math.sqrt(max(0.0, linear * linear - 4.0 * f * square))
    if linear > 0.0:
        return -2.0 * f / (linear + spread)
    return (spread - linear) / (2.0 * square)


@jit
def _first_top(m: int, d: NDArray[np.float64], w: NDArray[np.float64], inverse: float) -> float:
    """Return a first offset for the largest root: all poles but d[0] gathered in their mean."""
    total, mean = 0.0, 0.0
    for j in range(1, m):
        total += w[j]
        mean += w[j] * (d[0] - d[j])
    if total == 0.0:
        return w[0] / inverse
    mean /= total
    own = w[0] / inverse
    linear = own + total / inverse - mean
    spread = math.sqrt(linear * linear + 4.0 * own * mean)
    if linear > 0.0:
        return 0.5 * (linear + spread)
    return own * (2.0 * mean / (spread - linear))


@jit
def _first(
    i: int, m: int, d: NDArray[np.float64], w: NDArray[np.float64], inverse: float
) -> tuple[int, float]:
    """Return the pole nearest to root i > 0 and a first offset: the other poles held constant."""
    gap = d[i - 1] - d[i]
    half = 0.5 * gap
    rest = inverse
    for j in range(m):
        if j != i and j != i - 1:
            rest += w[j] / ((d[j] - d[i]) - half)
    near = i if rest + (w[i - 1] - w[i]) / half >= 0.0 else i - 1
    # With the sign of the offset t, for 0 < |t| <= half and the other pole at distance gap:
    # rest - w_near / t + w_far / (sign * gap - t) = 0
    sign = 1.0 if near == i else -1.0
    size = abs(rest) * gap + w[i] + w[i - 1]
    slope = sign * rest * gap / size
    linear = slope + (w[i] + w[i - 1]) / size
    own = w[near] / size
    spread = math.sqrt(max(0.0, linear * linear - 4.0 * slope * own))
    share = 2.0 * own / (linear + spread) if linear > 0.0 else 0.5 * (linear - spread) / slope
    return near, sign * min(share * gap, half)


@jit
def secular_root(
    i: int, m: int, d: NDArray[np.float64], w: NDArray[np.float64], inverse: float
) -> tuple[float, float]:
    """Return ``pole, offset`` such that their sum is the root i of the secular equation.

    The equation is ``inverse + sum_j w[j] / (d[j] - x) = 0``. Each step solves
    ``c + s / (d[i] - x) + t / (d[i - 1] - x) = 0`` with the c, s and t that match f and its first
    two derivatives (Borges and Gragg 1993): cubic convergence. The largest root has its second pole
    at infinity. All distances are in units of the offset, so that no square leaves the range.

    Parameters
    ----------
    i : int
        Which root; descending, d[i] < root < d[i - 1].
    m : int
        How many poles.
    d, w : ndarray of shape (>= m,)
        Poles, strictly descending; weights, positive.
    inverse : float
        Positive.

    Returns
    -------
    tuple of float
        `pole` is the nearest entry of d, `offset` is never zero.
    """
    if i == 0:
        near, offset = 0, _first_top(m, d, w, inverse)
        bound = math.inf
    else:
        near, offset = _first(i, m, d, w, inverse)
        bound = 0.5 * (d[i - 1] - d[i])
    pole = d[near]
    # The root's offset has the sign of `offset` and a magnitude between these two.
    below, beyond = 0.0, bound
    for _ in range(MAX_STEPS):
        unit = abs(offset)
        a = unit / ((d[i] - pole) - offset)
        b = unit / ((d[i - 1] - pole) - offset) if i > 0 else 0.0
        f, size, sum_a, sum_b = inverse, inverse, 0.0, 0.0
        for j in range(m):
            inverse_j = 1.0 / ((d[j] - pole) - offset)
            term = w[j] * inverse_j
            ratio = unit * inverse_j
            slope = term * ratio
            f += term
            size += abs(term)
            sum_a += slope * (b - ratio)
            sum_b += slope * (ratio - a)
        if (f > 0.0) == (offset > 0.0):
            beyond = unit
        else:
            below = unit
        width = (b - a) * size
        step = unit * _step(f / size, sum_a / width, sum_b / width, a, b)
        new = abs(offset + step)
        inside = below <= new <= beyond and (offset > 0.0) == (offset + step > 0.0)
        if not inside or new == 0.0:
            new = math.sqrt(below * beyond) if below > 0.0 and beyond < math.inf else 0.125 * unit
            step = math.copysign(new, offset) - offset
        offset = math.copysign(new, offset)
        if abs(step) <= 1e-6 * unit or abs(f) <= EPS * size:
            break
    return pole, offset
