"""Spectra of d variances, largest first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Spectrum = Callable[[int, int], NDArray[np.float64]]


def polynomial(d: int, k: int) -> NDArray[np.float64]:
    """1 / i."""
    return 1.0 / np.arange(1, d + 1)


def exponential(d: int, k: int) -> NDArray[np.float64]:
    """Halved every k/2 directions, over a little noise."""
    return 2.0 ** (-2.0 * np.arange(d) / k) + 1e-3


def spiked(d: int, k: int) -> NDArray[np.float64]:
    """Variances from 5 to 2.5 in k directions, over ones."""
    return np.concatenate([np.linspace(5.0, 2.5, k), np.ones(d - k)])


def gapped(d: int, k: int) -> NDArray[np.float64]:
    """In k directions variances ten times those that follow, which decay."""
    rest = 0.1 / np.sqrt(np.arange(1, d - k + 1))
    return np.concatenate([np.linspace(2.0, 1.0, k), rest])
