"""Generated rows, whose distribution is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.study import EXACT, Case, Cases, Study, Values, excess, promise
from benchmarks.losses import Numbers, loss
from benchmarks.rows import (
    contaminated,
    exponential,
    gapped,
    gaussian,
    independent_student,
    power,
    rare_directions,
    spiked,
    student,
    two_groups,
)
from onepass import PCA, merge

# Rows, directions, and the variances of the columns.
GAUSSIAN: dict[str, tuple[int, int, Numbers]] = {
    "i^-1, 500 x 50": (500, 5, power(50, 1.0)),
    "i^-1, 4000 x 100": (4000, 8, power(100, 1.0)),
    "i^-0.5, 3000 x 200": (3000, 10, power(200, 0.5)),
    "exponential, 2000 x 60": (2000, 2, exponential(60, 2)),
    "exponential, 6000 x 200": (6000, 10, exponential(200, 10)),
    "spikes 1.5, 3000 x 300": (3000, 20, spiked(300, 20, 1.5, 1.5)),
    "spikes 2 to 1.5, 6000 x 300": (6000, 20, spiked(300, 20, 2.0, 1.5)),
    "gapped, 4000 x 400": (4000, 20, gapped(400, 20)),
    "spikes 2.5, 3000 x 1500": (3000, 5, spiked(1500, 5, 2.5, 2.5)),
    "i^-0.5, 2500 x 2000": (2500, 10, power(2000, 0.5)),
}
SIZES = ((50, 5, 4000), (300, 8, 8000))  # columns, directions, rows of heavy tails
OUTLIERS = [(rate, size) for rate in (0.01, 0.001) for size in (5.0, 30.0, 300.0)]
OUTLIERS += [(0.0, 1000.0)]  # a single row
CONTAMINATED = {
    "i^-1, 8000 x 50": (8000, 5, power(50, 1.0)),
    "0.8^i, 4000 x 100": (4000, 4, 0.8 ** np.arange(100) + 0.01),
}


def gaussian_rows(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield normal rows."""
    for number, (label, (n, k, spectrum)) in enumerate(GAUSSIAN.items()):
        yield Case(label, gaussian(n, spectrum, np.random.default_rng([seed, number])), k, spectrum)


def student_rows(df: float) -> Cases:
    """Return rows with one radius each, of which a few carry batch PCA away."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for d, k, n in SIZES:
            spectra = {"i^-1": power(d, 1.0), "spikes": spiked(d, k, 5.0, 2.5), "gap": gapped(d, k)}
            for name, spectrum in spectra.items():
                rng = np.random.default_rng([seed, d, k, len(name)])
                yield Case(f"{name}, {n} x {d}", student(n, spectrum, df, rng), k, spectrum)

    return cases


def few_student_rows(n: int) -> Cases:
    """Return few t3 rows."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        spectrum = power(50, 1.0)
        rows = student(n, spectrum, 3.0, np.random.default_rng([seed, n]))
        yield Case(f"i^-1, {n} x 50", rows, 5, spectrum)

    return cases


def independent(df: float) -> Cases:
    """Return rows whose coordinates are heavy-tailed each by itself."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for d, k, n in SIZES:
            spectrum = power(d, 1.0)
            rows = independent_student(n, spectrum, df, np.random.default_rng([seed, d]))
            yield Case(f"i^-1, {n} x {d}", rows, k, spectrum)

    return cases


def rare(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield directions that 5%, 1% and 0.2% of the rows have, alone or beside common ones."""
    strong = np.array([1.5, 1.2])
    for rate in (0.05, 0.01, 0.002):
        for d, k in ((60, 2), (60, 5), (400, 6)):
            spectrum = power(d - 2, 1.0)
            rows = rare_directions(
                10_000, spectrum, strong, rate, np.random.default_rng([seed, d, k])
            )
            variances = np.concatenate([strong, spectrum])
            yield Case(f"{rate:.1%}, k={k}, 10000 x {d}", rows, k, variances)


def mixtures(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield a half, a tenth or a fiftieth of the rows with other directions, 4 or 25 times."""
    for share in (0.5, 0.1, 0.02):
        for size in (4.0, 25.0):
            rng = np.random.default_rng([seed, int(100 * share), int(size)])
            rows, covariance = two_groups(6000, power(40, 1.0), share, size, rng)
            yield Case(f"{share:.0%} x{size:g}, 6000 x 40", rows, 4, covariance)


def share_lost(first: float, last: float) -> Values:
    """Return the share of the optimum lost to outliers between two shares of the stream."""

    def values(seed: int, folder: Path | None) -> Iterator[tuple[str, float]]:
        for number, (shape, (n, k, spectrum)) in enumerate(CONTAMINATED.items()):
            for rate, size in OUTLIERS:
                rng = np.random.default_rng([seed, number, int(1e4 * rate), int(size)])
                count = max(round(rate * n), 1)
                rows = contaminated(n, spectrum, count, size, (first, last), rng)
                lost = loss(PCA(k, robust=True).fit(rows).components_, spectrum, k)
                kind = f"{rate:.1%}" if rate else "one row"
                yield f"{kind} x{size:g}, {shape}", lost / spectrum[:k].sum()

    return values


def merged(seed: int, folder: Path | None) -> Iterator[tuple[str, float]]:
    """Yield the loss of models of parts of the rows, merged, over that of one pass."""
    for d, k, n in ((100, 5, 16_384), (400, 10, 16_384), (6000, 5, 8192)):
        spectra = {"i^-1": power(d, 1.0), "spikes": spiked(d, k, 5.0, 2.5), "gap": gapped(d, k)}
        if d == 6000:  # beyond the exact matrix, where weak signals are the hard case
            spectra = {"spikes": spectra["spikes"]}
        for name, spectrum in spectra.items():
            for kind in ("Gaussian", "t3") if d < 6000 else ("Gaussian",):
                rng = np.random.default_rng([seed, d, len(name), len(kind)])
                rows = gaussian(n, spectrum, rng)
                if kind == "t3":
                    rows = student(n, spectrum, 3.0, rng)
                robust = kind == "t3"
                once = loss(PCA(k, robust=robust).fit(rows).components_, spectrum, k)
                for parts in (2, 8, 64):
                    split = np.array_split(rows, parts)
                    model = merge(*(PCA(k, robust=robust).fit(part) for part in split))
                    label = f"{kind} {name}, {n} x {d}, {parts} parts"
                    yield label, loss(model.components_, spectrum, k) / once


STUDIES = [
    Study(
        "gaussian",
        "Gaussian, ten spectra and sizes up to 2,000 columns",
        excess(gaussian_rows),
        8,
        promise(EXACT, EXACT),
    ),
    Study("merge", "merge of 2, 8, 64 parts, over one pass", merged, 2, promise(1.02, 1.1)),
    *(
        Study(
            f"t{df:g}",
            f"Student t{df:g}, 4,000 x 50 and 8,000 x 300, `robust=True`",
            excess(student_rows(df), robust=True),
            10,
            promise(limit),
        )
        for df, limit in ((2.5, 0.06), (3.0, 0.09), (5.0, 0.55))
    ),
    *(
        Study(
            f"t3-{n}",
            f"Student t3, {n:,} rows, `robust=True`",
            excess(few_student_rows(n), robust=True),
            40,
            promise(limit),
        )
        for n, limit in ((500, 0.35), (1000, 0.25), (2000, 0.15))
    ),
    Study(
        "outliers",
        "outliers x5 to x300, one row x1000, `robust=True`: share lost in 95% of the runs",
        share_lost(0.0, 0.8),
        20,
        {"in 95%": 0.005},
    ),
    Study(
        "outliers-late",
        "the same, only in the last fifth of the stream",
        share_lost(0.8, 1.0),
        20,
        {"in 95%": 0.005},
    ),
    # Where long rows are the signal, or columns are heavy-tailed each by itself.
    *(
        Study(name, f"{title}, `robust=True`", excess(cases, robust=True), seeds, promise())
        for name, title, cases, seeds in (
            ("rare", "rare directions", rare, 5),
            ("t3-columns", "independent t3 columns", independent(3.0), 10),
            ("mixtures", "mixtures of two groups", mixtures, 5),
        )
    ),
]
