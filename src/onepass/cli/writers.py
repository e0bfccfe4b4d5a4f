"""Write rows to a file, block by block, in the format of its suffix."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.cli.errors import Failure
from onepass.extras import require
from onepass.persistence.atomic import replacing

# Adds rows: a block of shape (b, k), or an Arrow table of the same columns, which may hold text.
# The types of the first rows are those of the file.
Write: TypeAlias = Callable[[Any], None]

_GROUP_ROWS = 1 << 16  # of a parquet file, at least: small row groups are slow to read


@contextmanager
def _npy(file: BinaryIO, names: list[str]) -> Iterator[Write]:
    """NumPy's format: its header has the number of rows, and is written again at the end."""
    rows = 0
    dtype: np.dtype = np.dtype(np.float64)

    def write_header() -> None:
        described = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": (rows, len(names)),  # NumPy leaves room for larger numbers
        }
        np.lib.format.write_array_header_1_0(file, described)

    def write(block: Any) -> None:
        nonlocal rows, dtype
        if not isinstance(block, np.ndarray):
            block = np.column_stack([_numbers(column) for column in block.columns])
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

    def write_lines(lines: Iterable[Iterable[str]]) -> None:
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
        return np.where(column.is_null(), "", _numbers(column).astype(str)).tolist()
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _numbers(column: Any) -> NDArray[Any]:
    """Return an Arrow column of numbers as an array, missing entries as NaN."""
    return np.asarray(column.to_numpy())


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
            schema = pa.schema([(field.name, _known(field.type)) for field in table.schema])
            if pandas is not None:
                schema = schema.with_metadata({"pandas": json.dumps(pandas)})
            writer = pyarrow.parquet.ParquetWriter(file, schema)
        writer.write_table(table.cast(writer.schema))

    def _known(kind: Any) -> Any:
        """Return a type for a column; one of which nothing is known yet becomes text."""
        return pa.string() if pa.types.is_null(kind) else kind

    def write(rows: Any) -> None:
        if isinstance(rows, np.ndarray):
            columns = [pa.array(np.ascontiguousarray(column)) for column in rows.T]
            rows = pa.table(columns, names)
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


_FORMATS: dict[str, Callable[[BinaryIO, list[str]], AbstractContextManager[Write]]] = {
    ".npy": _npy,
    ".csv": _csv,
    ".parquet": _parquet,
}


def check_format(path: str, others: Iterable[str] = ()) -> None:
    """Refuse a path with another suffix, or of a format whose package is missing.

    The message names the suffixes of other formats as well.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        raise Failure(f"{path}: the name must end in one of {', '.join([*_FORMATS, *others])}")
    if suffix == ".parquet":
        require("writing parquet files", "files", "pyarrow")


def with_floats(pandas: bytes | None, names: list[str]) -> dict[str, Any] | None:
    """Return what pandas knows of a file in which some columns have become floats.

    None if it was not written by pandas.
    """
    try:
        found = json.loads(pandas or b"")
        for column in found["columns"]:
            if column["name"] in names:
                column.update(pandas_type="float64", numpy_type="float64", metadata=None)
        return dict(found)
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


@contextmanager
def writing(
    path: str, names: list[str], delimiter: str = ",", pandas: dict[str, Any] | None = None
) -> Iterator[Write]:
    """Give a function that adds rows to a file, which appears when complete, or not at all.

    The delimiter is for csv files, and what pandas knows for parquet files.
    """
    suffix = os.path.splitext(path)[1].lower()
    make = partial(_csv, delimiter=delimiter) if suffix == ".csv" else _FORMATS[suffix]
    make = partial(_parquet, pandas=pandas) if suffix == ".parquet" else make
    with replacing(path) as file, make(file, names) as write:
        yield write
