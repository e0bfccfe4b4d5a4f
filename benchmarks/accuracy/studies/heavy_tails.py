"""Student-t rows: a few of them carry batch PCA away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.populations import IndependentT
from benchmarks.accuracy.spectra import gapped, polynomial, spiked
from benchmarks.accuracy.study import Case, Limit, Study, excess
from onepass.sources.synthetic import StudentT

SIZES = ((60, 3, 5000), (200, 8, 8000), (400, 5, 12_000))


def student(df: float) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of rows with one radius each."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for d, k, n in SIZES:
            for spectrum in (polynomial, spiked, gapped):
                population = StudentT(spectrum(d, k), df, rotation=seed)
                X = population.sample(n, np.random.default_rng([seed, d]))
                yield Case(f"{spectrum.__name__} {d}, {k}", X, k, population)

    return cases


def independent(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield rows whose coordinates are heavy-tailed each by itself."""
    for d, k, n in SIZES:
        population = IndependentT(polynomial(d, k), 4.0)
        X = population.sample(n, np.random.default_rng([seed, d]))
        yield Case(f"polynomial {d}, {k}", X, k, population)


WORST = Limit("worst", 1.05)
STUDIES = [
    Study("t3", "Student t3", excess(student(3.0)), (Limit("gmean", 0.2), WORST)),
    Study("t2.5", "Student t2.5", excess(student(2.5)), (Limit("gmean", 0.3), WORST)),
    Study("t4", "independent t4 coordinates", excess(independent), (WORST,)),
]
