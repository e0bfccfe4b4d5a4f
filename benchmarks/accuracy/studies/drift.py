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
HALF_LIFE = TURN // 64  # rows in which the directions turn by 6 degrees


def turning_rows(seed: int) -> NDArray[np.float64]:
    """Return rows (n, d) of variance 10 in k directions and of variance 1 in all others.

    Each direction turns in a plane of its own, once around in 20,000 rows.
    """
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(D, 2 * K)))[0].T
    angle = 2 * np.pi * np.arange(ROWS)[:, None] / TURN
    strength = 3.0 * rng.normal(size=(ROWS, K))
    signal = (strength * np.cos(angle)) @ axes[:K] + (strength * np.sin(angle)) @ axes[K:]
    return signal + rng.normal(size=(ROWS, D))


def curves(seed: int) -> dict[str, NDArray[np.float64]]:
    """Return, every 1000 rows, the share of the next 1000 rows that is captured.

    It is a share of what the k best directions for just these rows capture.
    """
    X = turning_rows(seed)
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


def losses(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield what each model loses, over what the best of those loses that cannot forget."""
    lost = {name: float(1.0 - shares.mean()) for name, shares in curves(seed).items()}
    least = min(value for name, value in lost.items() if name != "PCA")
    for name, value in lost.items():
        yield name, "", value / least


TITLE = f"drift: lost of the next 1000 rows, half_life={HALF_LIFE}, over the best without one"
STUDIES = [Study("drift", TITLE, losses, (Limit("mean", 0.5),))]
