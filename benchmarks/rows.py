"""Spectra of d variances, largest first, and rows (n, d) that have them along their columns.

No method tells the columns from any other directions, so rows need not be rotated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def power(d: int, exponent: float) -> Numbers:
    """Return i^-exponent."""
    return np.arange(1, d + 1, dtype=np.float64) ** -exponent


def exponential(d: int, k: int) -> Numbers:
    """Return variances that are halved every k/2 directions, over a little noise."""
    return 2.0 ** (-2.0 * np.arange(d) / k) + 1e-3


def spiked(d: int, k: int, first: float, last: float) -> Numbers:
    """Return variances from `first` to `last` in k directions, over ones."""
    return np.concatenate([np.linspace(first, last, k), np.ones(d - k)])


def gapped(d: int, k: int) -> Numbers:
    """Return in k directions variances ten times those that follow, which decay."""
    rest = 0.1 / np.sqrt(np.arange(1, d - k + 1))
    return np.concatenate([np.linspace(2.0, 1.0, k), rest])


def gaussian(n: int, spectrum: Numbers, rng: np.random.Generator) -> Numbers:
    """Return normal rows."""
    return rng.normal(size=(n, len(spectrum))) * np.sqrt(spectrum)


def student(n: int, spectrum: Numbers, df: float, rng: np.random.Generator) -> Numbers:
    """Return multivariate Student-t rows; for df <= 2 the spectrum is that of their shape."""
    radii = np.sqrt(max(df - 2.0, 0.5 * df) / rng.chisquare(df, size=n))
    return gaussian(n, spectrum, rng) * radii[:, None]


def independent_student(n: int, spectrum: Numbers, df: float, rng: np.random.Generator) -> Numbers:
    """Return rows whose coordinates are independent Student-t variables."""
    return rng.standard_t(df, size=(n, len(spectrum))) * np.sqrt(spectrum * (df - 2.0) / df)


def rare_directions(
    n: int, common: Numbers, rare: Numbers, rate: float, rng: np.random.Generator
) -> Numbers:
    """Return normal rows, of which a share has a large part along rare directions, put first."""
    rows = gaussian(n, np.concatenate([rare / rate, common]), rng)
    rows[:, : len(rare)] *= rng.random((n, 1)) < rate
    return rows


def one_hot(n: int, probabilities: Numbers, rng: np.random.Generator) -> Numbers:
    """Return rows with a single one."""
    return np.eye(len(probabilities))[rng.choice(len(probabilities), size=n, p=probabilities)]


def two_groups(
    n: int, spectrum: Numbers, share: float, size: float, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Return normal rows of two groups about zero, and their covariance (d, d).

    The second group has a share of the rows, directions of its own, and `size` times the variances.
    """
    d = len(spectrum)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rows = gaussian(n, spectrum, rng)
    second = rng.random(n) < share
    rows[second] = np.sqrt(size) * rows[second] @ turn
    own = (turn.T * spectrum) @ turn
    return rows, (1.0 - share) * np.diag(spectrum) + share * size * own


def contaminated(
    n: int,
    spectrum: Numbers,
    count: int,
    size: float,
    when: tuple[float, float],
    rng: np.random.Generator,
) -> Numbers:
    """Return normal rows, of which `count` are `size` typical lengths long, in all directions.

    These come between two shares of the stream.
    """
    rows = gaussian(n, spectrum, rng)
    start, stop = (int(share * n) for share in when)
    bad = start + rng.choice(stop - start, size=count, replace=False)
    directions = rng.normal(size=(count, len(spectrum)))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    rows[bad] = size * np.sqrt(spectrum.sum()) * directions
    return rows
