"""Wide dense rows: what is lost against exact PCA, and where only a sketch is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from benchmarks.floor.target import Effort, Target
from benchmarks.losses import leading, loss
from benchmarks.rows import Numbers, gaussian, power, spiked
from onepass import PCA

SPIKES = 5
BLOCK = 1000  # rows that are drawn at once


def lost(d: int) -> Callable[[Effort], float]:
    """Return the measure of the share of exact PCA's variance that is lost."""

    def measure(effort: Effort) -> float:
        X = gaussian(effort.rows(10_000), power(d, 1.0), np.random.default_rng(effort.seed))
        centred = X - X.mean(axis=0)
        exact = leading(centred, 10)
        ours = PCA(10).fit(X).components_
        captured = [np.sum((centred @ directions.T) ** 2) for directions in (ours, exact)]
        return max(float(1.0 - captured[0] / captured[1]), 0.0)

    return measure


def excess(n: int, d: int) -> Callable[[Effort], float]:
    """Return the measure of the excess over batch PCA on weak spikes, on the population."""

    def measure(effort: Effort) -> float:
        rng = np.random.default_rng([effort.seed, n, d])
        spectrum = spiked(d, SPIKES, 2.5, 2.5)
        rows = np.empty((effort.rows(n), d), np.float32)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            part[:] = gaussian(len(part), spectrum, rng)
        ours = loss(PCA(SPIKES).fit(rows).components_, spectrum, SPIKES)
        return ours / loss(batch_of_float32(rows, SPIKES), spectrum, SPIKES)

    return measure


def batch_of_float32(X: np.ndarray, k: int) -> Numbers:
    """Return the k leading directions of rows about zero without their d x d second moment."""
    d = X.shape[1]
    moment = LinearOperator((d, d), matvec=lambda v: X.T @ (X @ v.astype(np.float32)), dtype="f4")
    start = np.zeros(d, np.float32)
    start[:k] = 1.0
    vectors = eigsh(moment, k, v0=start, tol=1e-5)[1]
    return np.linalg.qr(vectors.astype(np.float64))[0].T


TARGETS = [
    *(
        Target(f"lost-{d}", f"lost, 10,000 x {d:,}, k = 10", lost(d), 1e-6, "share")
        for d in (3072, 4096)
    ),
    *(
        Target(
            f"spikes-{n}x{d}",
            f"excess over batch PCA, five weak spikes, {n:,} x {d:,}",
            excess(n, d),
            None,
        )
        for d in (5000, 10_000)
        for n in (20_000, 40_000)
    ),
]
