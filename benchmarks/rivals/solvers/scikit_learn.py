"""scikit-learn: IncrementalPCA with batches of three sizes, PCA and TruncatedSVD in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver, batches, in_memory

REQUIRES: list[str] = []


def _incremental(batch: int | None) -> tuple[Callable[[Any, int], Found], ...]:
    """Return the fits of IncrementalPCA; its own default is 5 d rows at a time."""

    def fit(X: Any, k: int) -> Found:
        from sklearn.decomposition import IncrementalPCA

        model = IncrementalPCA(k, batch_size=batch).fit(X)
        return model.components_, model.explained_variance_

    def fit_file(path: Path, k: int) -> Found:
        from pyarrow.parquet import ParquetFile
        from sklearn.decomposition import IncrementalPCA

        model = IncrementalPCA(k)
        rows = batch or 5 * ParquetFile(path).metadata.num_columns
        for X in batches(path, rows):
            if len(X) >= k:  # it refuses fewer
                model.partial_fit(X)
        return model.components_, model.explained_variance_

    return fit, fit_file


def _batch(solver: str) -> Callable[[Any, int], Found]:
    """Return the fit of PCA."""

    def fit(X: Any, k: int) -> Found:
        from sklearn.decomposition import PCA

        model = PCA(k, svd_solver=solver, random_state=0).fit(X)
        return model.components_, model.explained_variance_

    return fit


def _truncated_svd(X: Any, k: int) -> Found:
    """Return singular vectors about zero."""
    from sklearn.decomposition import TruncatedSVD

    return TruncatedSVD(k, random_state=0).fit(X).components_, None


SOLVERS = [
    *(
        Solver(f"scikit-learn IncrementalPCA, {words}", *_incremental(batch))
        for words, batch in (("100 rows", 100), ("5 d rows", None), ("10,000 rows", 10_000))
    ),
    *(
        Solver(
            f"scikit-learn PCA {solver}",
            _batch(solver),
            in_memory(_batch(solver)),
            sparse=solver == "arpack",  # the others refuse sparse rows, or take minutes
        )
        for solver in ("covariance_eigh", "randomized", "arpack")
    ),
    Solver(
        "scikit-learn TruncatedSVD",
        _truncated_svd,
        in_memory(_truncated_svd),
        dense=False,
        sparse=True,
    ),
]
