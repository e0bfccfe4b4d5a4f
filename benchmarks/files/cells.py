"""Single cells: AnnData in h5ad and Zarr, and files of 10x Genomics imitated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse
from anndata import AnnData

from benchmarks.files.arrays import unreadable
from benchmarks.files.case import Case, Writer
from benchmarks.files.rows import counts, values

Make = Callable[[], AnnData]


def cells(X: Any = None, **parts: Any) -> AnnData:
    """Return cells with two columns of `obs`."""
    X = scipy.sparse.csr_matrix(counts(300, 40) if X is None else X) if X is None else X
    n, d = X.shape
    obs = pd.DataFrame(
        {"batch": pd.Categorical([f"b{i % 3}" for i in range(n)]), "depth": np.arange(n) / 7},
        index=[f"AAACCTGA-{i}" for i in range(n)],
    )
    return AnnData(X, obs, pd.DataFrame(index=[f"gene{j}" for j in range(d)]), **parts)


def sparse(
    n: int = 300, d: int = 40, share: float = 0.1, kind: str = "csr", dtype: Any = "f4"
) -> Any:
    """Return counts as a matrix of a kind."""
    return getattr(scipy.sparse, f"{kind}_matrix")(counts(n, d, share, dtype=dtype))


def dense_together() -> Any:
    """Return a CSR matrix of 20,000 columns in which 300 dense rows stand together."""
    thin = sparse(3000, 20_000, 0.0005)
    thick = scipy.sparse.csr_matrix(values(300, 20_000).astype(np.float32))
    return scipy.sparse.vstack([thin, thick, thin], format="csr")


def unsorted() -> Any:
    """Return a CSR matrix whose columns stand in no order within a row."""
    matrix = sparse()
    for i in range(matrix.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def long_indices() -> Any:
    """Return a CSR matrix with indices of 64 bits."""
    matrix = sparse()
    matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    return matrix


def rich() -> AnnData:
    """Return cells with everything that analyses add."""
    made = cells()
    made.layers["counts"] = made.X.copy()
    made.raw = made.copy()
    made.obsm["X_umap"] = values(300, 2)
    made.obsp["near"] = scipy.sparse.eye(300, format="csr")
    made.varm["PCs"] = values(40, 3)
    made.uns["pca"] = {"variance": np.arange(3.0), "params": {"use": True, "name": "a"}}
    made.var["highly_variable"] = np.arange(40) % 2 == 0
    made.obs["n"] = pd.array([1, None] * 150, dtype="Int64")
    made.obs["note"] = [f"cell {i}" for i in range(300)]
    return made


MADE: dict[str, Make] = {
    "CSR": cells,
    "CSC": lambda: cells(sparse(kind="csc")),
    "dense": lambda: cells(values(300, 40).astype(np.float32)),
    "dense, missing values": lambda: cells(values(300, 40, missing=0.05)),
    "whole numbers": lambda: cells(sparse(dtype="i4")),
    "float64": lambda: cells(sparse(dtype="f8")),
    "indices of 64 bits": lambda: cells(long_indices()),
    "columns in no order": lambda: cells(unsorted()),
    "rows without entries": lambda: cells(sparse(share=0.01)),
    "all that analyses add": rich,
    "3,000 cells, dense rows together": lambda: cells(dense_together()),
    "200,000 peaks": lambda: cells(sparse(1000, 200_000, 0.002)),
    "CSC, 20,000 cells": lambda: cells(sparse(20_000, 200, 0.05, "csc")),
}


def written(
    make: Make, part: Callable[[AnnData], Any] = lambda made: made.X, **options: Any
) -> Writer:
    """Return the writer of an AnnData file in the format of its suffix."""

    def write(path: Path) -> Any:
        if path.suffix == ".zarr":
            make().write_zarr(path)
            return part(anndata.read_zarr(path))
        make().write_h5ad(path, **options)
        return part(anndata.read_h5ad(path))

    return write


def from_anndata() -> Iterator[Case]:
    """Yield what anndata writes."""
    for name, make in MADE.items():
        yield Case("anndata", f"h5ad: {name}", "a.h5ad", written(make))
        yield Case("anndata", f"zarr: {name}", "a.zarr", written(make))
    for kind in ("gzip", "lzf"):
        yield Case("anndata", f"h5ad: {kind}", "a.h5ad", written(cells, compression=kind))
        dense = written(MADE["dense"], compression=kind)
        yield Case("anndata", f"h5ad: dense, {kind}", "a.h5ad", dense)
        peaks = written(MADE["200,000 peaks"], compression=kind)
        yield Case("anndata", f"h5ad: 200,000 peaks, {kind}", "a.h5ad", peaks)
    many = written(lambda: cells(sparse(600_000, 20, 0.1)))
    yield Case("anndata", "h5ad: 600,000 cells", "a.h5ad", many)
    layer = written(rich, lambda made: made.layers["counts"])
    yield Case("anndata", "h5ad: a layer", "a.h5ad", layer, {"layer": "counts"})
    yield Case("anndata", "zarr: a layer", "a.zarr", layer, {"layer": "counts"})
    chosen = written(rich, lambda made: made.X[:, made.var["highly_variable"].to_numpy()])
    yield Case("anndata", "h5ad: variable genes", "a.h5ad", chosen, {"mask_var": "highly_variable"})
    bare = written(
        lambda: AnnData(shape=(300, 40), layers={"counts": sparse()}),
        lambda made: made.layers["counts"],
    )
    yield Case("anndata", "h5ad: no X", "a.h5ad", bare, {}, "", "layer", {"layer": "counts"})


def tenx(path: Path, X: Any, group: str, columns: str, **options: Any) -> Any:
    """Write cells as Cell Ranger does: a CSC matrix of features x cells."""
    matrix = X.tocsr()
    with h5py.File(path, "w") as file:
        parts = file.create_group(group)
        parts.create_dataset("data", data=matrix.data.astype(np.int32), **options)
        parts.create_dataset("indices", data=matrix.indices.astype(np.int64), **options)
        parts.create_dataset("indptr", data=matrix.indptr.astype(np.int64), **options)
        parts["shape"] = np.array(matrix.shape[::-1], np.int32)
        parts["barcodes"] = np.array([f"AAAC-{i}".encode() for i in range(matrix.shape[0])])
        names = np.array([f"ENSG{j:011d}".encode() for j in range(matrix.shape[1])])
        symbols = np.array([f"gene{j}".encode() for j in range(matrix.shape[1])])
        if columns == "genes":
            parts["genes"], parts["gene_names"] = names, symbols
        else:
            features = parts.create_group("features")
            features["id"], features["name"] = names, symbols
            kinds = [b"Gene Expression"] * matrix.shape[1]
            features["feature_type"], features["genome"] = kinds, [b"GRCh38"] * matrix.shape[1]
    return matrix


def from_tenx() -> Iterator[Case]:
    """Yield what Cell Ranger writes."""
    for name, X in {"300 cells": sparse(), "peaks": sparse(500, 150_000, 0.002)}.items():
        for version, (group, columns) in {
            "2": ("GRCh38", "genes"),
            "3": ("matrix", "features"),
        }.items():
            for packed in ({}, {"compression": "gzip", "chunks": (100,)}):
                zipped = ", gzip" if packed else ""

                def write(
                    path: Path, X: Any = X, to: Any = (group, columns), packed: Any = packed
                ) -> Any:
                    return tenx(path, X, *to, **packed)

                yield Case("10x", f"version {version}: {name}{zipped}", "a.h5", write)
    triplets = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 5\n"
    market = unreadable(lambda path: path.write_text(triplets))
    yield Case("10x", "matrix.mtx", "matrix.mtx", market, {}, "", "mtx")


def cases() -> Iterator[Case]:
    """Yield all files of cells."""
    yield from from_anndata()
    yield from from_tenx()
