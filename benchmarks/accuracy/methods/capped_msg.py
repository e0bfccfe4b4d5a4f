"""Capped MSG alone, averaged."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.method import Answers, Method
from onepass import CappedMSG


def average(X: Any, k: int) -> Answers:
    model = CappedMSG(k, batch_size=max(32, 2 * k), average=True, center=True)
    return {"capped-msg average": model.fit(X).components_}


METHODS = [Method("capped-msg", average)]
