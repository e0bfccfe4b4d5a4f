"""`onepass.PCA`, and the same without robust candidates."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.method import Answers, Method
from onepass import PCA


def pca(X: Any, k: int) -> Answers:
    return {
        "PCA": PCA(k).fit(X).components_,
        "PCA, robust=False": PCA(k, robust=False).fit(X).components_,
    }


METHODS = [Method("pca", pca)]
