"""Rows centred as they come, as a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit


@jit
def centring(before: float, weights: NDArray[np.float64], mixing: NDArray[np.float64]) -> None:
    """Write the matrix T that centres rows as they come.

    With D the rows minus the mean of rows of weight `before` (minus anything, if there are none),
    the rows of T D are sqrt(w W / (W + w)) (x - mean of the rows before), W the weight before x.
    Their second moments add up to the scatter about the final mean.

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
