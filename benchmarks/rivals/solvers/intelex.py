"""scikit-learn-intelex: exact covariance, threads, single precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver, batches, in_memory

REQUIRES = ["scikit-learn-intelex", "pyarrow"]


def _pca(X: Any, k: int) -> Found:
    from sklearnex.decomposition import PCA

    model = PCA(k, svd_solver="covariance_eigh").fit(X)
    return model.components_, model.explained_variance_


def _incremental(X: Any, k: int) -> Found:
    from sklearnex.preview.decomposition import IncrementalPCA

    model = IncrementalPCA(k).fit(X)
    return model.components_, model.explained_variance_


def _incremental_file(path: Path, k: int) -> Found:
    from sklearnex.preview.decomposition import IncrementalPCA

    model = IncrementalPCA(k)
    for X in batches(path, 10_000):
        model.partial_fit(X)
    return model.components_, model.explained_variance_


SOLVERS = [
    Solver("intelex PCA", _pca, in_memory(_pca)),
    Solver("intelex IncrementalPCA", _incremental, _incremental_file),
]
