"""Where the search for the roots of the secular equation starts.

The equation and its roots are those of `kernels.secular`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.buffers import BASE, GAP, OFFSET, POLE, POLE_ABOVE, WEIGHT, WEIGHT_ABOVE
from onepass.kernels.compiling import jit
from onepass.kernels.vectors import (
    LANES,
    Vector,
    choose,
    larger,
    load,
    root,
    smaller,
    spread,
    store,
    total,
    whole_vectors,
)


@jit
def _value(m: int, base: Vector, offset: Vector, work: NDArray[np.float64]) -> Vector:
    """Return f, but for `inverse`, at base + offset. Two poles share a division."""
    f = spread(0.0)
    for pair in range(m >> 1):
        j = 2 * pair
        apart0, apart1 = (work[POLE, j] - base) - offset, (work[POLE, j + 1] - base) - offset
        above = work[WEIGHT, j] * apart1 + work[WEIGHT, j + 1] * apart0
        f += above / (apart0 * apart1)
    if m & 1:
        f += work[WEIGHT, m - 1] / ((work[POLE, m - 1] - base) - offset)
    return f


@jit
def _above_two(own: float, other: float, gap: float) -> float:
    """Return the t > 0 with own / t + other / (gap + t) = 1."""
    linear = own + other - gap
    split = math.sqrt(linear * linear + 4.0 * own * gap)
    return 0.5 * (linear + split) if linear > 0.0 else own * (2.0 * gap / (split - linear))


@jit
def _first_top(m: int, inverse: float, work: NDArray[np.float64]) -> float:
    """Return a first offset for the largest root.

    All poles but d_0 are gathered in one, first in their mean, then in one that gives the same sum
    and slope at the offset found so far.
    """
    first = work[POLE, 0]
    all_weight, moment = 0.0, 0.0
    for j in range(1, m):
        all_weight += work[WEIGHT, j]
        moment += work[WEIGHT, j] * (first - work[POLE, j])
    own = work[WEIGHT, 0] / inverse
    t = _above_two(own, all_weight / inverse, moment / all_weight)
    values, slopes = spread(0.0), spread(0.0)
    weight, work[WEIGHT, 0] = work[WEIGHT, 0], 0.0
    for s in range(0, m, LANES):
        near = 1.0 / ((first - load(work, POLE, s)) + t)
        parts = load(work, WEIGHT, s) * near
        values += parts
        slopes += parts * near
    work[WEIGHT, 0] = weight
    value, slope = total(values), total(slopes)
    return _above_two(own, value * value / (slope * inverse), max(0.0, value / slope - t))


@jit
def first_offsets(m: int, inverse: float, work: NDArray[np.float64]) -> None:
    """Write the nearest pole of each root, the gap, and an offset with distant poles held still.

    The sign of f in the middle between two poles says which is nearer. The offset t from it solves
    rest - own / t + other / (gap - t) = 0, with `rest` that of all other poles in the middle.
    """
    work[POLE_ABOVE, 0], work[WEIGHT_ABOVE, 0] = work[POLE, 0] + 1.0, 1.0  # of no meaning
    for i in range(1, m):
        work[POLE_ABOVE, i], work[WEIGHT_ABOVE, i] = work[POLE, i - 1], work[WEIGHT, i - 1]
    for i in range(m, whole_vectors(m)):  # the last vector is filled up with its last root
        work[POLE, i], work[WEIGHT, i] = work[POLE, m - 1], work[WEIGHT, m - 1]
        work[POLE_ABOVE, i], work[WEIGHT_ABOVE, i] = work[POLE, m - 2], work[WEIGHT, m - 2]
    for s in range(0, m, LANES):
        d, w = load(work, POLE, s), load(work, WEIGHT, s)
        d_above, w_above = load(work, POLE_ABOVE, s), load(work, WEIGHT_ABOVE, s)
        gap = d_above - d
        half = 0.5 * gap
        middle = inverse + _value(m, d, half, work)
        # Where f is positive in the middle the lower pole is nearer.
        sign = choose(middle, 1.0, spread(-1.0))
        own = choose(middle, w, w_above)
        slope = sign * 2.0 * ((w - w_above) + middle * half)
        linear = slope + w + w_above
        split = root(larger(linear * linear - 4.0 * slope * own, 0.0))
        over = choose(linear, 2.0 * own, 0.5 * (linear - split))
        under = choose(linear, linear + split, slope)
        store(work, BASE, s, choose(middle, d, d_above))
        store(work, OFFSET, s, sign * smaller(over / under, 0.5) * gap)
        store(work, GAP, s, gap)
    for i in range(m, whole_vectors(m)):
        work[WEIGHT, i] = 0.0
    work[BASE, 0], work[GAP, 0] = work[POLE, 0], math.inf
    work[OFFSET, 0] = _first_top(m, inverse, work)
