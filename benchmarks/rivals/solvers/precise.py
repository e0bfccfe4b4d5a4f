"""precise's EmpiricalCovariance, which learns row by row, and the eigenvectors of what it finds."""

from __future__ import annotations

from typing import Any

from benchmarks.rivals.solver import Found, Solver, in_memory, leading

REQUIRES = ["precise", "scipy", "pyarrow"]


def _fit(X: Any, k: int) -> Found:
    from precise.empirical import EmpiricalCovariance

    return leading(EmpiricalCovariance().partial_fit(X).covariance_, k)


SOLVERS = [Solver("precise EmpiricalCovariance", _fit, in_memory(_fit))]
