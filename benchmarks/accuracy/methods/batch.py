"""Batch PCA: all rows in memory, what the others are compared with."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.method import Answers, Method
from benchmarks.accuracy.study import batch_directions


def batch(X: Any, k: int) -> Answers:
    return {"batch": batch_directions(X, k)}


METHODS = [Method("batch", batch)]
