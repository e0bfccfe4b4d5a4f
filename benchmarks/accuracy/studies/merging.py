"""Models of 2, 8 and 64 parts of the rows, merged, against one pass over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.method import Method
from benchmarks.accuracy.spectra import gapped, polynomial, spiked
from benchmarks.accuracy.study import Limit, Study
from onepass import PCA, merge, metrics
from onepass.sources.synthetic import Gaussian, StudentT

PARTS = (2, 8, 64)


def ratios(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield the suboptimality of the merged model over that of one pass."""
    for d, k in ((100, 5), (400, 10)):
        for spectrum in (polynomial, spiked, gapped):
            for population in (Gaussian(spectrum(d, k)), StudentT(spectrum(d, k), 3.0)):
                X = population.sample(64 * 256, np.random.default_rng([seed, d]))
                once = metrics.suboptimality(PCA(k).fit(X).components_, population)
                for parts in PARTS:
                    merged = merge(*(PCA(k).fit(part) for part in np.array_split(X, parts)))
                    label = f"{type(population).__name__} {spectrum.__name__} {d}, {parts} parts"
                    lost = metrics.suboptimality(merged.components_, population)
                    yield "PCA", label, lost / once


TITLE = "merge of 2, 8, 64 parts against one pass"
STUDIES = [Study("merge", TITLE, ratios, (Limit("worst", 1.1),))]
