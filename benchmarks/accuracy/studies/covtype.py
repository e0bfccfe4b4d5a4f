"""Forest cover types in their natural order, which drifts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.study import Case, Limit, Study, covariance_of, excess
from benchmarks.dataset import folder_of
from onepass import metrics


def cases(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield a quarter of the rows, in order, judged on another quarter."""
    with np.load(folder_of("covtype", folder) / "covtype.npz") as arrays:
        rows = next(arrays[name] for name in arrays.files if arrays[name].ndim == 2)
    raw = rows.astype(np.float64)
    part = np.random.default_rng(seed).integers(4, size=len(raw))
    deviation = raw.std(axis=0)
    standard = (raw - raw.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    for name, X, ks in (("raw", raw, (2, 5)), ("standardised", standard, (2, 10))):
        population = metrics.from_dense(covariance_of(X[part == 1]))
        for k in ks:
            yield Case(f"{name} k={k}", X[part == 0], k, population)


TITLE = "covtype in natural order"
STUDIES = [Study("covtype", TITLE, excess(cases), (Limit("worst", 1.15),))]
