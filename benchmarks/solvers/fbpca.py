"""Facebook's fbpca: randomized PCA in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from fbpca import pca

from benchmarks.solver import Directions, Solver


def fbpca(X: Any, k: int) -> Directions:
    """Its defaults, on rows that are centred already."""
    np.random.seed(0)  # noqa: NPY002 - the only generator that it knows
    return pca(X, k, raw=True)[2]


SOLVERS = [Solver("fbpca", fbpca, streams=False, sparse=True)]
