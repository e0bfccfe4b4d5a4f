"""Where the search for the roots of the secular equation starts.

The equation, its roots and their slots are those of `kernels.secular`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import POLE, SLOT_BASE, SLOT_GAP, SLOT_OFFSET, VALUE, WEIGHT
from onepass.kernels.compiling import jit


@jit
def _values(m: int, slots: int, work: NDArray[np.float64]) -> None:
    """Write f, but for `inverse`, of the first `slots` slots. Two poles share a division."""
    d, w, f = work[POLE], work[WEIGHT], work[VALUE]
    base, offset = work[SLOT_BASE], work[SLOT_OFFSET]
    for s in range(slots):
        f[s] = 0.0
    for pair in range(m >> 1):
        j = 2 * pair
        d0, w0, d1, w1 = d[j], w[j], d[j + 1], w[j + 1]
        for s in range(slots):
            apart0 = (d0 - base[s]) - offset[s]
            apart1 = (d1 - base[s]) - offset[s]
            f[s] += (w0 * apart1 + w1 * apart0) / (apart0 * apart1)
    if m & 1:
        d0, w0 = d[m - 1], w[m - 1]
        for s in range(slots):
            f[s] += w0 / ((d0 - base[s]) - offset[s])


@jit
def _first_top(m: int, inverse: float, work: NDArray[np.float64]) -> float:
    """Return a first offset for the largest root: all poles but d_0 gathered in their mean."""
    total, moment = 0.0, 0.0
    for j in range(1, m):
        total += work[WEIGHT, j]
        moment += work[WEIGHT, j] * (work[POLE, 0] - work[POLE, j])
    own = work[WEIGHT, 0] / inverse
    mean = moment / total
    linear = own + total / inverse - mean
    spread = math.sqrt(linear * linear + 4.0 * own * mean)
    if linear > 0.0:
        return 0.5 * (linear + spread)
    return own * (2.0 * mean / (spread - linear))


@jit
def first_offsets(m: int, inverse: float, work: NDArray[np.float64]) -> None:
    """Fill the slots: the nearest pole of each root, and an offset with distant poles held still.

    The sign of f in the middle between two poles says which is nearer. The offset t from it solves
    rest - own / t + other / (gap - t) = 0, with `rest` that of all other poles in the middle.
    """
    d, w, f = work[POLE], work[WEIGHT], work[VALUE]
    base, gap, offset = work[SLOT_BASE], work[SLOT_GAP], work[SLOT_OFFSET]
    # Slots beyond m fill up the last vector; their numbers only have to be harmless.
    slots = min((m + 3) & ~3, work.shape[1])
    for s in range(m, slots):
        base[s], gap[s], offset[s] = 4.0, 16.0, 4.0
    base[0], gap[0], offset[0] = d[0], math.inf, 1.0
    for i in range(1, m):
        base[i], gap[i] = d[i], d[i - 1] - d[i]
        offset[i] = 0.5 * gap[i]
    _values(m, slots, work)
    offset[0] = _first_top(m, inverse, work)
    for i in range(1, m):
        middle = inverse + f[i]
        upper = middle < 0.0
        sign = -1.0 if upper else 1.0
        own = w[i - 1] if upper else w[i]
        slope = sign * 2.0 * ((w[i] - w[i - 1]) + middle * offset[i])
        linear = slope + w[i] + w[i - 1]
        spread = math.sqrt(max(0.0, linear * linear - 4.0 * slope * own))
        straight = linear > 0.0
        over = 2.0 * own if straight else 0.5 * (linear - spread)
        under = linear + spread if straight else slope
        base[i] = d[i - 1] if upper else d[i]
        offset[i] = sign * min(over / under, 0.5) * gap[i]
