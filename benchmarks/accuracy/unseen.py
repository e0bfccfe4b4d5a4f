"""Five data sets that nothing in `PCA` was chosen with: one half is learned, one held out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, make_multilabel_classification

from benchmarks.accuracy.study import Case, Cases, Study, excess, promise
from benchmarks.losses import Numbers, covariance_of

Draw = Callable[[np.random.Generator], Numbers]


def iris(rng: np.random.Generator) -> Numbers:
    """Return 150 flowers, 4 lengths each, as scikit-learn has them."""
    return rng.permutation(load_iris().data)


def words(rng: np.random.Generator) -> Numbers:
    """Return counts of 100 words in 4,000 documents with one to four of ten topics."""
    seed = int(rng.integers(2**31))
    return make_multilabel_classification(
        4000, 100, n_classes=10, n_labels=2, length=60, random_state=seed
    )[0]


def returns(rng: np.random.Generator) -> Numbers:
    """Return 5,000 days of 60 shares: five common factors, and days that are calm or wild together.

    The logarithm of a day's deviation is 0.97 times that of the day before, plus 0.2 N(0, 1).
    """
    n, d = 5000, 60
    volatility = np.zeros(n)
    for day in range(1, n):
        volatility[day] = 0.97 * volatility[day - 1] + 0.2 * rng.normal()
    factors = rng.normal(size=(n, 5)) * np.array([2.0, 1.0, 0.8, 0.6, 0.5])
    shares = factors @ rng.normal(size=(5, d)) + rng.normal(size=(n, d))
    return shares * np.exp(volatility)[:, None]


def cells(rng: np.random.Generator) -> Numbers:
    """Return log(1 + count) of 300 genes in 4,000 cells of eight types.

    Counts are negative binomial (a gamma mixture of Poisson counts); cells differ in depth by a
    lognormal factor, types in a tenth of their genes.
    """
    n, d, types = 4000, 300, 8
    levels = np.exp(rng.normal(-0.5, 1.0, size=d))
    changed = rng.random((types, d)) < 0.1
    means = levels * np.exp(1.5 * changed * rng.normal(size=(types, d)))
    depth = np.exp(0.4 * rng.normal(size=n))
    expected = means[rng.integers(types, size=n)] * depth[:, None]
    return np.log1p(rng.poisson(rng.gamma(2.0, expected / 2.0)))


def curves(rng: np.random.Generator) -> Numbers:
    """Return 2,000 days of 96 quarters of an hour, with two peaks that move.

    Heights of peaks are lognormal. One day in fifty is a holiday without a morning peak.
    """
    n, hours = 2000, np.arange(96) / 4.0
    rows = np.zeros((n, 96))
    for centre, width in ((8.0, 1.5), (19.0, 2.5)):
        at = centre + 0.5 * rng.normal(size=(n, 1))
        height = np.exp(0.3 * rng.normal(size=(n, 1)))
        if centre < 12.0:
            height *= rng.random((n, 1)) > 0.02
        rows += height * np.exp(-0.5 * ((hours - at) / width) ** 2)
    return rows + 0.05 * rng.normal(size=rows.shape)


def held_out(draw: Draw, k: int) -> Cases:
    """Return a random half of the rows, in their order, and the covariance of the other half."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        rng = np.random.default_rng(seed)
        rows = draw(rng)
        learned = np.zeros(len(rows), bool)
        learned[rng.permutation(len(rows))[: len(rows) // 2]] = True
        yield Case(f"k={k}", rows[learned], k, covariance_of(rows[~learned]))

    return cases


STUDIES = [
    Study(f"unseen-{name}", title, excess(held_out(draw, k)), 10, promise())
    for name, draw, k, title in (
        ("iris", iris, 2, "iris"),
        ("words", words, 8, "generated word counts"),
        ("returns", returns, 5, "generated returns of shares, volatile days in clusters"),
        ("cells", cells, 7, "generated single cells, log(1 + count)"),
        ("curves", curves, 4, "generated daily curves"),
    )
]
