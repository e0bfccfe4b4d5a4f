"""Student-t rows, of which a few carry batch PCA away, and rows that look like them but are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.rows import (
    gapped,
    independent_student,
    one_hot,
    power,
    rare_directions,
    spiked,
    student,
)
from benchmarks.accuracy.study import Case, Study, losses, spread, worst


def student_rows(df: float) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of rows with one radius each."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for d, k, n in ((50, 5, 4000), (300, 8, 8000)):
            spectra = {"i^-1": power(d, 1.0), "spikes": spiked(d, k, 5.0, 2.5), "gap": gapped(d, k)}
            for name, spectrum in spectra.items():
                rng = np.random.default_rng([seed, d, k, len(name)])
                yield Case(f"{name}, {n} x {d}", student(n, spectrum, df, rng), k, spectrum)

    return cases


def short_student_rows(n: int) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of few t3 rows."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        spectrum = power(50, 1.0)
        rows = student(n, spectrum, 3.0, np.random.default_rng([seed, n]))
        yield Case(f"i^-1, {n} x 50", rows, 5, spectrum)

    return cases


def independent(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield rows whose coordinates are heavy-tailed each by itself."""
    for d, k, n in ((50, 5, 4000), (300, 8, 8000)):
        spectrum = power(d, 1.0)
        rows = independent_student(n, spectrum, 4.0, np.random.default_rng([seed, d]))
        yield Case(f"i^-1, {n} x {d}", rows, k, spectrum)


def rare(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield directions that 5%, 1% and 0.2% of the rows have, alone or beside common ones."""
    strong = np.array([1.5, 1.2])
    for rate in (0.05, 0.01, 0.002):
        for d, k in ((60, 2), (60, 5), (400, 6)):
            spectrum = power(d - 2, 1.0)
            rng = np.random.default_rng([seed, d, k])
            rows = rare_directions(10_000, spectrum, strong, rate, rng)
            yield Case(
                f"{rate:.1%}, k={k}, 10000 x {d}", rows, k, np.concatenate([strong, spectrum])
            )


def orthogonal(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield one-hot rows with Zipf's frequencies, about the mean, several times each."""
    for d, k, n, exponent, times in (
        (32, 2, 5000, 1.1, 5),
        (32, 4, 5000, 1.1, 5),
        (500, 20, 3000, 1.0, 3),
    ):
        p = power(d, exponent)
        p /= p.sum()
        rng = np.random.default_rng([seed, d, k])
        for _ in range(times):
            yield Case(f"k={k}, {n} x {d}", one_hot(n, p, rng), k, np.diag(p) - np.outer(p, p))


STUDIES = [
    *(
        Study(
            f"t{df:g}",
            f"Student t{df:g}, 4,000 x 50 and 8,000 x 300",
            losses(student_rows(df)),
            spread(limit, 1.0),
            seeds=10,
        )
        for df, limit in ((2.5, 0.06), (3.0, 0.09), (5.0, 0.5))
    ),
    *(
        Study(
            f"t3-{n}",
            f"Student t3, {n:,} rows",
            losses(short_student_rows(n)),
            spread(limit, 1.0),
            seeds=40,
        )
        for n, limit in ((500, 0.5), (1000, 0.25), (2000, 0.15))
    ),
    Study("t4", "independent t4 coordinates", losses(independent), worst(1.05), seeds=10),
    Study("rare", "rare directions", losses(rare), worst(1.05), seeds=5),
    Study("one-hot", "one-hot rows, Zipf", losses(orthogonal), spread(1.02, 1.3), seeds=8),
]
