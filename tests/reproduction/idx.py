"""Small files in MNIST's format."""

import gzip

import numpy as np


def write_images(folder, name, images, packed):
    count, side = len(images), round(images.shape[1] ** 0.5)
    header = b"\x00\x00\x08\x03" + np.array([count, side, side], ">i4").tobytes()
    content = header + images.tobytes()
    path = folder / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def make_images(n, seed=0):
    """Return n images of 6 x 6 pixels with a few strong directions and a pixel always black."""
    rng = np.random.default_rng(seed)
    rows = (
        128 + (rng.normal(size=(n, 10)) * np.geomspace(60, 6, 10)) @ rng.normal(size=(10, 36)) / 4
    )
    images = np.clip(rows, 0, 255).astype(np.uint8)
    images[:, 0] = 0
    return images


def write_folder(folder, n=500, packed=True):
    folder.mkdir(exist_ok=True)
    images = make_images(n)
    half = n // 2
    write_images(folder, "train-images-idx3-ubyte", images[:half], packed)
    write_images(folder, "t10k-images-idx3-ubyte", images[half:], not packed)
    return images
