"""MNIST: where it comes from, how the paper scales it, and how it is split."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scaling = Literal["pixels", "whole"]

FILES = ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte")
IMAGES_MAGIC = b"\x00\x00\x08\x03"  # unsigned bytes in three dimensions
CHUNK = 4000


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
class Normalisation:
    """x = (image - mean) / scale, of mean zero and E|x|^2 = 1.

    The paper divides every pixel by its standard deviation ("pixels"). It prints a further factor
    of d where sqrt(d) gives the unit norm that it wants. "whole" divides all pixels by the same
    number instead. Pixels that never change are zero.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, images: NDArray[np.uint8], scaling: Scaling) -> Normalisation:
        """Measure mean and scale of images of shape (n, d)."""
        mean, deviation = images.mean(axis=0), images.std(axis=0)
        live = deviation > 0
        if scaling == "pixels":
            scale = np.where(live, deviation * np.sqrt(live.sum()), np.inf)
        else:
            scale = np.full(len(mean), np.sqrt((deviation**2).sum()))
        return cls(mean, scale)

    def __call__(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return normalised rows."""
        return (images - self.mean) / self.scale

    def second_moment(self, images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the (d, d) second moment of the normalised rows."""
        total = np.zeros((images.shape[1],) * 2)
        for start in range(0, len(images), CHUNK):
            rows = self(images[start : start + CHUNK])
            total += rows.T @ rows
        return total / len(images)

    def fourth_moment(self, images: NDArray[np.uint8]) -> float:
        """Return E|x|^4 of the normalised rows: 1 at least, and more for heavier tails."""
        total = 0.0
        for start in range(0, len(images), CHUNK):
            rows = self(images[start : start + CHUNK])
            total += float((np.einsum("ij,ij->i", rows, rows) ** 2).sum())
        return total / len(images)


def split(
    images: NDArray[np.uint8], seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return 40% for training, 20% for validation and 40% for testing, in random order."""
    order = np.random.default_rng(seed).permutation(len(images))
    first, second = 2 * len(images) // 5, 3 * len(images) // 5
    return images[order[:first]], images[order[first:second]], images[order[second:]]
