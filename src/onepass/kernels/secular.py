"""The roots of the secular equation, all at once, each as an offset from its nearest pole.

With poles d strictly descending and weights w positive, the equation and its m roots are::

    f(x) = inverse + sum_j w_j / (d_j - x) = 0,      d_0 < x_0,  d_i < x_i < d_{i-1}

A root is kept as ``base + offset`` with `base` the nearest pole, and every distance is computed as
``(d_j - base) - offset``, which is accurate even if x itself rounds to a pole. Each step solves
``c + s / (d_i - x) + t / (d_{i-1} - x) = 0`` with the c, s, t that match f and its first two
derivatives: that converges cubically and from one side (Borges and Gragg 1993). The largest root
has its second pole at infinity.

The roots are worked on a vector at a time; a vector of which all have converged is done. Everything
is in rows of one buffer (`kernels.buffers`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import ACTIVE, BASE, CHANGE, GAP, OFFSET, POLE, VALUE, WEIGHT
from onepass.kernels.compiling import jit
from onepass.kernels.secular_start import first_offsets
from onepass.kernels.vectors import (
    LANES,
    Vector,
    all_within,
    choose,
    larger,
    load,
    root,
    smaller,
    spread,
    store,
)

MAX_SWEEPS = 100
EPS = 2.0**-52
# A cubic step of this size, relative to the offset, leaves an error below rounding.
SMALL_STEP = 1e-6


@jit
def _sums(
    m: int, base: Vector, offset: Vector, work: NDArray[np.float64]
) -> tuple[Vector, Vector, Vector]:
    """Return three sums over the poles, for some roots. Two poles share a division.

    With r_j = offset / (d_j - x): f, but for `inverse`; the slope, sum_j w_j / (d_j - x) r_j; and
    the same with another factor 1 + r_j, which is zero for the base: what is far.
    """
    f, slope, far = spread(0.0), spread(0.0), spread(0.0)
    for pair in range(m >> 1):
        j = 2 * pair
        gap0, gap1 = work[POLE, j] - base, work[POLE, j + 1] - base
        apart0, apart1 = gap0 - offset, gap1 - offset
        both = 1.0 / (apart0 * apart1)
        inverse0, inverse1 = both * apart1, both * apart0
        term0, term1 = work[WEIGHT, j] * inverse0, work[WEIGHT, j + 1] * inverse1
        part0, part1 = term0 * (offset * inverse0), term1 * (offset * inverse1)
        f += term0 + term1
        slope += part0 + part1
        far += part0 * (gap0 * inverse0) + part1 * (gap1 * inverse1)
    if m & 1:
        gap0 = work[POLE, m - 1] - base
        inverse0 = 1.0 / (gap0 - offset)
        term0 = work[WEIGHT, m - 1] * inverse0
        part0 = term0 * (offset * inverse0)
        f += term0
        slope += part0
        far += part0 * (gap0 * inverse0)
    return f, slope, far


@jit
def _advance(m: int, s: int, inverse: float, work: NDArray[np.float64]) -> bool:
    """Take a step with the roots of the vector at s; return whether all have been found.

    With x = base + t (1 + y) and both = near + other, the equation of the step is
    value + near y / (1 + y) + other y / (1 - beta y) = 0.
    """
    gap, t = load(work, GAP, s), load(work, OFFSET, s)
    f, slope, far = _sums(m, load(work, BASE, s), t, work)
    sign = choose(t, 1.0, spread(-1.0))
    size = sign * t
    beta = size / (gap - size)
    value, both = sign * (inverse + f), sign * slope
    other = sign * far / (1.0 + beta)
    linear = both + value * (1.0 - beta)
    square = other - beta * (value + both - other)
    split = root(larger(linear * linear - 4.0 * value * square, 0.0))
    over = choose(linear, -2.0 * value, split - linear)
    under = choose(linear, linear + split, 2.0 * square)
    y = over / under
    grown = size * choose(1.0 + y, 1.0 + y, spread(0.125))
    change = larger(y, 0.0 - y)
    store(work, OFFSET, s, sign * smaller(grown, 0.5 * gap))
    store(work, VALUE, s, inverse + f)
    store(work, CHANGE, s, change)
    return all_within(change, SMALL_STEP)


@jit
def _only_rounding_left(m: int, s: int, inverse: float, work: NDArray[np.float64]) -> bool:
    """Return whether roots of the vector at s that still move have an f that may be rounding."""
    for i in range(s, min(s + LANES, m)):
        if not work[CHANGE, i] <= SMALL_STEP:
            size = inverse
            for j in range(m):
                apart = (work[POLE, j] - work[BASE, i]) - work[OFFSET, i]
                size += abs(work[WEIGHT, j] / apart)
            if not abs(work[VALUE, i]) <= EPS * size:
                return False
    return True


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
    first_offsets(m, inverse, work)
    active, sweep = 0, 0
    for s in range(0, m, LANES):
        order[ACTIVE, active] = s
        active += 1
    while active > 0 and sweep < MAX_SWEEPS:  # a dozen is the most that was ever seen
        left = 0
        for v in range(active):
            s = order[ACTIVE, v]
            if not _advance(m, s, inverse, work) and not (
                sweep > 2 and _only_rounding_left(m, s, inverse, work)
            ):
                order[ACTIVE, left] = s
                left += 1
        active, sweep = left, sweep + 1
