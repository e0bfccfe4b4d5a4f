"""The training images of MNIST, from their original files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dataset import Dataset, Problem, Size, folder_of


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array in a compressed idx file of bytes."""
    with gzip.open(path) as file:
        content = file.read()
    shape = np.frombuffer(content, ">i4", count=content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def load(size: Size, folder: Path | None) -> Problem:
    """Return centred images of 784 pixels."""
    images = read_idx(folder_of("mnist", folder) / "train-images-idx3-ubyte.gz")
    X = images[: size.rows].reshape(-1, 784) / 255.0
    return Problem("mnist", X - X.mean(axis=0), size.k)


DATASETS = [Dataset("mnist", load, (Size(8), Size(40)), columns=784)]
