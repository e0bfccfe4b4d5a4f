"""The paper's toy: how often the better of two directions is missed, in 200 runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.study import BATCH, OURS, Limit, Study
from onepass import ERM, PCA, CappedMSG, Incremental, metrics
from onepass.sources.synthetic import Toy

# About zero, as in the paper: about the mean two points have one direction only.
MODELS = {
    OURS: lambda: PCA(1, center=False),
    BATCH: lambda: ERM(1, center=False),
    "CappedMSG": lambda: CappedMSG(1, batch_size=32, average=True, center=False),
    "the paper's incremental": lambda: Incremental(1, center=False),
}


def failures(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield 1 for a run of 2000 rows that ends at the wrong direction."""
    X = Toy().sample(2000, np.random.default_rng(seed))
    for name, model in MODELS.items():
        lost = metrics.suboptimality(model().fit(X).components_, Toy())
        yield name, "", float(lost > 1 / 6)


TITLE = "the paper's toy, failures in 200 runs"
STUDIES = [Study("toy", TITLE, failures, (Limit("sum", 0),), seeds=200, over_batch=False)]
