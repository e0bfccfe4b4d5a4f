"""TorchDR: PCA, IncrementalPCA and ExactIncrementalPCA on PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver, batches, in_memory

REQUIRES = [
    "torchdr",
    "torch==2.13.0",
    "matplotlib",
    "pyarrow",
]  # it imports matplotlib without requiring it
BATCH = 10_000  # rows


def _fit(estimator: str) -> Callable[[Any, int], Found]:
    """Return the fit of an estimator to an array."""

    def fit(X: Any, k: int) -> Found:
        import torch
        import torchdr

        model = getattr(torchdr, estimator)(n_components=k)
        model.fit(torch.from_numpy(X))
        return model.components_.numpy(), None

    return fit


def _by_batches(estimator: str) -> tuple[Callable[[Any, int], Found], ...]:
    """Return the fits of an estimator that learns batch by batch."""

    def learn(rows: Callable[[], Any], k: int) -> Found:
        import torch
        import torchdr

        model = getattr(torchdr, estimator)(n_components=k)
        if estimator.startswith("Exact"):  # it reads twice: the mean, then the covariance
            model.compute_mean(torch.from_numpy(X) for X in rows())
            model.fit(torch.from_numpy(X) for X in rows())
        else:
            for X in rows():
                model.partial_fit(torch.from_numpy(X))
        return model.components_.numpy(), None

    def fit(X: Any, k: int) -> Found:
        return learn(lambda: (X[i : i + BATCH] for i in range(0, len(X), BATCH)), k)

    def fit_file(path: Path, k: int) -> Found:
        return learn(lambda: batches(path, BATCH), k)

    return fit, fit_file


SOLVERS = [
    Solver("TorchDR PCA", _fit("PCA"), in_memory(_fit("PCA"))),
    Solver("TorchDR IncrementalPCA", *_by_batches("IncrementalPCA")),
    Solver("TorchDR ExactIncrementalPCA", *_by_batches("ExactIncrementalPCA")),
]
