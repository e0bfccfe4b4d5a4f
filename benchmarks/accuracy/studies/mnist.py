"""MNIST, learned from 40% of the images and judged on another 40%."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.study import Case, Limit, Study, covariance_of, excess
from benchmarks.dataset import folder_of
from benchmarks.datasets.mnist import read_idx
from onepass import metrics


def images_and_labels(folder: Path | None) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return all images as (70000, 784), and their labels."""
    home = folder_of("mnist", folder)
    images = [read_idx(home / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k")]
    labels = [read_idx(home / f"{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k")]
    return np.concatenate(images).reshape(-1, 784) / 255.0, np.concatenate(labels)


def scaled(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return images whose pixels have mean zero and equal variances, of expected norm one."""
    deviation = images.std(axis=0)
    return (images - images.mean(axis=0)) / (np.where(deviation > 0, deviation, 1.0) * 28.0)


def as_in_the_paper(*ks: int) -> Callable[[int, Path | None], Iterator[Case]]:
    """Return the cases of shuffled, scaled images."""

    def cases(seed: int, folder: Path | None) -> Iterator[Case]:
        X = scaled(images_and_labels(folder)[0])
        order = np.random.default_rng(seed).permutation(len(X))
        population = metrics.from_dense(covariance_of(X[order[42_000:]]))
        for k in ks:
            yield Case(f"k={k}", X[order[:28_000]], k, population)

    return cases


def sorted_by_label(seed: int, folder: Path | None) -> Iterator[Case]:
    """Yield the images as they are, one digit after the other."""
    X, labels = images_and_labels(folder)
    order = np.random.default_rng(seed).permutation(len(X))
    population = metrics.from_dense(covariance_of(X[order[42_000:]]))
    learned = order[:28_000]
    learned = learned[np.argsort(labels[learned], kind="stable")]
    for k in (1, 4, 8, 40):
        yield Case(f"k={k}", X[learned], k, population)


def worst(limit: float) -> tuple[Limit, ...]:
    """Return the promise that no run is above a limit."""
    return (Limit("worst", limit),)


STUDIES = [
    Study("mnist", "MNIST scaled, k = 1, 4, 8", excess(as_in_the_paper(1, 4, 8)), worst(1.1)),
    Study("mnist-40", "MNIST scaled, k = 40", excess(as_in_the_paper(40)), worst(0.7)),
    Study("mnist-sorted", "MNIST sorted by label", excess(sorted_by_label), worst(1.5)),
]
