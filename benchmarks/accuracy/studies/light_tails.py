"""Gaussian rows: nothing can be much better than batch PCA, so nothing may be much worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy.spectra import Spectrum, exponential, gapped, polynomial, spiked
from benchmarks.accuracy.study import Case, Limit, Study, excess
from onepass.sources.synthetic import Gaussian

SIZES = ((60, 2, 4000), (100, 5, 6000), (200, 10, 6000), (400, 20, 5000), (1000, 40, 4000))
WIDE = ((1500, 5, 5000), (2500, 10, 5000))  # beyond where the second moment is kept exactly
SPECTRA: tuple[Spectrum, ...] = (polynomial, exponential, spiked, gapped)


def gaussian(sizes: tuple[tuple[int, int, int], ...]) -> Callable[..., Iterator[Case]]:
    """Return the cases of four spectra in some sizes."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for d, k, n in sizes:
            for spectrum in SPECTRA:
                population = Gaussian(spectrum(d, k), rotation=None if sizes is WIDE else seed)
                X = population.sample(n, np.random.default_rng([seed, d]))
                yield Case(f"{spectrum.__name__} {d}, {k}", X, k, population)

    return cases


LIMITS = (Limit("gmean", 1.03), Limit("worst", 1.2))
STUDIES = [
    Study("light", "light tails, 20 cases", excess(gaussian(SIZES)), LIMITS),
    Study("wide", "light tails, 1500 and 2500 columns", excess(gaussian(WIDE)), LIMITS),
]
