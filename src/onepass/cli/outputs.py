"""The files that commands write row by row: npy, csv, parquet and h5ad.

Beside what is computed stand columns that are kept, and the numbers of the rows. Only they, and the
last two formats, need pyarrow.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.cli.data import table_of_cells
from onepass.cli.program import Failure
from onepass.extras import require
from onepass.persistence.atomic import replacing
from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.tables import numbered_names

# Adds rows: a block of shape (b, k), or an Arrow table of the same columns, which may hold text.
# The types of the first rows are those of the file.
Write: TypeAlias = Callable[[Any], None]

OUTLIER = "outlier"  # the name of a column: 1 for rows above a threshold, and 0
POINTS = "coordinates"  # the name of a column of lists
_GROUP_ROWS = 1 << 16  # of a parquet file, at least: small row groups are slow to read
_PACKAGES = {".parquet": ("files", "pyarrow"), ".h5ad": ("anndata", "anndata")}


class Columns:
    """The columns of a file of results: beside what is computed, numbers of rows and kept columns.

    Parameters
    ----------
    source : FileSource
    keep : list of str or int
        Columns that are written as they are in the files, given as for `onepass.open_source`.
    heads : list of str
        The names of what is computed.
    numbered : bool
        Whether rows are numbered: by their lines as an editor shows them, or counted from 1 where
        there are no lines. Names of files come first if there are several.
    as_list : bool
        Whether all that is computed is one column of lists; flags of outliers follow.

    Attributes
    ----------
    names : list of str
        Of all columns, which differ.
    numbering : list of str
        The first of them: the numbers of the rows, after the names of the files.
    """

    def __init__(
        self,
        source: FileSource,
        keep: Sequence[str | int],
        heads: list[str],
        *,
        numbered: bool = False,
        as_list: bool = False,
    ) -> None:
        self._source, self._heads, self._as_list = source, heads, as_list
        tables, first = source.tables, source.tables[0]
        labels = [first.column(j) for j in first.find_all(keep)]
        self.numbering = []
        if numbered:
            has_lines = not source.once and all(table.lines() is not None for table in tables)
            files = ["file"] * (len(tables) > 1)
            self.numbering = [*files, "line" if has_lines else "row"]
        self.names = numbered_names([*self.numbering, *map(str, labels), *heads])
        self._lines = InStep([lines] for table in tables for lines in table.lines() or ())
        self._kept = InStep(
            cells for table in tables for cells in table.cells([table.find(x) for x in labels])
        )
        self._has_kept = bool(labels)

    def beside(self, end: Position, rows: int) -> list[Any]:
        """Return what stands beside the next rows, as Arrow arrays; `end` is where they end."""
        arrays: list[Any] = []
        for name in self.numbering:
            if name == "file":
                arrays.append([self._source.paths[end.file]] * rows)
            elif name == "line":
                arrays += self._lines.take(rows)
            else:
                arrays.append(np.arange(end.row - rows + 1, end.row + 1))
        return [*arrays, *(self._kept.take(rows) if self._has_kept else ())]

    def add(self, end: Position, block: NDArray[Any]) -> Any:
        """Return rows with what stands beside them; `end` is the position after them."""
        if len(self.names) == len(self._heads) and not self._as_list:
            return block
        import pyarrow as pa

        computed: list[Any] = [np.ascontiguousarray(column) for column in block.T]
        if is_flagged := self._heads[-1:] == [OUTLIER]:
            computed[-1] = computed[-1].astype(np.int8)
        if self._as_list:
            stop = len(computed) - is_flagged
            flat = pa.array(np.ascontiguousarray(block[:, :stop]).ravel())
            computed = [pa.FixedSizeListArray.from_arrays(flat, stop), *computed[stop:]]
        return pa.table([*self.beside(end, len(block)), *computed], self.names)


class InStep:
    """Arrow arrays of some rows at a time, which are taken in pieces of other lengths."""

    def __init__(self, pieces: Iterator[Sequence[Any]]) -> None:
        self._pieces = pieces
        self._waiting: list[Any] = []

    def take(self, rows: int) -> list[Any]:
        """Return the next rows."""
        import pyarrow as pa

        while sum(table.num_rows for table in self._waiting) < rows:
            columns = next(self._pieces)
            self._waiting.append(pa.table(columns, [str(j) for j in range(len(columns))]))
        whole = pa.concat_tables(self._waiting, promote_options="permissive")
        self._waiting = [whole.slice(rows)]
        return list(whole.slice(0, rows).columns)


# -- formats ---------------------------------------------------------------------------------------


@contextmanager
def _npy(file: BinaryIO, names: list[str]) -> Iterator[Write]:
    """NumPy's format: its header has the number of rows, and is written again at the end."""
    rows, dtype = 0, np.dtype(np.float64)

    def write_header() -> None:
        shape = (rows, len(names))  # NumPy leaves room for larger numbers
        described = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, described)

    def write(block: Any) -> None:
        nonlocal rows, dtype
        dtype = block.dtype
        file.write(np.ascontiguousarray(block).data)
        rows += len(block)

    write_header()
    yield write
    file.seek(0)
    write_header()
    file.seek(0, os.SEEK_END)


@contextmanager
def _csv(file: BinaryIO, names: list[str], delimiter: str = ",") -> Iterator[Write]:
    """Text with a header; numbers have enough digits to be read back exactly."""

    def write_lines(lines: Any) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(lines)
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))

    def write(rows: Any) -> None:
        if isinstance(rows, np.ndarray):
            write_lines(rows.astype(str).tolist())
        else:
            write_lines(zip(*map(_texts, rows.columns), strict=True))

    write_lines([names])
    yield write


def _texts(column: Any) -> list[str]:
    """Return an Arrow column as text, which is empty where an entry is missing."""
    if str(column.type) in ("float", "double"):
        return np.where(column.is_null(), "", column.to_numpy().astype(str)).tolist()
    return ["" if value is None else str(value) for value in column.to_pylist()]


@contextmanager
def _parquet(
    file: BinaryIO, names: list[str], pandas: dict[str, Any] | None = None
) -> Iterator[Write]:
    """Parquet; `pandas` is what pandas wants to know about index and types."""
    import pyarrow as pa
    import pyarrow.parquet

    writer: Any = None
    waiting: list[Any] = []

    def write_group() -> None:
        nonlocal writer
        table = pa.concat_tables(waiting, promote_options="permissive")
        waiting.clear()
        if writer is None:
            # A column of which nothing is known yet becomes text.
            kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in table.schema.types]
            metadata = None if pandas is None else {"pandas": json.dumps(pandas)}
            schema = pa.schema(zip(table.column_names, kinds, strict=True), metadata)
            writer = pyarrow.parquet.ParquetWriter(file, schema)
        writer.write_table(table.cast(writer.schema))

    def write(rows: Any) -> None:
        if isinstance(rows, np.ndarray):
            rows = pa.table([np.ascontiguousarray(column) for column in rows.T], names)
        waiting.append(rows)
        if sum(table.num_rows for table in waiting) >= _GROUP_ROWS:
            write_group()

    try:
        yield write
        if waiting:
            write_group()
        writer.close()
    except BaseException:
        if writer is not None:  # or pyarrow would write to the closed file later
            with suppress(Exception):
                writer.close()
            writer.is_open = False
        raise


_FORMATS: dict[str, Any] = {".npy": _npy, ".csv": _csv, ".parquet": _parquet}


def check_format(path: str, *others: str, keep: Sequence[str] | None = None) -> str:
    """Return the suffix of a path, which must be of a format, or of others, that can be written."""
    suffix, known = os.path.splitext(path)[1].lower(), [*_FORMATS, *others]
    if suffix not in known:
        raise Failure(f"{path}: the name must end in one of {', '.join(known)}")
    if keep and suffix == ".npy":
        raise Failure(f"--keep: {path} holds numbers only; write to .csv or .parquet")
    if suffix in _PACKAGES:
        require(f"writing {suffix} files", *_PACKAGES[suffix])
    return suffix


@contextmanager
def writing(path: str, names: list[str], **options: Any) -> Iterator[Write]:
    """Give a function that adds rows to a file, which appears when complete, or not at all."""
    make = _FORMATS[os.path.splitext(path)[1].lower()]
    with replacing(path) as file, make(file, names, **options) as write:
        yield write


@contextmanager
def writing_cells(path: str, fitted: Any, source: FileSource, columns: Columns) -> Iterator[Write]:
    """Give a function that adds rows, as tables, to an AnnData file, which appears when complete.

    Coordinates and `obs` are held until then. If the source is a single AnnData file, everything
    else is copied; genes that the model does not use have zeros in ``varm["PCs"]``.
    """
    import h5py
    import pandas as pd
    from anndata.io import write_elem

    from onepass.sources.single_cells import AnnDataTable

    tables: list[Any] = []
    yield tables.append
    frames = [table.drop_columns([POINTS]).to_pandas() for table in tables]
    flat = [chunk.flatten().to_numpy() for table in tables for chunk in table[POINTS].chunks]
    points = np.concatenate(flat).reshape(-1, fitted.n_components_)
    obs, cells = pd.concat(frames, ignore_index=True), table_of_cells(source)
    if OUTLIER in obs:
        obs[OUTLIER] = obs[OUTLIER].astype(bool)
    if cells is None:
        numbers = obs[columns.numbering].astype(str)
        obs.index = pd.Index(numbers.agg(":".join, axis=1))
        obs = obs.drop(columns=columns.numbering[-1])
    else:
        obs = obs.set_index(cells.index) if len(obs.columns) else pd.DataFrame(index=cells.index)
        obs = pd.concat([cells.drop(columns=list(obs), errors="ignore"), obs], axis=1)
    components = np.ascontiguousarray(fitted.components_.T)
    first = source.tables[0]
    with replacing(path) as file, h5py.File(file.name, "w") as root:
        # https://anndata.readthedocs.io describes the format.
        root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        if isinstance(first, AnnDataTable) and len(source.tables) == 1:
            first.copy_to(root)
            components = first.of_all_genes(components)
        else:
            write_elem(root, "var", pd.DataFrame(index=list(map(str, fitted.column_names_))))
        for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            if name not in root:
                write_elem(root, name, {})
        write_elem(root, "obs", obs)
        write_elem(root["obsm"], "X_pca", points)
        write_elem(root["varm"], "PCs", components)
        found = {
            "params": {"zero_center": bool(fitted.get_params().get("center", True))},
            "variance": fitted.explained_variance_,
            "variance_ratio": fitted.explained_variance_ratio_,
        }
        write_elem(root["uns"], "pca", found)
