"""The roots of the secular equation, all at once, each as an offset from its nearest pole.

With poles d strictly descending and weights w positive, the equation and its m roots are::

    f(x) = inverse + sum_j w_j / (d_j - x) = 0,      d_0 < x_0,  d_i < x_i < d_{i-1}

A root is kept as ``base + offset`` with `base` the nearest pole, and every distance is computed as
``(d_j - base) - offset``, which is accurate even if x itself rounds to a pole. Each step solves
``c + s / (d_i - x) + t / (d_{i-1} - x) = 0`` with the c, s, t that match f and its first two
derivatives: that converges cubically and from one side (Borges and Gragg 1993). The largest root
has its second pole at infinity.

The roots are worked on together, pole by pole, in loops over roots that the compiler vectorises;
those that have converged leave. Everything is in rows of one buffer (`kernels.buffers`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import (
    BASE,
    FAR,
    OFFSET,
    POLE,
    SLOPE,
    SLOT,
    SLOT_BASE,
    SLOT_GAP,
    SLOT_OFFSET,
    VALUE,
    WEIGHT,
)
from onepass.kernels.compiling import jit
from onepass.kernels.secular_start import first_offsets

MAX_SWEEPS = 100
EPS = 2.0**-52
# A cubic step of this size, relative to the offset, leaves an error below rounding.
SMALL_STEP = 1e-6


@jit
def _sums(m: int, slots: int, work: NDArray[np.float64]) -> None:
    """Write the three sums over the poles of the first `slots` slots. Two poles share a division.

    With r_j = offset / (d_j - x): f, but for `inverse`; the slope, sum_j w_j / (d_j - x) r_j; and
    the same with another factor 1 + r_j, which is zero for the base: what is far.
    """
    d, w, base, offset = work[POLE], work[WEIGHT], work[SLOT_BASE], work[SLOT_OFFSET]
    f, slope, far = work[VALUE], work[SLOPE], work[FAR]
    for s in range(slots):
        f[s] = 0.0
        slope[s] = 0.0
        far[s] = 0.0
    for pair in range(m >> 1):
        j = 2 * pair
        d0, w0, d1, w1 = d[j], w[j], d[j + 1], w[j + 1]
        for s in range(slots):
            gap0, gap1 = d0 - base[s], d1 - base[s]
            apart0, apart1 = gap0 - offset[s], gap1 - offset[s]
            both = 1.0 / (apart0 * apart1)
            inverse0, inverse1 = both * apart1, both * apart0
            term0, term1 = w0 * inverse0, w1 * inverse1
            part0, part1 = term0 * (offset[s] * inverse0), term1 * (offset[s] * inverse1)
            f[s] += term0 + term1
            slope[s] += part0 + part1
            far[s] += part0 * (gap0 * inverse0) + part1 * (gap1 * inverse1)
    if m & 1:
        d0, w0 = d[m - 1], w[m - 1]
        for s in range(slots):
            gap0 = d0 - base[s]
            inverse0 = 1.0 / (gap0 - offset[s])
            term0 = w0 * inverse0
            part0 = term0 * (offset[s] * inverse0)
            f[s] += term0
            slope[s] += part0
            far[s] += part0 * (gap0 * inverse0)


@jit
def _steps(slots: int, inverse: float, work: NDArray[np.float64]) -> None:
    """Write the next offset of each slot, and by which part of itself the offset changes.

    With x = base + t (1 + y) and both = near + other, the equation of the step is
    value + near y / (1 + y) + other y / (1 - beta y) = 0.
    """
    gap, offset, f, slope, far = (
        work[SLOT_GAP],
        work[SLOT_OFFSET],
        work[VALUE],
        work[SLOPE],
        work[FAR],
    )
    for s in range(slots):
        t = offset[s]
        sign = math.copysign(1.0, t)
        size = abs(t)
        beta = size / (gap[s] - size)
        value, both = sign * (inverse + f[s]), sign * slope[s]
        other = sign * far[s] / (1.0 + beta)
        linear = both + value * (1.0 - beta)
        square = other - beta * (value + both - other)
        spread = math.sqrt(max(0.0, linear * linear - 4.0 * value * square))
        over, under = -2.0 * value, linear + spread
        if not linear > 0.0:
            over, under = spread - linear, 2.0 * square
        y = over / under
        grown = size * (1.0 + y if y > -1.0 else 0.125)
        slope[s] = sign * min(0.5 * gap[s], grown)
        far[s] = abs(y)


@jit
def _noise(m: int, s: int, inverse: float, work: NDArray[np.float64]) -> float:
    """Return the rounding error that f may have in slot s."""
    size = inverse
    for j in range(m):
        apart = (work[POLE, j] - work[SLOT_BASE, s]) - work[SLOT_OFFSET, s]
        size += abs(work[WEIGHT, j] / apart)
    return EPS * size


@jit
def secular_roots(
    m: int, inverse: float, work: NDArray[np.float64], order: NDArray[np.int64]
) -> None:
    """Find the m roots of ``inverse + sum_j weight_j / (pole_j - x) = 0``.

    Parameters
    ----------
    m : int
        How many poles and roots.
    inverse : float
        Positive.
    work, order : ndarray
        Buffers. Row POLE of `work`: the poles, descending, between -1 and 1, no two closer than
        2^-100. Row WEIGHT: at most 1, and neither weight nor weight / inverse below 2^-300. Rows
        BASE and OFFSET receive the roots, in the order of the poles; no offset is zero.
    """
    if m <= 1:
        if m == 1:
            work[BASE, 0], work[OFFSET, 0] = work[POLE, 0], work[WEIGHT, 0] / inverse
        return
    base, offset, gap = work[SLOT_BASE], work[SLOT_OFFSET], work[SLOT_GAP]
    f, moved, change, roots = work[VALUE], work[SLOPE], work[FAR], order[SLOT]
    first_offsets(m, inverse, work)
    for s in range(m):
        roots[s] = s
    active = m
    for sweep in range(MAX_SWEEPS):
        slots = min((active + 3) & ~3, work.shape[1])
        _sums(m, slots, work)
        _steps(slots, inverse, work)
        left = 0
        for s in range(active):
            i = roots[s]
            done = change[s] <= SMALL_STEP
            if not done and sweep > 2:
                done = abs(inverse + f[s]) <= _noise(m, s, inverse, work)
            if done:
                work[BASE, i], work[OFFSET, i] = base[s], moved[s]
            else:
                roots[left], base[left], offset[left], gap[left] = i, base[s], moved[s], gap[s]
                left += 1
        active = left
        if active == 0:
            break
    for s in range(active):  # none: a dozen sweeps is the most that was ever seen
        work[BASE, roots[s]], work[OFFSET, roots[s]] = base[s], offset[s]
