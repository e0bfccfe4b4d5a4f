"""Capped MSG as one would write it down: a row at a time, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.solver import Directions, Solver


def project(weights: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Clip weights to [0, 1], shifted so that they sum to at most k."""
    if weights.clip(0.0, 1.0).sum() <= k:
        return weights.clip(0.0, 1.0)
    # The sum is linear in the shift between the shifts at which a weight reaches 0 or 1.
    corners = np.sort(np.concatenate([-weights, 1.0 - weights]))
    sums = (weights + corners[:, None]).clip(0.0, 1.0).sum(axis=1)
    return (weights + np.interp(k, sums, corners)).clip(0.0, 1.0)


def naive(X: Any, k: int) -> Directions:
    """U (d x K), an eigenproblem of size K + 1 and a product with U for every row."""
    U, weights, energy = np.zeros((X.shape[1], 0)), np.zeros(0), 0.0
    for x in X:
        energy += float(x @ x) ** 2
        eta = np.sqrt(k / energy)
        inside = U.T @ x
        residual = x - U @ inside
        again = U.T @ residual
        inside, residual = inside + again, residual - U @ again
        size = np.sqrt(residual @ residual)
        z = np.append(inside, size)
        values, vectors = np.linalg.eigh(np.diag(np.append(weights, 0.0)) + eta * np.outer(z, z))
        U = np.column_stack([U, residual / (size or 1.0)]) @ vectors[:, -(k + 1) :]
        weights = project(values[-(k + 1) :], k)
    return U[:, -k:].T


SOLVERS = [Solver("naive", naive, at_least=200)]
