"""scikit-learn's PCA and TruncatedSVD: all rows in memory."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import PCA, TruncatedSVD

from benchmarks.solver import Directions, Solver


def randomized(X: Any, k: int) -> Directions:
    return PCA(k, svd_solver="randomized", random_state=0).fit(X).components_


def covariance(X: Any, k: int) -> Directions:
    return PCA(k, svd_solver="covariance_eigh").fit(X).components_


def full(X: Any, k: int) -> Directions:
    return PCA(k, svd_solver="full").fit(X).components_


def truncated_svd(X: Any, k: int) -> Directions:
    return TruncatedSVD(k, random_state=0).fit(X).components_


SOLVERS = [
    Solver("sklearn-pca-randomized", randomized, streams=False),
    Solver("sklearn-pca-covariance", covariance, streams=False, max_columns=2000),
    Solver("sklearn-pca-full", full, streams=False, max_columns=2000),
    Solver("sklearn-truncated-svd", truncated_svd, streams=False, sparse=True),
]
