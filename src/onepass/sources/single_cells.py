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
from onepass.sources.arrays import ArrayTable, SparseArray, opened_root, refuse_pickles, stored
from onepass.sources.base import Block, SourceError
from onepass.sources.memory import ArraySource
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


class CellTable(ArrayTable):
    """Cells by genes. Cells are prepared as a whole, before genes are chosen."""

    by_row = True

    def _name(self, names: Sequence[str], mask: Sequence[str] | NDArray[np.bool_] | None) -> None:
        """Note the names of genes, numbered where they come twice, and leave out some of them."""
        if len(names) != self.width:
            raise self.error(f"there are {len(names)} names for {self.width} genes")
        self.names = numbered_names(names, "-")  # as anndata does
        if repeated := len(names) - len(set(names)):
            note = f"{self.path}: {repeated} names of genes come again, and are numbered"
            self.notes = [*self.notes, note]
        if mask is None:
            return
        if not isinstance(mask, np.ndarray):
            if missing := sorted(set(mask) - set(names)):
                raise self.error(f"mask_var has {missing[0]!r}, and there is no gene of this name")
            mask = np.isin(np.array(names, dtype=object), list(mask))
        if not mask.any():
            raise self.error("mask_var chooses no gene")
        self.left_out = np.flatnonzero(~mask).tolist()

    @abstractmethod
    def obs(self) -> Any:
        """Return what is known of the cells: a table of pandas, with their names as index."""

    def _checked(self, table: Any) -> Any:
        """Return a table of cells, which must have as many rows as there are cells."""
        if len(table) != self.n_rows:
            raise self.error(f"there are {len(table)} names for {self.n_rows} cells")
        return table


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
            self._name(names.asstr()[:].tolist(), options.mask_var)
            kinds = Counter([] if features is None else features["feature_type"].asstr()[:])
        if len(kinds) > 1:
            listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            self.notes = [*self.notes, f"{path}: features of several types are read: {listed}"]

    @contextmanager
    def opened(self) -> Iterator[SparseArray]:
        """Open the matrix, cells by genes."""
        with opened_root(self.path) as root:
            matrix = root[_find_10x(root)]
            parts = [stored(matrix[name], self.path) for name in _PARTS]
            n_genes, n_cells = matrix["shape"][:2].tolist()
            yield SparseArray((n_cells, n_genes), *parts)

    def obs(self) -> Any:
        """Return a table of the names of cells alone."""
        import pandas as pd

        with opened_root(self.path) as root:
            return self._checked(pd.DataFrame(index=root[_find_10x(root)]["barcodes"].asstr()[:]))


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
        var, mask = self._table("var"), options.mask_var
        if isinstance(mask, str):
            if mask not in var.columns or var[mask].dtype != bool:
                listed = ", ".join(map(repr, var.columns[:8])) or "no columns"
                raise self.error(f"mask_var={mask!r} is no column of booleans; var has {listed}")
            mask = var[mask].to_numpy()
        self._name([str(name) for name in var.index], mask)

    def obs(self) -> Any:
        """Return the table `obs`."""
        table = self._checked(self._table("obs"))
        return table.set_index(table.index.astype(str))

    def _table(self, name: str) -> Any:
        """Return the table `obs` or `var`."""
        from anndata.io import read_elem

        with opened_root(self.path) as root:
            if suffix_of(self.path) == ".zarr":
                refuse_pickles(root[name])
            return read_elem(root[name])

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the matrix, of which rows are read."""
        from anndata.io import sparse_dataset

        with opened_root(self.path) as root:
            name = "X" if self._layer is None else f"layers/{self._layer}"
            if name not in root or root[name].attrs.get(_MARK) == "null":
                layers = ", ".join(map(repr, sorted(root.get("layers", ())))) or "none"
                raise self.error(f"there is no {name} in it; layers are: {layers}")
            node = root[name]
            if hasattr(node, "shape"):
                yield stored(node, self.path)
                return
            matrix = sparse_dataset(node)
            parts = [stored(node[part], self.path) for part in _PARTS]
            if matrix.format == "csr":
                yield SparseArray(tuple(map(int, matrix.shape)), *parts)
            else:
                yield _ByGenes(matrix, *parts)

    def of_all_genes(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return rows of the genes that are read as rows of all genes, with zeros for the rest."""
        whole = np.zeros((self.width, values.shape[1]), values.dtype)
        whole[self.chosen()] = values
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


def _by_rows(matrix: Any) -> Any:
    """Return a sparse matrix as CSR, after checking it: compiled code follows its indices."""
    matrix.check_format(full_check=True)
    return matrix.tocsr()


class _ByGenes:
    """A sparse matrix that is stored by genes (CSC), and is converted as a whole to be read."""

    def __init__(self, backed: Any, data: Any, indices: Any, indptr: Any) -> None:
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
        array = SparseArray(matrix.shape, matrix.data, matrix.indices, matrix.indptr)
        yield from array.pieces(start)


class AnnDataSource(ArraySource):
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
            listed = ", ".join(repr(name) for name in adata.layers if name) or "none"  # None is X
            raise SourceError(f"there is no layer {layer!r} in it, only {listed}")
        matrix = adata.X if layer is None else adata.layers[layer]
        if matrix is None:
            raise SourceError("there is no X in it; choose a layer")
        if getattr(matrix, "format", "csr") == "csc":
            matrix = _by_rows(matrix if scipy.sparse.issparse(matrix) else matrix.to_memory())
        self._array, self.n_rows = matrix, adata.n_obs
        names = numbered_names([str(name) for name in adata.var_names], "-")
        self._genes: NDArray[np.intp] | None = None
        if mask is not None:
            self._genes = np.flatnonzero(mask)
            names = [names[j] for j in self._genes]
        self.feature_names, self.n_features = names, len(names)
        if self.n_rows == 0 or self.n_features == 0:
            raise SourceError(f"an AnnData object of {self.n_rows} x {self.n_features} has no rows")
        self._dtype = base.float_type(matrix.dtype)
        is_sparse = hasattr(matrix, "format")
        self._rows = _OBJECT_BLOCK_ROWS if is_sparse else base.rows_per_block(adata.n_vars)

    def _between(self, begin: int, end: int) -> Block:
        """Return some rows."""
        rows = self._array[begin:end]
        rows = rows.compute() if hasattr(rows, "compute") else rows  # of Dask
        rows = scipy.sparse.csr_array(rows) if scipy.sparse.issparse(rows) else rows
        return base.take(rows, self._genes, self._dtype)
