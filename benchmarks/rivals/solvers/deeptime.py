"""deeptime's Covariance, which learns block by block, and the eigenvectors of what it finds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver, batches, leading

REQUIRES = ["deeptime", "pyarrow"]
BATCH = 10_000  # rows


def _learned(blocks: Iterable[Any], k: int) -> Found:
    """Return the leading eigenvectors of the covariance of all blocks."""
    from deeptime.covariance import Covariance

    model = Covariance(compute_c0t=False, remove_data_mean=True, bessels_correction=True)
    for block in blocks:
        model.partial_fit(block)
    return leading(model.fetch_model().cov_00, k)


def _fit(X: Any, k: int) -> Found:
    return _learned((X[i : i + BATCH] for i in range(0, len(X), BATCH)), k)


def _fit_file(path: Path, k: int) -> Found:
    return _learned(batches(path, BATCH), k)


SOLVERS = [Solver("deeptime Covariance", _fit, _fit_file)]
