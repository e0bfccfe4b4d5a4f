"""Whether `explained_variance_` is what the components really have, on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import IncrementalPCA

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.rows import exponential, gapped, gaussian, power, spiked
from benchmarks.accuracy.study import OURS, Limit, Measure, Study
from benchmarks.dataset import folder_of
from onepass import PCA, CappedMSG, Grouse, Incremental, Oja

MODELS: dict[str, Callable[[int], Any]] = {
    OURS: PCA,
    "CappedMSG": CappedMSG,
    "Incremental": Incremental,
    "Oja": Oja,
    "Grouse": Grouse,
    "IncrementalPCA 100": lambda k: IncrementalPCA(k, batch_size=100),
}


def relative_errors(sizes: tuple[tuple[int, int, int], ...], *names: str) -> Measure:
    """Return the measure of the largest relative error of the variances of some models."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        for n, d, k in sizes:
            spectra = {
                "i^-1": power(d, 1.0),
                "exponential": exponential(d, k),
                "spikes": spiked(d, k, 5.0, 2.5),
                "gap": gapped(d, k),
            }
            for label, spectrum in spectra.items():
                rows = gaussian(n, spectrum, np.random.default_rng([seed, d, len(label)])) + 3.0
                for name in names:
                    yield name, f"{label}, {n} x {d}", relative_error(MODELS[name](k), rows)

    return measure


def word_counts(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield the errors on 20 newsgroups, in a random order."""
    with np.load(folder_of("20news", folder) / "20news_counts.npz") as arrays:
        parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
        rows = sparse.csr_array(parts, shape=tuple(arrays["shape"]))
    rows = rows[np.random.default_rng(seed).permutation(rows.shape[0])]
    for name in (OURS, "CappedMSG", "Oja"):
        yield name, "20 newsgroups k=5", relative_error(MODELS[name](5), rows)


def relative_error(model: Any, X: Any) -> float:
    """Return the relative error of the sum of explained_variance_, after learning X (n, d)."""
    model.fit(X)
    inner = X @ model.components_.T
    exact = (inner - inner.mean(axis=0)).var(axis=0, ddof=1)
    if not isinstance(model, PCA | IncrementalPCA):
        return float(abs(model.explained_variance_.sum() / exact.sum() - 1.0))
    return float(np.abs(model.explained_variance_ / exact - 1.0).max())


def _study(name: str, title: str, measure: Measure, limit: float) -> Study:
    """Return a study of a few runs."""
    what = f"explained_variance_, largest relative error, {title}"
    return Study(name, what, measure, (Limit("worst", limit),), seeds=3, over_batch=False)


SIZES = ((5000, 100, 5), (5000, 500, 10))
WIDE = ((5000, 3000, 10),)
STUDIES = [
    _study("variances", "up to 2048 columns", relative_errors(SIZES, *MODELS), 1e-8),
    _study("variances-wide", "3,000 columns", relative_errors(WIDE, OURS, "CappedMSG"), 0.03),
    _study("variances-sparse", "20 newsgroups", word_counts, 0.03),
]
