"""Ways in which rows arrive."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np


def at_once(n: int) -> list[slice]:
    """All rows in one call."""
    return [slice(0, n)]


def ragged(n: int) -> list[slice]:
    """Pieces of very different sizes, single rows among them."""
    rng = np.random.default_rng(n)
    cuts = np.unique(np.concatenate([[0, 1, 2, n], rng.integers(0, n, 5)]).clip(0, n))
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]


def one_by_one(n: int) -> list[slice]:
    """A call for every row."""
    return [slice(i, i + 1) for i in range(n)]


SPLITS: dict[str, Callable[[int], list[slice]]] = {
    split.__name__: split for split in (at_once, ragged, one_by_one)
}


def feed(
    estimator: Any, rows: Any, split: Callable[[int], list[slice]], weights: Any = None
) -> Any:
    """Hand the rows to `partial_fit` piece by piece and return the estimator."""
    for piece in split(rows.shape[0]):
        weight = None if weights is None else weights[piece]
        estimator.partial_fit(rows[piece], sample_weight=weight)
    return estimator
