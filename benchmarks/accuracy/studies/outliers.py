"""Gross outliers in all directions: what is lost, and how well single components are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.methods import Method
from benchmarks.accuracy.rows import Numbers, gaussian, power
from benchmarks.accuracy.study import Limit, Measure, Study, loss

KINDS = [(rate, size) for rate in (0.01, 0.001) for size in (5.0, 30.0, 300.0)] + [(0.0, 1000.0)]
SIZES = {
    "i^-1, 8000 x 50": (8000, 5, power(50, 1.0)),
    "0.8^i, 4000 x 100": (4000, 4, 0.8 ** np.arange(100) + 0.01),
}


def contaminated(
    seed: int, first: float, last: float
) -> Iterator[tuple[str, Numbers, int, Numbers]]:
    """Yield label, rows, k and variances; outliers come between two shares of the stream."""
    for number, (shape, (n, k, spectrum)) in enumerate(SIZES.items()):
        for rate, size in KINDS:
            rng = np.random.default_rng([seed, number, int(1e4 * rate), int(size)])
            rows = gaussian(n, spectrum, rng)
            start, stop = int(first * n), int(last * n)
            count = max(round(rate * n), 1)
            bad = start + rng.choice(stop - start, size=count, replace=False)
            length = size * np.sqrt(spectrum.sum())
            directions = rng.normal(size=(count, len(spectrum)))
            directions /= np.linalg.norm(directions, axis=1)[:, None]
            rows[bad] = length * directions
            kind = f"{rate:.1%}" if rate else "one row"
            yield f"{kind} x{size:g}, {shape}", rows, k, spectrum


def share_lost(first: float, last: float) -> Measure:
    """Return the measure of the share of the optimum that is lost."""

    def measure(
        methods: list[Method], seed: int, folder: Path | None
    ) -> Iterator[tuple[str, str, float]]:
        for label, rows, k, spectrum in contaminated(seed, first, last):
            for method in methods:
                lost = loss(method.fit(rows, k), spectrum, k)
                yield method.name, label, lost / spectrum[:k].sum()

    return measure


def cosines(
    methods: list[Method], seed: int, folder: Path | None
) -> Iterator[tuple[str, str, float]]:
    """Yield the smallest |cosine| of a component with its own axis."""
    for label, rows, k, _ in contaminated(seed, 0.0, 0.8):
        for method in methods:
            found = np.abs(np.diagonal(method.fit(rows, k)))
            yield method.name, label, float(found.min())


def _study(name: str, title: str, measure: Measure, *limits: Limit) -> Study:
    """Return a study of twenty runs of all kinds of outliers."""
    return Study(name, title, measure, limits, seeds=20, over_batch=False)


STUDIES = [
    _study(
        "outliers",
        "0.1% and 1% outliers x5 to x300, one row x1000, in the first four fifths: share lost",
        share_lost(0.0, 0.8),
        Limit("worst in 95%", 0.03),
    ),
    _study(
        "outliers-cosines",
        "the same: smallest cosine of a component with its own",
        cosines,
        Limit("least in 95%", 0.97, at_least=True),
    ),
    _study(
        "outliers-late",
        "the same in the last fifth: share lost (nothing is promised)",
        share_lost(0.8, 1.0),
        Limit("worst in 95%", np.inf),
    ),
]
