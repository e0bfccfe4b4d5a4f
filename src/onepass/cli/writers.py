"""Write rows of numbers to a file, block by block, in the format of its suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.cli.errors import Failure
from onepass.persistence.atomic import replacing

# Adds a block of shape (b, k); the type of the first one is that of the file.
Write: TypeAlias = Callable[[NDArray[np.floating]], None]

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

    def write(block: NDArray[np.floating]) -> None:
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
def _csv(file: BinaryIO, names: list[str]) -> Iterator[Write]:
    """Text with a header; numbers have enough digits to be read back exactly."""
    file.write((",".join(names) + "\n").encode())

    def write(block: NDArray[np.floating]) -> None:
        lines = (",".join(row) for row in block.astype(str).tolist())
        file.write(("\n".join(lines) + "\n").encode())

    yield write


@contextmanager
def _parquet(file: BinaryIO, names: list[str]) -> Iterator[Write]:
    """Parquet, one column for each component."""
    import pyarrow as pa
    import pyarrow.parquet

    writer: Any = None
    waiting: list[NDArray[np.floating]] = []

    def write_group() -> None:
        nonlocal writer
        rows = np.concatenate(waiting)
        waiting.clear()
        table = pa.table([pa.array(np.ascontiguousarray(column)) for column in rows.T], names)
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)

    def write(block: NDArray[np.floating]) -> None:
        waiting.append(block)
        if sum(map(len, waiting)) >= _GROUP_ROWS:
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


def check_format(path: str) -> None:
    """Refuse a path with another suffix, or of a format whose package is missing."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        raise Failure(f"{path}: the name must end in one of {', '.join(_FORMATS)}")
    if suffix == ".parquet" and not find_spec("pyarrow"):
        raise ImportError("writing parquet files needs pyarrow: pip install 'onepass[files]'")


@contextmanager
def writing(path: str, names: list[str]) -> Iterator[Write]:
    """Give a function that adds rows to a file, which appears when complete, or not at all."""
    suffix = os.path.splitext(path)[1].lower()
    with replacing(path) as file, _FORMATS[suffix](file, names) as write:
        yield write
