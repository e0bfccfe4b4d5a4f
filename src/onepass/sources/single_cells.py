"""Files of single cells: AnnData in HDF5 and Zarr, and the HDF5 files of 10x Genomics.

anndata reads its own format. A file of 10x holds genes by cells in CSC, which is the same as cells
by genes in CSR.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources import base
from onepass.sources.arrays import (
    ArrayTable,
    SparseArray,
    opened_root,
    refuse_pickles,
    stored_hdf5,
    stored_zarr,
)
from onepass.sources.base import Block, Position, Source, SourceError
from onepass.sources.paths import split, suffix_of
from onepass.sources.tables import ReadOptions, numbered_names

_PARTS = ("data", "indices", "indptr")  # of a sparse matrix
_OBJECT_BLOCK_ROWS = 1024  # of sparse objects, whose number of entries is not looked at
_MARK, _ANNDATA = "encoding-type", "anndata"  # what anndata writes at the root of its files


def open_stored(path: str, options: ReadOptions) -> ArrayTable:
    """Return what is in an HDF5 file or a Zarr store: AnnData, a matrix of 10x, or an array."""
    kind = ArrayTable
    if split(path)[1] is None:
        with opened_root(path) as root:
            if root.attrs.get(_MARK) == _ANNDATA:
                kind = AnnDataTable
            elif suffix_of(path) != ".zarr" and _find_10x(root) is not None:
                kind = TenxTable
    return kind(path, options)


def _by_rows(matrix: Any) -> Any:
    """Return a sparse matrix as CSR, after checking it: compiled code follows its indices."""
    matrix.check_format(full_check=True)
    return matrix.tocsr()


class CellTable(ArrayTable):
    """Cells by genes. Cells are prepared as a whole, before genes are chosen."""

    def _choose(self, names: Sequence[str], mask: Sequence[str] | NDArray[np.bool_] | None) -> None:
        """Note the names of all genes, numbered where they come twice, and which are read."""
        if len(names) != self.width:
            raise self.error(f"there are {len(names)} names for {self.width} genes")
        self._all_names = numbered_names(names, "-")  # as anndata does
        repeated = len(names) - len(set(names))
        if repeated:
            note = f"{self.path}: {repeated} names of genes come again, and are numbered"
            self.notes = [*self.notes, note]
        if mask is not None and not isinstance(mask, np.ndarray):
            missing = sorted(set(mask) - set(names))
            if missing:
                raise self.error(f"mask_var has {missing[0]!r}, and there is no gene of this name")
            mask = np.isin(np.array(names, dtype=object), list(mask))
        if mask is not None and not mask.any():
            raise self.error("mask_var chooses no gene")
        self._genes = None if mask is None else np.flatnonzero(mask)
        self.names = [self._all_names[j] for j in self.genes().tolist()]
        self.width = len(self.names)

    @abstractmethod
    def obs(self) -> Any:
        """Return what is known of the cells: a table of pandas, with their names as index."""

    def genes(self) -> NDArray[np.intp]:
        """Return the indices of the genes that are read, among all."""
        places = np.arange(len(self._all_names)) if self._genes is None else self._genes
        return places if self.columns is None else places[self.columns]

    def _checked(self, names: Any) -> Any:
        """Return the names of cells, of which there must be as many as cells."""
        if len(names) != self.n_rows:
            raise self.error(f"there are {len(names)} names for {self.n_rows} cells")
        return names

    def taken(self) -> NDArray[np.intp] | None:
        """Return the genes that are read, among all; None is all of them."""
        return None if self._genes is None and self.columns is None else self.genes()

    def block(self, rows: Any, row: int, dtype: np.dtype) -> Block:
        """Return cells as a block, prepared by all of their genes."""
        if not self.preparation:
            return super().block(rows, row, dtype)
        cells = self.prepared(base.take(rows, None, dtype), row, self._all_names)
        return base.take(cells, self.taken(), dtype)


class TenxTable(CellTable):
    """A file of 10x Genomics, of version 3 or with one genome in version 2."""

    takes = ("mask_var",)

    def __init__(self, path: str, options: ReadOptions) -> None:
        super().__init__(path, options)
        if isinstance(options.mask_var, str):
            raise self.error("mask_var must be a list of names: files of 10x have no masks")
        with opened_root(path) as root:
            matrix = root[_find_10x(root)]
            features = matrix.get("features")
            names = matrix["gene_names"] if features is None else features["name"]
            self._choose(names.asstr()[:].tolist(), options.mask_var)
            kinds = Counter([] if features is None else features["feature_type"].asstr()[:])
        if len(kinds) > 1:
            listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            self.notes = [*self.notes, f"{path}: features of several types are read: {listed}"]

    @contextmanager
    def opened(self) -> Iterator[SparseArray]:
        """Open the matrix, cells by genes."""
        with opened_root(self.path) as root:
            matrix = root[_find_10x(root)]
            data, indices, indptr = (stored_hdf5(matrix[name], self.path) for name in _PARTS)
            n_genes, n_cells = matrix["shape"][:2].tolist()
            yield SparseArray(data, indices, indptr, (n_cells, n_genes))

    def obs(self) -> Any:
        """Return a table of the names of cells alone."""
        import pandas as pd

        with opened_root(self.path) as root:
            matrix = root[_find_10x(root)]
            if "barcodes" not in matrix:
                raise self.error("there are no barcodes in it")
            return pd.DataFrame(index=self._checked(matrix["barcodes"].asstr()[:]))


def _find_10x(root: Any) -> str | None:
    """Return the name of the only group at the root that holds a matrix of 10x, if there is one."""
    found = []
    for name in root:
        node = root.get(name)  # None for a link that leads nowhere
        inside = set() if node is None or hasattr(node, "shape") else set(node)
        if inside >= {*_PARTS, "shape"} and inside & {"features", "gene_names"}:
            found.append(name)
    return found[0] if len(found) == 1 else None


class AnnDataTable(CellTable):
    """The cells of an AnnData object that was written to HDF5 or Zarr."""

    takes = ("layer", "mask_var")

    def __init__(self, path: str, options: ReadOptions) -> None:
        if split(path)[1] is not None:
            raise SourceError("choose a layer with layer= (--layer), not with '::'", path)
        self._layer = options.layer
        super().__init__(path, options)
        var = self._table("var")
        mask: Any = options.mask_var
        if isinstance(mask, str):
            if mask not in var.columns:
                listed = ", ".join(map(repr, var.columns[:8])) or "no columns"
                raise self.error(f"mask_var={mask!r}: var has {listed}")
            if var[mask].dtype != bool:
                raise self.error(f"mask_var={mask!r}: values of type {var[mask].dtype}, not bool")
            mask = var[mask].to_numpy()
        self._choose([str(name) for name in var.index], mask)

    def obs(self) -> Any:
        """Return the table `obs`."""
        table = self._table("obs")
        table.index = self._checked(table.index.astype(str))
        return table

    def _table(self, name: str) -> Any:
        """Return the table `obs` or `var`."""
        from anndata.io import read_elem

        with opened_root(self.path) as root:
            if suffix_of(self.path) == ".zarr":
                refuse_pickles(root[name])
            table = read_elem(root[name])
        if not hasattr(table, "columns"):
            raise self.error(f"{name} is no table; write the file again with a newer anndata")
        return table

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the matrix."""
        with opened_root(self.path) as root:
            layers = sorted(root["layers"]) if "layers" in root else []
            listed = ", ".join(map(repr, layers)) or "none"
            if self._layer is not None and self._layer not in layers:
                raise self.error(f"there is no layer {self._layer!r} in it, only {listed}")
            name = "X" if self._layer is None else f"layers/{self._layer}"
            if name not in root or root[name].attrs.get(_MARK) == "null":
                raise self.error(f"there is no X in it; choose a layer, of {listed}")
            yield self._matrix(root[name])

    def _matrix(self, node: Any) -> Any:
        """Return an array or CSR matrix, of which rows are read."""
        from anndata.io import sparse_dataset

        def stored(array: Any) -> Any:
            if suffix_of(self.path) == ".zarr":
                return stored_zarr(array)
            return stored_hdf5(array, self.path)

        if hasattr(node, "shape"):
            return stored(node)
        backed = sparse_dataset(node)
        data, indices, indptr = (stored(node[part]) for part in _PARTS)
        if backed.format == "csr":
            return SparseArray(data, indices, indptr, tuple(map(int, backed.shape)))
        return _ByGenes(backed, data, indices)

    def of_all_genes(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return rows of the genes that are read as rows of all genes, with zeros for the rest."""
        whole = np.zeros((len(self._all_names), values.shape[1]), values.dtype)
        whole[self.genes()] = values
        return whole

    def copy_to(self, root: Any) -> None:
        """Copy all but `obs` into an HDF5 file, as it is."""
        from anndata.io import read_elem, write_elem

        with opened_root(self.path) as given:
            for name in given:
                if name != "obs" and suffix_of(self.path) != ".zarr":
                    given.copy(name, root)
                elif name != "obs":
                    write_elem(root, name, read_elem(given[name]))


class _ByGenes:
    """A sparse matrix that is stored by genes (CSC), and is converted as a whole to be read."""

    format = "csr"

    def __init__(self, backed: Any, data: Any, indices: Any) -> None:
        self._backed, self.dtype = backed, data.dtype
        self.shape = tuple(map(int, backed.shape))
        n_bytes = 2 * data.shape[0] * (data.dtype.itemsize + indices.dtype.itemsize)
        self.notes = [
            f"stored by genes (CSC), so it is converted in memory each time it is read, which "
            f"takes about {n_bytes / 1e6:,.0f} MB; store it by cells to avoid this: .tocsr()"
        ]

    def pieces(self, start: int) -> Iterator[Any]:
        """Yield rows from a number on as CSR."""
        matrix = _by_rows(self._backed.to_memory())
        yield from SparseArray(matrix.data, matrix.indices, matrix.indptr, matrix.shape).pieces(
            start
        )


class AnnDataSource(Source):
    """The cells of an AnnData object, in memory or backed by a file.

    Parameters
    ----------
    adata : anndata.AnnData
        What to read; it is not changed.
    layer : str, optional
        The layer to read instead of ``X``.
    mask : array of bool, shape (n_vars,), optional
        The genes to read; all by default.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from onepass.sources.single_cells import AnnDataSource
    >>> source = AnnDataSource(anndata.AnnData(np.ones((3, 2), dtype=np.float32)))
    >>> source.n_rows, source.feature_names
    (3, ['0', '1'])
    """

    def __init__(
        self, adata: Any, layer: str | None = None, mask: NDArray[np.bool_] | None = None
    ) -> None:
        if layer is not None and layer not in adata.layers:
            listed = ", ".join(map(repr, adata.layers)) or "none"
            raise SourceError(f"there is no layer {layer!r} in it, only {listed}")
        self._adata, self._layer = adata, layer
        # All rows of a view would be copied. One of a backed object is read whole, as anndata
        # makes no view of it.
        in_parts = adata.is_view and not adata.isbacked
        matrix = self._of(adata[:1] if in_parts else adata)
        if matrix is None:
            raise SourceError("there is no X in it; choose a layer")
        if not in_parts and getattr(matrix, "format", "csr") == "csc":
            matrix = _by_rows(matrix if scipy.sparse.issparse(matrix) else matrix.to_memory())
        self._matrix = None if in_parts else matrix
        self.feature_names = numbered_names([str(name) for name in adata.var_names], "-")
        self._genes: NDArray[np.intp] | None = None
        if mask is not None:
            self._genes = np.flatnonzero(mask)
            self.feature_names = [self.feature_names[j] for j in self._genes]
        self.n_rows, self.n_features = adata.n_obs, len(self.feature_names)
        if self.n_rows == 0 or self.n_features == 0:
            raise SourceError(f"an AnnData object of {self.n_rows} x {self.n_features} has no rows")
        self._dtype = base.float_type(matrix.dtype)
        self._rows = base.rows_per_block(adata.n_vars)
        if hasattr(matrix, "format"):
            self._rows = _OBJECT_BLOCK_ROWS

    def _of(self, adata: Any) -> Any:
        """Return the matrix of an object."""
        return adata.X if self._layer is None else adata.layers[self._layer]

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        assert self.n_rows is not None
        for begin in range(self.first_row(start), self.n_rows, self._rows):
            end = min(begin + self._rows, self.n_rows)
            matrix = self._matrix
            rows = self._of(self._adata[begin:end]) if matrix is None else matrix[begin:end]
            if hasattr(rows, "compute"):  # of Dask
                rows = rows.compute()
            if scipy.sparse.issparse(rows):
                rows = scipy.sparse.csr_array(rows)
            yield Position(0, end), base.take(rows, self._genes, self._dtype)
