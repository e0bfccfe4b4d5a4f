"""`onepass.PCA`, and each of its two experts alone."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.method import Answers, Method
from onepass import PCA


def pca(X: Any, k: int) -> Answers:
    model = PCA(k).fit(X)
    experts = model._settled()
    return {
        "PCA": model.components_,
        "its sketch": experts.directions("sketch"),
        "its average": experts.directions("average"),
    }


METHODS = [Method("pca", pca)]
