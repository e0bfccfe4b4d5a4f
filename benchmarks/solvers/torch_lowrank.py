"""PyTorch's pca_lowrank: randomized PCA in memory."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.solver import Directions, Solver


def as_tensor(X: Any, k: int) -> Any:
    """Return the rows as a tensor that shares their memory."""
    return torch.from_numpy(X)


def lowrank(X: Any, k: int) -> Directions:
    """Its defaults, on rows that are centred already."""
    torch.manual_seed(0)
    return torch.pca_lowrank(X, q=k, center=False)[2].numpy().T


SOLVERS = [Solver("torch-lowrank", lowrank, as_tensor, streams=False)]
