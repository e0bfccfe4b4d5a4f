"""`captured_`: how often its interval contains the share that the final model really captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.rows import Numbers, gaussian, power, spiked, student
from benchmarks.accuracy.study import OURS, Limit, Measure, Study
from onepass import PCA

SPECTRA = {"i^-1": power(50, 1.0), "weak spikes": spiked(100, 5, 2.0, 1.5), "t5": power(50, 1.0)}
ROWS: dict[str, Callable[[int, Numbers, np.random.Generator], Numbers]] = {
    "i^-1": gaussian,
    "weak spikes": gaussian,
    "t5": lambda n, spectrum, rng: student(n, spectrum, 5.0, rng),
}


def coverage(kind: str, n: int) -> Measure:
    """Return the measure of whether mean +- 1.96 standard errors contains the truth."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        spectrum = SPECTRA[kind]
        model = PCA(5).fit(ROWS[kind](n, spectrum, np.random.default_rng([seed, n, len(kind)])))
        truth = np.sum(model.components_**2 @ spectrum) / spectrum.sum()
        share, error = model.captured_.mean, model.captured_.standard_error
        yield OURS, "", float(abs(share - truth) <= 1.96 * error)
        yield "width of the interval", "", 2 * 1.96 * error

    return measure


STUDIES = [
    Study(
        f"captured-{kind.replace(' ', '-')}-{n}",
        f"`captured_`, {kind}, {n:,} rows: coverage",
        coverage(kind, n),
        (Limit("mean", 0.9, at_least=True), Limit("mean", 0.99)),
        seeds=300,
        over_batch=False,
    )
    for kind in SPECTRA
    for n in (600, 3000, 20_000)
]
