"""Drift: seen where there is some, not seen where there is none, and followed with a half-life."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.rows import gaussian, power, student
from benchmarks.accuracy.study import OURS, Limit, Study
from onepass import PCA
from onepass.learning.choice import DRIFTING

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
        OURS: PCA(K, half_life=HALF_LIFE),
        "PCA without forgetting": PCA(K),
        "IncrementalPCA 100": IncrementalPCA(K),
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


def followed(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield what each model loses, over what the best of those loses that cannot forget."""
    lost = {name: float(1.0 - shares.mean()) for name, shares in curves(seed).items()}
    least = min(value for name, value in lost.items() if name != OURS)
    for name, value in lost.items():
        yield name, "", value / least


def mistaken(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield 1 for every stream of independent rows in which drift is seen."""
    n, spectrum = 6000, power(40, 1.0)
    for kind in ("Gaussian", "0.1% outliers", "t3", "t1.5"):
        rng = np.random.default_rng([seed, len(kind)])
        rows = (
            student(n, spectrum, float(kind[1:]), rng)
            if kind[0] == "t"
            else gaussian(n, spectrum, rng)
        )
        if kind == "0.1% outliers":
            rows[rng.choice(n, size=n // 1000, replace=False)] *= 300.0
        yield OURS, kind, float(PCA(5).fit(rows).chosen_.drift > DRIFTING)


STUDIES = [
    Study(
        "drift",
        f"a subspace that turns, half_life={HALF_LIFE}: lost over the best that cannot forget",
        followed,
        (Limit("mean", 0.5),),
        seeds=2,
        over_batch=False,
    ),
    Study(
        "drift-mistaken",
        "drift seen in streams of independent rows",
        mistaken,
        (Limit("sum", 0),),
        seeds=50,
        over_batch=False,
    ),
]
