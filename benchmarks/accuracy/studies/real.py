"""Real data: learned from one part of the rows and judged on another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.accuracy.rows import Numbers
from benchmarks.accuracy.study import Case, Study, losses, spread, worst
from benchmarks.dataset import folder_of
from benchmarks.datasets.mnist import read_idx

WORDS = (1, 2, 3, 41)  # columns of KDD that are no numbers
MOST_ROWS = 150_000  # of covtype and KDD


@cache
def rows_of(name: str, folder: Path | None) -> Numbers:
    """Return the rows (n, d) of a data set in their natural order."""
    home = folder_of(name, folder)
    if name == "mnist":
        parts = [read_idx(home / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k")]
        return np.concatenate(parts).reshape(-1, 784) / 255.0
    if name == "kdd99":
        from pandas import read_csv

        numbers = [column for column in range(42) if column not in WORDS]
        path = home / "kddcup.data_10_percent.gz"
        return read_csv(path, header=None, usecols=numbers).to_numpy(np.float64)
    with np.load(next(home.glob("*.npz"))) as arrays:
        X = arrays["X"]
    return X.reshape(-1, X.shape[-1]).astype(np.float64)


@cache
def digits(folder: Path | None) -> Numbers:
    """Return the labels of MNIST."""
    home = folder_of("mnist", folder)
    parts = [read_idx(home / f"{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k")]
    return np.concatenate(parts)


def standardised(rows: Numbers) -> Numbers:
    """Return rows whose columns have mean zero and variance one; constant ones stay constant."""
    deviation = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)


def halves(
    names: dict[str, tuple[int, ...]], kinds: tuple[str, ...], *, shuffled: bool
) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of data sets, for some k each; two random parts, in order or shuffled."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        for name, ks in names.items():
            raw = rows_of(name, folder)
            rng = np.random.default_rng([seed, len(raw)])
            order = rng.permutation(len(raw))
            size = min(len(raw) // 2, MOST_ROWS)
            learned, judged = order[:size], order[size : 2 * size]
            if not shuffled:
                learned = np.sort(learned)
            for kind in kinds:
                rows = standardised(raw) if kind == "standardised" else raw
                covariance = covariance_of(rows[judged])
                for k in ks:
                    yield Case(f"{name} {kind} k={k}", rows[learned], k, covariance)

    return cases


def scaled_mnist(*ks: int) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of the paper: pixels of mean zero and equal variance, 40% of the images."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        rows = standardised(rows_of("mnist", folder)) / 28.0
        order = np.random.default_rng(seed).permutation(len(rows))
        covariance = covariance_of(rows[order[42_000:]])
        for k in ks:
            yield Case(f"k={k}", rows[order[:28_000]], k, covariance)

    return cases


def sorted_mnist(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield the images as they are, one digit after the other."""
    rows, labels = rows_of("mnist", folder), digits(folder)
    order = np.random.default_rng(seed).permutation(len(rows))
    covariance = covariance_of(rows[order[42_000:]])
    learned = order[:28_000]
    learned = learned[np.argsort(labels[learned], kind="stable")]
    for k in (4, 40):
        yield Case(f"k={k}", rows[learned], k, covariance)


def covariance_of(X: Numbers) -> Numbers:
    """Return the covariance (d, d) of rows X (n, d)."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


SHUFFLED = {
    "covtype": (2, 5),
    "indian-pines": (3, 10),
    "mnist": (8,),
    "kdd99": (1, 3, 8),
}
NATURAL = {"covtype": (2, 5, 10), "gas-drift": (3, 10), "los-speed": (3, 10)}
STUDIES = [
    Study(
        "real",
        "covtype, indian-pines, raw MNIST, KDD, shuffled",
        losses(halves(SHUFFLED, ("raw",), shuffled=True)),
        worst(1.05),
        seeds=3,
    ),
    Study("mnist-sorted", "MNIST sorted by label", losses(sorted_mnist), worst(1.05), seeds=2),
    Study(
        "natural",
        "covtype, gas-drift, los-speed, raw and standardised, in natural order",
        losses(halves(NATURAL, ("raw", "standardised"), shuffled=False)),
        worst(1.3),
        seeds=3,
    ),
    Study(
        "mnist",
        "MNIST as scaled in the paper, k = 1, 4, 8",
        losses(scaled_mnist(1, 4, 8)),
        worst(1.1),
        seeds=6,
    ),
    Study(
        "mnist-40",
        "MNIST as scaled in the paper, k = 40",
        losses(scaled_mnist(40)),
        spread(0.55, 0.55),
        seeds=6,
    ),
    Study(
        "gas",
        "gas-drift standardised, shuffled, k = 3",
        losses(halves({"gas-drift": (3,)}, ("standardised",), shuffled=True)),
        spread(0.95, 0.95),
        seeds=10,
    ),
]
