"""Whether `explained_variance_` is what the components really have, on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks.accuracy.method import Method
from benchmarks.accuracy.spectra import Spectrum, exponential, gapped, polynomial, spiked
from benchmarks.accuracy.study import Limit, Measure, Study
from onepass import PCA, CappedMSG
from onepass.sources.synthetic import Gaussian, StudentT

MODELS: dict[str, Callable[[int], Any]] = {
    "PCA": PCA,
    "capped-msg average": lambda k: CappedMSG(
        k, batch_size=max(32, 2 * k), average=True, center=True
    ),
    "IncrementalPCA": lambda k: IncrementalPCA(k, batch_size=100),
}


def relative_errors(spectra: tuple[Spectrum, ...]) -> Measure:
    """Return the measure of the largest relative error of the variances of a model."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        for d, k in ((100, 5), (500, 10)):
            for spectrum in spectra:
                for population in (Gaussian(spectrum(d, k)), StudentT(spectrum(d, k), 3.0)):
                    X = population.sample(5000, np.random.default_rng([seed, d])) + 3.0
                    label = f"{type(population).__name__} {spectrum.__name__} {d}, {k}"
                    for name, make in MODELS.items():
                        yield name, label, _relative_error(make(k), X)

    return measure


def _relative_error(model: Any, X: np.ndarray) -> float:
    """Return the largest relative error of explained_variance_ after learning X (n, d)."""
    model.fit(X)
    exact = ((X - X.mean(axis=0)) @ model.components_.T).var(axis=0, ddof=1)
    return float(np.abs(model.explained_variance_ / exact - 1.0).max())


TITLE = "explained_variance_, largest relative error"
ELSEWHERE = (polynomial, exponential, spiked)
STUDIES = [
    Study("variances", f"{TITLE}, gapped", relative_errors((gapped,)), (Limit("worst", 0.01),)),
    Study("variances-else", f"{TITLE}, else", relative_errors(ELSEWHERE), (Limit("worst", 0.05),)),
]
