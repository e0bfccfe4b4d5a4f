"""`onepass.PCA`: one pass, nothing to tune."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from benchmarks.solver import Directions, Solver
from onepass import PCA


def pca(X: Any, k: int) -> Directions:
    """Dense rows as by default; sparse ones about zero, as its peers take them."""
    return PCA(k, center=not sparse.issparse(X)).fit(X).components_


# Its first rows cost most: that is where the experts are compared.
SOLVERS = [Solver("pca", pca, sparse=True, streams=False)]
