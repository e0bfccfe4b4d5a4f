"""Write coordinates as an AnnData file, where scanpy looks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from onepass.cli.writers import Write
from onepass.extras import require
from onepass.persistence.atomic import replacing
from onepass.sources.files import FileSource

if TYPE_CHECKING:
    from onepass.sources.single_cells import AnnDataTable

SUFFIX = ".h5ad"
_FILE_CHUNK_BYTES = 1 << 20  # of coordinates in the file: few chunks, and none of them large


def is_anndata(path: str) -> bool:
    """Return whether a path is that of an AnnData file, which needs the package."""
    if not path.lower().endswith(SUFFIX):
        return False
    require("writing h5ad files", "anndata", "anndata")
    return True


def table_of_cells(source: FileSource) -> Any:
    """Return the table `obs` of the cells in files; None if some files have no names of cells.

    A column `file` is added where there are several files. Names that occur in more than one of
    them get the number of their file, as `anndata.concat` does it.
    """
    import pandas as pd

    from onepass.sources.single_cells import CellTable

    cells = [table for table in source.tables if isinstance(table, CellTable)]
    if len(cells) < len(source.tables):
        return None
    tables = [table.obs() for table in cells]
    if len(tables) == 1:
        return tables[0]
    if not pd.concat([table.index.to_series() for table in tables]).is_unique:
        for number, table in enumerate(tables):
            table.index = table.index + f"-{number}"
    for path, table in zip(source.paths, tables, strict=True):
        table["file"] = path
    return pd.concat(tables)


def copied_table(source: FileSource) -> AnnDataTable | None:
    """Return the AnnData file of which everything is copied: the only one that is read, if any."""
    from onepass.sources.single_cells import AnnDataTable

    (table, *others) = source.tables
    return table if isinstance(table, AnnDataTable) and not others else None


class _WatchedFile:
    """A file that remembers why it could not be written: the errors of HDF5 do not say it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Return what the file has; HDF5 reads, writes, seeks, truncates and flushes."""
        method = getattr(self._file, name)

        def call(*given: Any) -> Any:
            try:
                return method(*given)
            except OSError as error:
                self.error = self.error or error
                raise

        return call


@contextmanager
def _hdf5(file: BinaryIO) -> Iterator[Any]:
    """Open a file as an HDF5 file that is written."""
    import h5py

    watched = _WatchedFile(file)
    try:
        with h5py.File(watched, "w") as root:
            yield root
    except Exception as error:
        if watched.error is not None:
            raise watched.error from error
        raise
    if watched.error is not None:  # whether HDF5 has passed it on or not
        raise watched.error


@contextmanager
def writing_cells(
    path: str,
    fitted: Any,
    cells: Any,
    numbering: list[str],
    heads: list[str],
    given: AnnDataTable | None = None,
) -> Iterator[Write]:
    """Give a function that adds rows to an AnnData file, which appears when complete.

    Coordinates go to the file block by block. What is in `obs` is held, as anndata writes it whole.

    Parameters
    ----------
    path : str
        The file.
    fitted : estimator
        Its components go to ``varm["PCs"]`` and their variances to ``uns["pca"]``.
    cells : DataFrame or None
        The table `obs` of all rows; None if rows have no names.
    numbering : list of str
        The columns of what is added that say which file and line or row it is, if there are any.
    heads : list of str
        The last columns of what is added: coordinates, and "outlier" if that is wanted.
    given : AnnDataTable or None
        A file of which everything else is copied, if there is one. Genes that the model does not
        use have zeros in ``varm["PCs"]``.
    """
    import pandas as pd
    from anndata.io import write_elem

    from onepass.cli.kept import as_table

    k = fitted.components_.shape[0]
    parts: list[Any] = []  # of `obs`
    with replacing(path) as file, _hdf5(file) as root:
        # https://anndata.readthedocs.io describes the format; dense arrays may grow.
        root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        components = np.ascontiguousarray(fitted.components_.T)
        if given is None:
            genes = pd.DataFrame(index=[str(name) for name in fitted.column_names_])
            write_elem(root, "var", genes)
        else:
            given.copy_to(root)
            components = given.of_all_genes(components)
        for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            if name not in root:
                write_elem(root, name, {})
        for name in ("obsm/X_pca", "uns/pca"):
            if name in root:
                del root[name]
        write_elem(root["varm"], "PCs", components)
        variances = fitted.explained_variance_, fitted.explained_variance_ratio_
        found = dict(zip(("variance", "variance_ratio"), variances, strict=True))
        params = {"zero_center": bool(fitted.get_params().get("center", True))}
        write_elem(root["uns"], "pca", {"params": params, **found})
        coordinates: Any = None

        def write(rows: Any) -> None:
            nonlocal coordinates
            table = as_table(rows, heads) if isinstance(rows, np.ndarray) else rows
            n_kept = table.num_columns - len(heads)
            block = np.column_stack([np.asarray(column) for column in table.columns[n_kept:][:k]])
            if coordinates is None:
                rows_per_chunk = max(1, _FILE_CHUNK_BYTES // (k * block.itemsize))
                coordinates = root["obsm"].create_dataset(
                    "X_pca", (0, k), block.dtype, maxshape=(None, k), chunks=(rows_per_chunk, k)
                )
                coordinates.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            begin = len(coordinates)
            coordinates.resize(begin + len(block), axis=0)
            coordinates[begin:] = block
            others = [*range(n_kept), *range(n_kept + k, table.num_columns)]
            parts.append(table.select(others).to_pandas())

        yield write
        obs = pd.concat(parts, ignore_index=True)
        if len(heads) > k:
            obs[heads[-1]] = obs[heads[-1]].astype(bool)
        if cells is not None:
            obs.index = cells.index
            obs = pd.concat([cells.drop(columns=list(obs), errors="ignore"), obs], axis=1)
        else:
            texts = [obs[column].astype(str) for column in numbering]
            obs.index = pd.Index(texts[-1] if len(texts) == 1 else texts[0] + ":" + texts[1])
            obs = obs.drop(columns=numbering[-1])
        write_elem(root, "obs", obs)
