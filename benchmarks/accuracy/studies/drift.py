"""A subspace that turns: what is captured of the next 1000 rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA

from benchmarks.accuracy.method import Method
from benchmarks.accuracy.study import Limit, Study
from onepass import PCA

D, K, ROWS, AHEAD, TURN = 60, 3, 30_000, 1000, 20_000
HALF_LIFE = 1000


def turning_rows(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows (n, d) of variance 10 in k directions over 1, and their signals (n, d).

    Each direction turns in a plane of its own, once around in 20,000 rows.
    """
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(D, 2 * K)))[0].T
    angle = 2 * np.pi * np.arange(ROWS)[:, None] / TURN
    strength = 3.0 * rng.normal(size=(ROWS, K))
    signal = (strength * np.cos(angle)) @ axes[:K] + (strength * np.sin(angle)) @ axes[K:]
    return signal + rng.normal(size=(ROWS, D)), signal


def curves(seed: int) -> dict[str, NDArray[np.float64]]:
    """Return, every 1000 rows, the share of the next 1000 rows that is captured.

    It is a share of what the k best directions for just these rows capture.
    """
    X, _ = turning_rows(seed)
    models = {
        "PCA": PCA(K, half_life=HALF_LIFE),
        "PCA without forgetting": PCA(K),
        "IncrementalPCA": IncrementalPCA(K),
    }
    shares: dict[str, list[float]] = {name: [] for name in models}
    for start in range(0, ROWS - AHEAD, AHEAD):
        ahead = X[start + AHEAD : start + 2 * AHEAD]
        best = np.linalg.eigvalsh(ahead.T @ ahead)[-K:].sum()
        for name, model in models.items():
            for block in np.array_split(X[start : start + AHEAD], 10):
                model.partial_fit(block)
            shares[name].append(float(np.sum((ahead @ model.components_.T) ** 2) / best))
    return {name: np.array(values) for name, values in shares.items()}


def captured(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield the mean share of each model."""
    for name, shares in curves(seed).items():
        yield name, "", float(shares.mean())


TITLE = f"drift: share of the next 1000 rows captured, half_life={HALF_LIFE}"
STUDIES = [Study("drift", TITLE, captured, (Limit("mean", 0.9, at_least=True),))]
