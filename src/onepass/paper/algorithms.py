"""The algorithms that the paper compares, by the names it gives them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onepass.learning.rules import MEG, MSG, Grouse, Incremental, Oja, Rule

AVERAGED = ", averaged"


def _start(k: int, d: int, seed: int) -> np.ndarray:
    """Return k random orthonormal rows, shape (k, d)."""
    rows = np.random.default_rng(seed).normal(size=(d, k))
    return np.ascontiguousarray(np.linalg.qr(rows)[0].T)


MAKERS: dict[str, Callable[[int, int, int], Rule]] = {
    "MSG": lambda k, d, seed: MSG(k, d, max_rank=d),
    "Capped MSG": lambda k, d, seed: MSG(k, d, max_rank=k + 1),
    "Incremental": lambda k, d, seed: Incremental(k, d, max_rank=k),
    "Warmuth-Kuzmin": lambda k, d, seed: MEG(k, d),
    "Grassmannian SGD": lambda k, d, seed: Grouse(k, d, init=_start(k, d, seed)),
    "Oja": lambda k, d, seed: Oja(k, d, init=_start(k, d, seed)),
}


def make_rule(name: str, k: int, d: int, seed: int = 0) -> Rule:
    """Return an algorithm; the seed is for where those that move a basis start.

    "Capped MSG" has K = k + 1, as in the paper's experiments, and the traces are at most k.

    Examples
    --------
    >>> make_rule("Capped MSG", k=4, d=32).rank_bound
    5
    """
    return MAKERS[name.removesuffix(AVERAGED)](k, d, seed)
