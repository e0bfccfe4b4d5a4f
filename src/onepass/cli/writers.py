"""Write rows to a file, block by block, in the format of its suffix."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from onepass.cli.errors import Failure
from onepass.extras import require
from onepass.persistence.atomic import replacing

# Adds rows: a block of shape (b, k), or an Arrow table of the same columns, which may hold text.
# The types of the first rows are those of the file.
Write: TypeAlias = Callable[[Any], None]

OUTLIER = "outlier"  # the name of a column: 1 for rows above a threshold, and 0
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
            known = [(field.name, known_type(field.type)) for field in table.schema]
            metadata = None if pandas is None else {"pandas": json.dumps(pandas)}
            writer = pyarrow.parquet.ParquetWriter(file, pa.schema(known, metadata))
        writer.write_table(table.cast(writer.schema))

    def known_type(kind: Any) -> Any:
        """Return a type for a column; one of which nothing is known yet becomes text."""
        return pa.string() if pa.types.is_null(kind) else kind

    def write(rows: Any) -> None:
        if isinstance(rows, np.ndarray):
            rows = pa.table([pa.array(np.ascontiguousarray(column)) for column in rows.T], names)
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


def check_format(path: str, others: Iterable[str] = ()) -> None:
    """Refuse a path with another suffix, or of a format whose package is missing.

    The message names the suffixes of other formats as well.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        raise Failure(f"{path}: the name must end in one of {', '.join([*_FORMATS, *others])}")
    if suffix == ".parquet":
        require("writing parquet files", "files", "pyarrow")


@contextmanager
def writing(path: str, names: list[str], **options: Any) -> Iterator[Write]:
    """Give a function that adds rows to a file, which appears when complete, or not at all."""
    make = _FORMATS[os.path.splitext(path)[1].lower()]
    with replacing(path) as file, make(file, names, **options) as write:
        yield write
