"""Gaussian rows: nothing can be much better than batch PCA, so nothing may be much worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.rows import Numbers, exponential, gapped, gaussian, power, spiked
from benchmarks.accuracy.study import Case, Study, losses, spread

# Rows, directions, and the variances of the columns.
Sizes = dict[str, tuple[int, int, Numbers]]

NARROW: Sizes = {
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
WIDE_SPIKES: Sizes = {
    "spikes 2.5, 5000 x 2500": (5000, 5, spiked(2500, 5, 2.5, 2.5)),
    "spikes 2.5, 20000 x 2500": (20_000, 5, spiked(2500, 5, 2.5, 2.5)),
    "spikes 2.5, 50000 x 2500": (50_000, 5, spiked(2500, 5, 2.5, 2.5)),
    "ten spikes, 20000 x 3000": (20_000, 10, spiked(3000, 10, 5.0, 1.7)),
    "ten spikes, 10000 x 5000": (10_000, 10, spiked(5000, 10, 5.0, 1.7)),
    "spikes 2.5, 2000 x 8000": (2000, 5, spiked(8000, 5, 2.5, 2.5)),
    "ten spikes, 8000 x 8000": (8000, 10, spiked(8000, 10, 5.0, 1.7)),
}
WIDE_SMOOTH: Sizes = {
    "i^-0.5, 10000 x 2500": (10_000, 10, power(2500, 0.5)),
    "i^-1, 5000 x 5000": (5000, 10, power(5000, 1.0)),
    "exponential, 5000 x 3000": (5000, 10, exponential(3000, 10)),
    "i^-0.5, 2000 x 8000": (2000, 10, power(8000, 0.5)),
}


def cases_of(sizes: Sizes) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of some sizes."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for number, (label, (n, k, spectrum)) in enumerate(sizes.items()):
            rows = gaussian(n, spectrum, np.random.default_rng([seed, number]))
            yield Case(label, rows, k, spectrum)

    return cases


STUDIES = [
    Study(
        "gaussian",
        "Gaussian, ten spectra and sizes up to 2048 columns",
        losses(cases_of(NARROW)),
        spread(1.0005, 1.02),
        seeds=20,
    ),
    Study(
        "wide-spikes",
        "spikes over noise, 2,500 to 8,000 columns",
        losses(cases_of(WIDE_SPIKES)),
        spread(1.15, 1.25),
        seeds=2,
    ),
    Study(
        "wide-smooth",
        "i^-0.5, i^-1, exponential, 2,500 to 8,000 columns",
        losses(cases_of(WIDE_SMOOTH)),
        spread(1.02, 1.05),
        seeds=2,
    ),
]
