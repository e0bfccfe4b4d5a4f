"""What a solver is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Components (k, d), and the variances (k,) along them where they are told.
Found = tuple[Any, Any]


@dataclass(frozen=True)
class Solver:
    """Something that finds k directions in rows.

    Attributes
    ----------
    name : str
        In tables and on the command line.
    fit : callable
        ``fit(X, k)`` learns from an array or a CSR matrix in memory.
    fit_file : callable
        ``fit_file(path, k)`` learns from a parquet file or, sparse rows, from an h5ad file.
    dense, sparse : bool
        Which rows it takes.
    """

    name: str
    fit: Callable[[Any, int], Found]
    fit_file: Callable[[Path, int], Found]
    dense: bool = True
    sparse: bool = False


def in_memory(fit: Callable[[Any, int], Found]) -> Callable[[Path, int], Found]:
    """Return a fit from a file that reads all of it first."""
    return lambda path, k: fit(read(path), k)


def leading(covariance: NDArray[np.floating], k: int) -> Found:
    """Return the k leading eigenvectors and eigenvalues of a covariance (d, d)."""
    from scipy.linalg import eigh

    d = len(covariance)
    values, vectors = eigh(covariance, subset_by_index=(d - k, d - 1))
    return vectors.T[::-1], values[::-1]


def read(path: Path) -> Any:
    """Return all rows of a file: npy, npz, parquet or h5ad."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        from scipy import sparse

        return sparse.csr_matrix(sparse.load_npz(path))  # which all libraries take
    if path.suffix == ".h5ad":
        import h5py
        from scipy import sparse

        with h5py.File(path) as file:
            X = file["X"]
            parts = (X["data"][:], X["indices"][:], X["indptr"][:])
            return sparse.csr_matrix(parts, shape=tuple(X.attrs["shape"]))
    return np.concatenate(list(batches(path, 10_000)))


def batches(path: Path, rows: int) -> Iterator[NDArray[np.floating]]:
    """Yield arrays of at most so many rows of a parquet file."""
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(path).iter_batches(batch_size=rows):
        yield np.column_stack([column.to_numpy() for column in batch.columns])
