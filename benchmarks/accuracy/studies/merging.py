"""Models of 2, 8 and 64 parts of the rows, merged, against one pass over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.rows import gapped, gaussian, power, spiked, student
from benchmarks.accuracy.study import OURS, Limit, Study, loss
from onepass import PCA, merge

PARTS = (2, 8, 64)


def ratios(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield the loss of the merged model over that of one pass."""
    for d, k, n in ((100, 5, 16_384), (400, 10, 16_384), (2500, 5, 8192)):
        spectra = {"i^-1": power(d, 1.0), "spikes": spiked(d, k, 5.0, 2.5), "gap": gapped(d, k)}
        for name, spectrum in spectra.items():
            for kind in ("Gaussian", "t3") if d < 2048 else ("Gaussian",):
                rng = np.random.default_rng([seed, d, len(name), len(kind)])
                rows = (
                    gaussian(n, spectrum, rng)
                    if kind == "Gaussian"
                    else student(n, spectrum, 3.0, rng)
                )
                once = loss(PCA(k).fit(rows).components_, spectrum, k)
                for parts in PARTS:
                    merged = merge(*(PCA(k).fit(part) for part in np.array_split(rows, parts)))
                    label = f"{kind} {name}, {n} x {d}, {parts} parts"
                    yield OURS, label, loss(merged.components_, spectrum, k) / once


TITLE = "merge of 2, 8, 64 parts, over one pass"
STUDIES = [Study("merge", TITLE, ratios, (Limit("worst", 1.1),), seeds=4, over_batch=False)]
