"""scikit-learn's IncrementalPCA, 100 rows at a time."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import IncrementalPCA

from benchmarks.accuracy.method import Answers, Method


def incremental(X: Any, k: int) -> Answers:
    return {"IncrementalPCA": IncrementalPCA(k, batch_size=100).fit(X).components_}


METHODS = [Method("sklearn-incremental", incremental)]
