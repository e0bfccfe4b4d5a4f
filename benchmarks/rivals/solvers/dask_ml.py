"""dask-ml: PCA of Dask arrays, with the scheduler of threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver

REQUIRES = ["dask-ml", "pyarrow"]
CHUNK = 5000  # rows of a chunk of an array in memory


def _fit(estimator: str, **given: Any) -> Callable[[Any, int], Found]:
    """Return the fit of an estimator; X is an array or already Dask's."""

    def fit(X: Any, k: int) -> Found:
        import dask
        import dask.array
        from dask_ml import decomposition

        workers = len(os.sched_getaffinity(0))
        with dask.config.set(scheduler="threads", num_workers=workers):
            if not isinstance(X, dask.array.Array):
                X = dask.array.from_array(X, chunks=(CHUNK, -1))
            model = getattr(decomposition, estimator)(k, **given).fit(X)
        return model.components_, model.explained_variance_

    return fit


def _from_file(fit: Callable[[Any, int], Found]) -> Callable[[Path, int], Found]:
    """Return a fit from a parquet file, one row group at a time."""

    def fit_file(path: Path, k: int) -> Found:
        import dask.dataframe

        frame = dask.dataframe.read_parquet(path, split_row_groups=True)
        return fit(frame.to_dask_array(lengths=True), k)

    return fit_file


SOLVERS = [
    Solver(name, fit, _from_file(fit))
    for name, fit in (
        ("dask-ml PCA tsqr", _fit("PCA", svd_solver="tsqr")),
        ("dask-ml PCA randomized", _fit("PCA", svd_solver="randomized", random_state=0)),
        ("dask-ml IncrementalPCA", _fit("IncrementalPCA")),
    )
]
