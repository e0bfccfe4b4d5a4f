"""Rows of coordinates -> a file, block by block, in the format of its suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from onepass.cli.errors import Failure
from onepass.model_file import replacing


class Writer:
    """Writes blocks of rows to an open file.

    Parameters
    ----------
    file : binary file
        Open for writing; it must be possible to go back in it.
    names : list of str
        The names of the columns.

    Attributes
    ----------
    rows : int
        How many were written.
    """

    def __init__(self, file: BinaryIO, names: list[str]) -> None:
        self._file, self._names, self.rows = file, names, 0

    def write(self, block: NDArray[np.floating]) -> None:
        """Add a block of shape (b, k); the first one decides about the type of the numbers."""
        if self.rows == 0:
            self._begin(block.dtype)
        self._write(np.ascontiguousarray(block))
        self.rows += len(block)

    def finish(self) -> None:
        """Write what comes last."""

    def abandon(self) -> None:
        """Let go of the file, whatever is in it."""

    def _begin(self, dtype: np.dtype) -> None:
        """Write what comes first."""
        raise NotImplementedError

    def _write(self, block: NDArray[np.floating]) -> None:
        """Add a block."""
        raise NotImplementedError


class NpyWriter(Writer):
    """NumPy's format: the header says how many rows there are, and is written again at the end."""

    def _begin(self, dtype: np.dtype) -> None:
        self._dtype = dtype
        described = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": (self.rows, len(self._names)),  # NumPy leaves room for larger numbers
        }
        np.lib.format.write_array_header_1_0(self._file, described)

    def _write(self, block: NDArray[np.floating]) -> None:
        self._file.write(block.data)

    def finish(self) -> None:
        """Correct the number of rows."""
        self._file.seek(0)
        self._begin(self._dtype)
        self._file.seek(0, os.SEEK_END)


class CsvWriter(Writer):
    """Text with a header; every number has as many digits as it takes to read it back exactly."""

    def _begin(self, dtype: np.dtype) -> None:
        self._file.write((",".join(self._names) + "\n").encode())

    def _write(self, block: NDArray[np.floating]) -> None:
        lines = (",".join(row) for row in block.astype(str).tolist())
        self._file.write(("\n".join(lines) + "\n").encode())


class ParquetWriter(Writer):
    """Parquet, one column for each component."""

    _GROUP_ROWS = 1 << 16  # at least: small row groups are slow to read

    _parquet: Any = None

    def _begin(self, dtype: np.dtype) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        self._schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in self._names])
        self._parquet = pyarrow.parquet.ParquetWriter(self._file, self._schema)
        self._blocks: list[NDArray[np.floating]] = []

    def _write(self, block: NDArray[np.floating]) -> None:
        self._blocks.append(block)
        if sum(map(len, self._blocks)) >= self._GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        """Write the blocks that wait."""
        import pyarrow as pa

        if self._blocks:
            rows = np.concatenate(self._blocks)
            columns = [pa.array(np.ascontiguousarray(column)) for column in rows.T]
            self._parquet.write_table(pa.table(columns, schema=self._schema))
            self._blocks.clear()

    def finish(self) -> None:
        """Write the last blocks and the table of contents."""
        self._write_group()
        self._parquet.close()

    def abandon(self) -> None:
        """Let go of the file, which pyarrow would otherwise write to when it is closed already."""
        if self._parquet is not None:
            with suppress(Exception):
                self._parquet.close()
            self._parquet.is_open = False


_FORMATS: dict[str, type[Writer]] = {
    ".npy": NpyWriter,
    ".csv": CsvWriter,
    ".parquet": ParquetWriter,
}


def check_format(path: str) -> type[Writer]:
    """Return the writer for a path; refuse another suffix, or a format whose package is missing."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        raise Failure(f"{path}: the name must end in one of {', '.join(_FORMATS)}")
    if suffix == ".parquet" and not find_spec("pyarrow"):
        raise ImportError("writing parquet files needs pyarrow: pip install 'onepass[files]'")
    return _FORMATS[suffix]


@contextmanager
def writing(path: str, names: list[str]) -> Iterator[Writer]:
    """Give a writer for a file that appears when it is complete, or not at all."""
    with replacing(path) as file:
        writer = check_format(path)(file, names)
        try:
            yield writer
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
