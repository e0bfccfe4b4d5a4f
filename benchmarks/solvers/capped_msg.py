"""Capped MSG, in the ways in which it is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.solver import Directions, Solver
from onepass import CappedMSG

PAPER = {"average": False, "center": False}  # the paper's algorithm; rows are centred already


def row_by_row(X: Any, k: int) -> Directions:
    """One gradient step per row, in one call: the paper's algorithm."""
    return CappedMSG(k, **PAPER).fit(X).components_


def in_batches(X: Any, k: int) -> Directions:
    """One gradient step per batch, and the average of the iterates."""
    model = CappedMSG(k, batch_size=max(32, 2 * k), average=True, center=False)
    return model.fit(X).components_


def one_row_calls(X: Any, k: int) -> Directions:
    """One call per row, as rows come from a sensor."""
    model = CappedMSG(k, **PAPER)
    for i in range(X.shape[0]):
        model.partial_fit(X[i : i + 1])
    return model.components_


def single_precision(X: Any, k: int) -> Any:
    """Return the rows in float32."""
    return X.astype(np.float32)


SOLVERS = [
    Solver("capped-msg", row_by_row, sparse=True),
    Solver("capped-msg-batches", in_batches, sparse=True),
    Solver("capped-msg-float32", row_by_row, single_precision, sparse=True),
    Solver("capped-msg-batches-float32", in_batches, single_precision, sparse=True),
    Solver("capped-msg-one-row", one_row_calls),
]
