"""Which entries are missing. Every function returns what is observed, (n, d)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Numbers

Observed = NDArray[np.bool_]
Pattern = Callable[[int, int, np.random.Generator], Observed]

OUTAGE = 100  # rows that a sensor is off, on average
MOST = 0.9  # of a column that is missing: something has to be observed


def at_random(share: float) -> Pattern:
    """Return the pattern of a share of all entries."""
    return lambda n, d, rng: rng.random((n, d)) >= share


def by_columns(n: int, d: int, rng: np.random.Generator) -> Observed:
    """Return columns with missing shares of their own, Beta(1, 2), a third on average."""
    return rng.random((n, d)) >= np.minimum(rng.beta(1.0, 2.0, size=d), MOST)


def drop_outs(n: int, d: int, rng: np.random.Generator) -> Observed:
    """Return sensors that are off for 100 rows on average, a fifth of the time."""
    off = np.zeros((n, d), bool)
    now = rng.random(d) < 0.2
    for row in range(n):
        off[row] = now
        # Ending with probability 1/100, beginning with a quarter of that: off a fifth of the time.
        now = np.where(now, rng.random(d) >= 1 / OUTAGE, rng.random(d) < 0.25 / OUTAGE)
    return ~off


def hidden(X: Numbers, observed: Observed) -> Numbers:
    """Return rows with NaN where nothing is observed; rows without any entry are left out."""
    return np.where(observed, X, np.nan)[observed.any(axis=1)]
