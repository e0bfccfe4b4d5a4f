"""Gaussian rows of any size, with decaying variances over a floor of noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.dataset import Dataset, Problem, Size
from onepass.sources.synthetic import Gaussian

ENTRIES = 2 * 10**7  # of the array of rows, unless their number is asked for


def rows_for(columns: int) -> int:
    """Return how many rows of so many columns are timed."""
    return int(np.clip(ENTRIES // columns, 600, 20_000))


def load(size: Size, folder: Path | None) -> Problem:
    """Return rows with half of their variance in 3k directions, and half in noise everywhere."""
    d, k = size.columns, size.k
    assert d is not None
    spectrum = 1.0 / np.arange(1, min(d, 3 * k) + 1)
    population = Gaussian(spectrum, d=d, noise=spectrum.sum() / d, rotation=0)
    X = population.sample(size.rows or rows_for(d), np.random.default_rng(1))
    return Problem("synthetic", X, k, population)


DATASETS = [
    Dataset("synthetic", load, (Size(8, 784), Size(40, 784), Size(10, 10_000))),
]
