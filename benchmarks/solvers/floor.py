"""The least that any method does: multiply the rows by k directions, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.solver import Solver


def with_directions(X: Any, k: int) -> tuple[Any, Any]:
    """Return the rows and k directions."""
    return X, np.random.default_rng(0).normal(size=(k, X.shape[1])).astype(X.dtype)


def product(prepared: tuple[Any, Any], k: int) -> None:
    """X @ U'."""
    X, U = prepared
    X @ U.T


SOLVERS = [Solver("floor", product, with_directions, sparse=True)]
