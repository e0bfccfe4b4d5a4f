"""What is wanted of every row of a chunk, in one go through memory.

Another thread reads the next rows. Whenever this one comes back from compiled code it may have to
wait for that one, so that one long call is better than several short ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit
from onepass.kernels.squares import add_squares


@jit
def _shift(
    rows: NDArray[np.floating],
    origin: NDArray[np.float64],
    weights: NDArray[np.float64],
    shifted: NDArray[np.float64],
    energy: NDArray[np.float64],
    total: NDArray[np.float64],
) -> tuple[float, bool]:
    """Write rows minus an origin, and their energies; add them to their weighted sum.

    Returns the sum of the energies, and whether all weights are 1.
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
def survey(
    rows: NDArray[np.floating],
    origin: NDArray[np.float64],
    weights: NDArray[np.float64],
    directions: NDArray[np.float64],
    room: NDArray[np.float64],
    squares: NDArray[np.float64],
    dsyrk: int,
    energy: NDArray[np.float64],
    total: NDArray[np.float64],
    captured: NDArray[np.float64],
    sums: NDArray[np.float64],
    believed: int,
    unit: float,
    scores: NDArray[np.float64],
) -> tuple[float, bool, float]:
    """Measure rows from an origin.

    Parameters
    ----------
    rows : ndarray of shape (b, d)
    origin : ndarray of shape (d,)
    weights : ndarray of shape (b,)
    directions : ndarray of shape (m k, d)
        m groups of k directions.
    room : ndarray of shape (r, d)
        For so many rows minus the origin at a time; what it holds then is of use only if it is all
        of them, and there are no `squares`.
    squares : ndarray of shape (d, d) or (0, 0)
        To its lower triangle their weighted squares are added.
    dsyrk : int
        For `add_squares`.
    energy : ndarray of shape (b,)
        Receives their squared norms, times the weights.
    total : ndarray of shape (d,)
        Zeros; receives their weighted sum.
    captured : ndarray of shape (m, b)
        Receives their energies along the groups of directions, times the weights.
    sums : ndarray of shape (m,)
        Zeros; receives the sums of these.
    believed : int
        The group whose energies are added to the scores.
    unit, scores : float, ndarray of shape (5,)
        For `add_scores`.

    Returns
    -------
    energies : float
        The sum of the energies.
    alike : bool
        Whether all weights are 1.
    unit : float
    """
    energies, alike, nothing = 0.0, True, np.zeros(len(directions))
    for start in range(0, len(rows), len(room)):
        stop = min(start + len(room), len(rows))
        near, counts = room[: stop - start], weights[start:stop]
        found, same = _shift(rows[start:stop], origin, counts, near, energy[start:stop], total)
        energies, alike = energies + found, alike and same
        if len(directions):
            inner = np.dot(near, directions.T)
            energies_along(inner, nothing, counts, captured[:, start:stop], sums)
        if len(squares):
            if not same:
                for t in range(stop - start):
                    near[t] *= np.sqrt(counts[t])
            add_squares(near, squares, dsyrk)
    if len(captured) and np.isfinite(energies):
        unit = add_scores(captured[believed], energy, unit, scores)
    return energies, alike, unit


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
