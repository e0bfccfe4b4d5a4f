"""MNIST: where it comes from, how the paper scales it, and how it is split."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onepass.paper.readings import PRINTED, WHOLE

FILES = ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte")
IMAGES_MAGIC = b"\x00\x00\x08\x03"  # unsigned bytes in three dimensions
CHUNK_ROWS = 4000  # images that are scaled together


def load_images(folder: str | os.PathLike[str] | None) -> NDArray[np.uint8]:
    """Return all images as an (n, 784) array.

    Parameters
    ----------
    folder : path or None
        Where the idx files are, compressed or not. None asks scikit-learn, which downloads them
        once and keeps them.
    """
    if folder is not None:
        return np.vstack([_read_idx(Path(folder), name) for name in FILES])
    from sklearn.datasets import fetch_openml

    try:
        images = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff").data
    except (OSError, ValueError) as error:
        raise OSError(
            "MNIST is not here and could not be downloaded "
            f"({error}). Give the folder of its idx files (--mnist DIR, with "
            f"{FILES[0]}[.gz] and {FILES[1]}[.gz]), or run once with a network connection: "
            "scikit-learn's fetch_openml('mnist_784') then keeps a copy."
        ) from error
    return images.astype(np.uint8)


def _read_idx(folder: Path, name: str) -> NDArray[np.uint8]:
    """Return the images of an idx file, (n, pixels)."""
    path, packed = folder / name, folder / f"{name}.gz"
    if path.exists():
        content = path.read_bytes()
    elif packed.exists():
        content = gzip.decompress(packed.read_bytes())
    else:
        raise FileNotFoundError(f"{folder} has neither {name} nor {name}.gz")
    if content[:4] != IMAGES_MAGIC:
        raise ValueError(f"{folder}: {name} is not an idx file of images")
    count, height, width = (int(n) for n in np.frombuffer(content, ">i4", 3, offset=4))
    pixels = np.frombuffer(content, np.uint8, offset=16)
    if len(pixels) != count * height * width:
        raise ValueError(f"{folder}: {name} is cut short")
    return pixels.reshape(count, height * width)


@dataclass(frozen=True)
class Scaling:
    """x = (image - mean) / scale, under a reading of the text; constant pixels become zero.

    The paper divides pixel j by its standard deviation s_j and by d ("printed"), which gives
    E|x|^2 = 1/d. Divided by the root of the number of pixels that are not constant ("unit"), rows
    have E|x|^2 = 1, as the text wants. "whole" divides all pixels by one number, with the same
    E|x|^2 = 1.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, images: NDArray[np.uint8], reading: str) -> Scaling:
        """Measure mean and scale of images of shape (n, d)."""
        mean, deviation = images.mean(axis=0), images.std(axis=0)
        varying = deviation > 0
        if reading == WHOLE.key:
            return cls(mean, np.full(len(mean), np.sqrt((deviation**2).sum())))
        factor = len(mean) if reading == PRINTED.key else np.sqrt(varying.sum())
        return cls(mean, np.where(varying, deviation * factor, np.inf))

    def __call__(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return scaled rows."""
        return (images - self.mean) / self.scale

    def second_moment(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the (d, d) second moment of the scaled rows."""
        total = np.zeros((images.shape[1],) * 2)
        for start in range(0, len(images), CHUNK_ROWS):
            rows = self(images[start : start + CHUNK_ROWS])
            total += rows.T @ rows
        return total / len(images)

    def norm_moments(self, images: NDArray[np.uint8]) -> tuple[float, float]:
        """Return E|x|^2 and E|x|^4 of the scaled rows."""
        squares = np.concatenate(
            [
                (self(images[start : start + CHUNK_ROWS]) ** 2).sum(axis=1)
                for start in range(0, len(images), CHUNK_ROWS)
            ]
        )
        return float(squares.mean()), float((squares**2).mean())


def split(
    images: NDArray[np.uint8], seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return 40% for training, 20% for validation and 40% for testing, in random order."""
    order = np.random.default_rng(seed).permutation(len(images))
    first, second = 2 * len(images) // 5, 3 * len(images) // 5
    return images[order[:first]], images[order[first:second]], images[order[second:]]
