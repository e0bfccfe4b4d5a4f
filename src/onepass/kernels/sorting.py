"""Descending order of a few numbers that are nearly in order already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onepass.kernels.compiling import jit


@jit
def sort_descending(
    n: int, values: NDArray[np.float64], order: NDArray[np.int64], spare: NDArray[np.int64]
) -> None:
    """Write into ``order[:n]`` the indices that put ``values[:n]`` in descending order, stably.

    A merge sort from the bottom up that leaves alone what is in order: O(n log n) comparisons,
    O(n) when `values` is sorted or when only its last entry is out of place.

    Parameters
    ----------
    n : int
        How many values.
    values : ndarray of shape (>= n,)
        Read only.
    order, spare : ndarray of int64, of shape (>= n,)
        The result, and room to work in.
    """
    sorted_already = True
    for i in range(n):
        order[i] = i
        sorted_already = sorted_already and (i == 0 or values[i - 1] >= values[i])
    width = n if sorted_already else 1
    while width < n:
        start = 0
        while start + width < n:
            middle = start + width
            stop = min(middle + width, n)
            if values[order[middle - 1]] < values[order[middle]]:
                for i in range(start, middle):
                    spare[i] = order[i]
                left, right, to = start, middle, start
                while left < middle:
                    if right < stop and values[order[right]] > values[spare[left]]:
                        order[to] = order[right]
                        right += 1
                    else:
                        order[to] = spare[left]
                        left += 1
                    to += 1
            start = stop
        width *= 2
