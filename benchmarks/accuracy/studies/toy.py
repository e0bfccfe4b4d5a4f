"""The paper's toy: how often the better of two directions is missed, in 200 runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.method import Method
from benchmarks.accuracy.study import Limit, Study
from onepass import ERM, PCA, CappedMSG, Incremental, metrics
from onepass.sources.synthetic import Toy

# About zero, as in the paper: about the mean two points have one direction only.
MODELS = {
    "PCA": lambda: PCA(1, center=False),
    "batch": lambda: ERM(1, center=False),
    "capped-msg average": lambda: CappedMSG(1, batch_size=32, average=True, center=False),
    "the paper's incremental": lambda: Incremental(1, center=False),
}


def failures(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield 1 for every run of 2000 rows that ends at the wrong direction."""
    for run in range(200):
        X = Toy().sample(2000, np.random.default_rng([seed, run]))
        for name, model in MODELS.items():
            lost = metrics.suboptimality(model().fit(X).components_, Toy())
            yield name, str(run), float(lost > 1 / 6)


TITLE = "the paper's toy, failures in 200 runs"
STUDIES = [Study("toy", TITLE, failures, (Limit("sum", 0),), one_seed=True)]
