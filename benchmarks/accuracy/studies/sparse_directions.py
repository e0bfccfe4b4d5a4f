"""Rows that show a direction seldom: one-hot rows, and directions that few rows have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.populations import RareDirections
from benchmarks.accuracy.spectra import polynomial
from benchmarks.accuracy.study import Case, Limit, Study, excess
from onepass import metrics
from onepass.sources.synthetic import Orthogonal


def orthogonal(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield the paper's distribution and its later variant, about the mean, ten times each."""
    for signed in (False, True):
        for k in (1, 2, 4):
            source = Orthogonal(32, 1.1, signed=signed)
            p = source.probabilities
            covariance = np.diag(p) - (0.0 if signed else np.outer(p, p))
            population = metrics.from_dense(covariance)
            label = f"{'signed ' if signed else ''}k={k}"
            rng = np.random.default_rng([seed, k])
            for _ in range(10):
                yield Case(label, source.sample(5000, rng), k, population)


def rare(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield directions that 1% and 0.2% of the rows have."""
    for rate in (0.01, 0.002):
        for d, k in ((60, 3), (400, 6)):
            population = RareDirections(polynomial(d - 2, k), np.array([1.5, 1.2]), rate)
            X = population.sample(10_000, np.random.default_rng([seed, d]))
            yield Case(f"{rate:.1%} {d}, {k}", X, k, population)


STUDIES = [
    Study(
        "orthogonal",
        "orthogonal one-hot rows",
        excess(orthogonal),
        (Limit("gmean", 1.2), Limit("worst", 2.0)),
    ),
    Study("rare", "rare directions", excess(rare), (Limit("worst", 1.05),)),
]
