"""Times of several pieces of work that take turns, so that what else the machine does is shared."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Work = Callable[[], Any]


def seconds(work: Work, clock: Callable[[], float] = time.process_time) -> float:
    """Return how long a piece of work takes, in seconds of the processor by default."""
    gc.collect()
    start = clock()
    work()
    return clock() - start


def medians(
    *works: Work, turns: int, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return the median time of each piece of work over some turns; a first turn does not count."""
    times = [[seconds(work, clock) for work in works] for _ in range(turns + 1)]
    return [float(median) for median in np.median(times[1:], axis=0)]


def ratio(
    ours: Work, theirs: Work, *, turns: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the median time of one piece of work over that of another."""
    first, second = medians(ours, theirs, turns=turns, clock=clock)
    return first / second
