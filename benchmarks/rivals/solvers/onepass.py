"""onepass itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver

REQUIRES: list[str] = []


def _fit(estimator: str) -> Callable[[Any, int], Found]:
    """Return the fit of an estimator."""

    def fit(X: Any, k: int) -> Found:
        import onepass

        model = getattr(onepass, estimator)(k).fit(X)
        return model.components_, model.explained_variance_

    return fit


def _from_file(fit: Callable[[Any, int], Found]) -> Callable[[Path, int], Found]:
    """Return a fit that streams a file."""

    def fit_file(path: Path, k: int) -> Found:
        from onepass import open_source

        return fit(open_source(path), k)

    return fit_file


SOLVERS = [
    Solver(name, fit, _from_file(fit), sparse=True)
    for name, fit in (
        ("onepass PCA", _fit("PCA")),
        ("onepass IncrementalPCA", _fit("IncrementalPCA")),
        ("onepass CappedMSG", _fit("CappedMSG")),
    )
]
