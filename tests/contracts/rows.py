"""Streams of rows that the contracts are tried on, and ways in which they arrive.

Each maker takes (rng, n, d, k) and returns an (n, d) array whose rows have norms of about one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, int, int], Array]


def gaussian(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """Rows of a normal distribution with spectrum 1/i in random directions, not centred."""
    spectrum = 1 / np.arange(1, d + 1)
    directions = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rows = rng.normal(size=(n, d)) * np.sqrt(spectrum / spectrum.sum()) @ directions
    return rows + 0.3 * directions[-1]


def one_hot(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """One non-zero entry a row. Lengths differ, since ties leave open which direction is kept."""
    return np.eye(d)[rng.integers(0, d, n)] * rng.uniform(0.5, 1.5, (n, 1))


def unit_one_hot(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """As the paper's orthogonal distribution: full of ties."""
    return np.eye(d)[rng.integers(0, d, n)]


def duplicated(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """Few distinct rows: some repeated at once, all of them repeated later."""
    distinct = gaussian(rng, max(2, n // 5), d, k)
    order = rng.integers(0, len(distinct), n)
    return distinct[np.where(rng.random(n) < 0.5, order, np.repeat(order[::3], 3)[:n])]


def in_span(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """Rows of a span with a few more dimensions than k."""
    return rng.normal(size=(n, r := min(d, k + 5))) @ rng.normal(size=(r, d)) / np.sqrt(r * d)


def in_small_span(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """Rows of a span with fewer dimensions than k (one, for k = 1)."""
    return rng.normal(size=(n, r := max(1, k - 1))) @ rng.normal(size=(r, d)) / np.sqrt(r * d)


def nearly_in_span(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """After a few rows, others leave the span of those by 1e-9, always to the same side."""
    rows = rng.normal(size=(n, r := min(d - 1, k + 5))) @ rng.normal(size=(r, d)) / np.sqrt(r * d)
    rows[r + 2 :] += 1e-9 * rng.normal(size=d) / np.sqrt(d)
    return rows


def with_zeros(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """Zero rows first, last and in between."""
    rows = gaussian(rng, n, d, k)
    rows[rng.random(n) < 0.4] = 0
    rows[[0, 1, -1]] = 0
    return rows


def all_zero(rng: np.random.Generator, n: int, d: int, k: int) -> Array:
    """Nothing to learn from."""
    return np.zeros((n, d))


MAKERS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        gaussian,
        one_hot,
        unit_one_hot,
        duplicated,
        in_span,
        in_small_span,
        nearly_in_span,
        with_zeros,
        all_zero,
    )
}


def make(name: str, n: int, d: int, k: int, seed: int = 0) -> Array:
    """Return the same rows for the same arguments."""
    return MAKERS[name](np.random.default_rng([seed, zlib.crc32(name.encode()), d, k]), n, d, k)


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
