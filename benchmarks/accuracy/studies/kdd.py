"""Network connections as they are: the energy of a million rows in a few."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.study import Case, Limit, Study, covariance_of, excess
from benchmarks.dataset import folder_of
from onepass import metrics

WORDS = (1, 2, 3, 41)  # columns that are no numbers


def cases(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield half of the rows, in order, judged on the other half."""
    path = folder_of("kdd99", folder) / "kddcup.data_10_percent.gz"
    numbers = [column for column in range(42) if column not in WORDS]
    from pandas import read_csv

    X = read_csv(path, header=None, usecols=numbers).to_numpy(np.float64)
    learned = np.random.default_rng(seed).random(len(X)) < 0.5
    population = metrics.from_dense(covariance_of(X[~learned]))
    for k in (1, 3, 8):
        yield Case(f"k={k}", X[learned], k, population)


STUDIES = [Study("kdd", "KDD raw", excess(cases), (Limit("worst", 1.05),))]
