"""scanpy's pca(chunked=True), which is scikit-learn's IncrementalPCA inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.rivals.solver import Found, Solver, read

# With pynndescent 0.7, `neighbors` of scanpy 1.11 finds sparse arrays where it expects matrices.
REQUIRES = ["scanpy", "pyarrow", "pynndescent<0.6"]
CHUNK = 6000  # rows, its own default


def _pca(data: Any, k: int) -> Found:
    """Return what it writes into the annotations."""
    import scanpy

    scanpy.pp.pca(data, n_comps=k, chunked=True, chunk_size=CHUNK)
    return data.varm["PCs"].T, data.uns["pca"]["variance"]


def _fit(X: Any, k: int) -> Found:
    from anndata import AnnData

    return _pca(AnnData(X), k)


def _fit_file(path: Path, k: int) -> Found:
    """Return that of an h5ad file, not read as a whole; of a parquet file after reading it."""
    if path.suffix != ".h5ad":
        return _fit(read(path), k)
    from anndata import read_h5ad

    return _pca(read_h5ad(path, backed="r"), k)


SOLVERS = [Solver("scanpy pca(chunked=True)", _fit, _fit_file, sparse=True)]
