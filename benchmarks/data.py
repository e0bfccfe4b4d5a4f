"""Real data from the folder that ``--data`` names, in natural order."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Numbers = NDArray[np.float64]
WORDS = (1, 2, 3, 41)  # columns of KDD that are no numbers


def folder_of(name: str, folder: Path | None) -> Path:
    """Return the folder with the files of a data set."""
    if folder is None or not (folder / name).is_dir():
        raise FileNotFoundError(f"{name} needs --data DIR, a folder that holds {name}/")
    return folder / name


@cache
def rows_of(name: str, folder: Path | None) -> Numbers:
    """Return the rows (n, d) of covtype, gas-drift, indian-pines, kdd99, los-speed or mnist."""
    home = folder_of(name, folder)
    if name == "mnist":
        parts = [_read_idx(home / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k")]
        return np.concatenate(parts).reshape(-1, 784) / 255.0
    if name == "kdd99":
        from pandas import read_csv

        numbers = [column for column in range(42) if column not in WORDS]
        path = home / "kddcup.data_10_percent.gz"
        return read_csv(path, header=None, usecols=numbers).to_numpy(np.float64)
    with np.load(next(home.glob("*.npz"))) as arrays:
        X = arrays["X"]
    return X.reshape(-1, X.shape[-1]).astype(np.float64)


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array in a compressed idx file of bytes."""
    with gzip.open(path) as file:
        content = file.read()
    shape = np.frombuffer(content, ">i4", count=content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


@cache
def newsgroups(folder: Path | None) -> sparse.csr_array:
    """Return the word counts of 20 newsgroups, in natural order."""
    with np.load(folder_of("20news", folder) / "20news_counts.npz") as arrays:
        parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
        return sparse.csr_array(parts, shape=tuple(arrays["shape"]))


def standardised(rows: Numbers) -> Numbers:
    """Return rows whose columns have mean zero and variance one; constant ones stay constant."""
    deviation = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
