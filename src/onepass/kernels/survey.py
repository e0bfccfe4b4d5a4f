"""What is wanted of every row of a chunk, in one go through memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit


@jit
def survey(
    rows: NDArray[np.floating],
    origin: NDArray[np.float64],
    weights: NDArray[np.float64],
    shifted: NDArray[np.float64],
    energy: NDArray[np.float64],
    total: NDArray[np.float64],
) -> tuple[float, bool]:
    """Measure rows from an origin.

    Parameters
    ----------
    rows : ndarray of shape (b, d)
    origin : ndarray of shape (d,)
    weights : ndarray of shape (b,)
    shifted : ndarray of shape (b, d)
        Receives the rows minus the origin.
    energy : ndarray of shape (b,)
        Receives their squared norms, times the weights.
    total : ndarray of shape (d,)
        Zeros; receives their weighted sum.

    Returns
    -------
    energies : float
        The sum of the energies.
    alike : bool
        Whether all weights are 1.
    """
    d, energies, alike = len(origin), 0.0, True
    for t in range(len(rows)):
        weight = weights[t]
        alike = alike and weight == 1.0
        for c in range(d):
            deviation = rows[t, c] - origin[c]
            shifted[t, c] = deviation
            total[c] += weight * deviation
        # Four sums at a time: one alone waits for itself.
        first = second = third = fourth = 0.0
        for c in range(0, d - 3, 4):
            first += shifted[t, c] * shifted[t, c]
            second += shifted[t, c + 1] * shifted[t, c + 1]
            third += shifted[t, c + 2] * shifted[t, c + 2]
            fourth += shifted[t, c + 3] * shifted[t, c + 3]
        for c in range(d - d % 4, d):
            first += shifted[t, c] * shifted[t, c]
        energy[t] = weight * ((first + second) + (third + fourth))
        energies += energy[t]
    return energies, alike


@jit
def energies_along(
    inner: NDArray[np.float64],
    along: NDArray[np.float64],
    weights: NDArray[np.float64],
    energies: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write the energies of rows in several groups of directions.

    Parameters
    ----------
    inner : ndarray of shape (b, m k)
        Products with m groups of k directions.
    along : ndarray of shape (m k,)
        What is taken away from these.
    weights : ndarray of shape (b,)
    energies : ndarray of shape (m, b)
        Receives the sums of their squares, times the weights.
    sums : ndarray of shape (m,)
        Zeros; receives the sums of these over the rows.
    """
    groups, size = len(energies), len(along) // len(energies)
    for t in range(len(inner)):
        for group in range(groups):
            squares = 0.0
            for c in range(group * size, (group + 1) * size):
                squares += (inner[t, c] - along[c]) ** 2
            energies[group, t] = weights[t] * squares
            sums[group] += weights[t] * squares


@jit
def add_scores(
    captured: NDArray[np.float64],
    energy: NDArray[np.float64],
    unit: float,
    sums: NDArray[np.float64],
) -> float:
    """Add rows to the sums of `Score`, and return their unit.

    Parameters
    ----------
    captured, energy : ndarray of shape (b,)
        By rounding alone the first may be larger.
    unit : float
        Of the sums so far.
    sums : ndarray of shape (5,)
        Of c, e, c^2, c e, e^2 in units; changed in place.
    """
    largest = 0.0
    for t in range(len(energy)):
        largest = max(largest, energy[t])
    if largest > unit:
        sums[:2] *= unit / largest
        sums[2:] *= (unit / largest) ** 2
        unit = largest
    if unit > 0.0:
        for t in range(len(energy)):
            e = energy[t] / unit
            c = min(captured[t] / unit, e)
            sums[0] += c
            sums[1] += e
            sums[2] += c * c
            sums[3] += c * e
            sums[4] += e * e
    return unit
