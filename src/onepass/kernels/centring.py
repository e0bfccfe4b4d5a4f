"""Rows centred as they come: sqrt(w W / (W + w)) (x - mean of the rows before), W their weight.

Their second moments add up to the scatter of all rows about the final mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit


@jit
def centring(before: float, weights: NDArray[np.float64], mixing: NDArray[np.float64]) -> None:
    """Write the matrix T that centres rows as they come.

    With D the rows minus the mean of rows of weight `before` (minus anything, if there are none),
    the rows of T D are the centred ones: how it is done where D is never formed.

    Parameters
    ----------
    before : float
        The weight of all rows before these.
    weights : ndarray of shape (b,)
        The weights of the rows.
    mixing : ndarray of shape (b, b)
        Receives T.
    """
    for t in range(len(weights)):
        scale = np.sqrt(weights[t]) * np.sqrt(before / (before + weights[t]))
        for s in range(len(weights)):
            if s < t and before > 0.0:
                mixing[t, s] = -scale * weights[s] / before
            else:
                mixing[t, s] = scale if s == t else 0.0
        before += weights[t]


@jit
def centre(
    rows: NDArray[np.floating],
    shift: NDArray[np.float64],
    moved: NDArray[np.float64],
    before: float,
    weights: NDArray[np.float64],
    centred: NDArray[np.floating],
) -> float:
    """Write rows as they are learned from, and return the weight of all rows.

    Parameters
    ----------
    rows : ndarray of shape (b, d)
    shift : ndarray of shape (d,)
        The mean of the rows before, or anything if there are none.
    moved : ndarray of shape (d,)
        Zeros; receives the new mean minus `shift`, so that a far mean costs no digits.
    before : float
        The weight of all rows before these.
    weights : ndarray of shape (b,)
        Positive.
    centred : ndarray of shape (b, d)
        Receives the rows.
    """
    for t in range(len(rows)):
        together = before + weights[t]
        share = weights[t] / together
        scale = np.sqrt(weights[t]) * np.sqrt(before / together)
        for c in range(rows.shape[1]):
            deviation = (rows[t, c] - shift[c]) - moved[c]
            moved[c] += share * deviation
            centred[t, c] = scale * deviation
        before = together
    return before
