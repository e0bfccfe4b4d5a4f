"""Rows of coordinates -> a file, block by block, in the format of its suffix."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from onepass.cli.guarding import Failure


class Writer(ABC):
    """Writes blocks of rows to an open file.

    Parameters
    ----------
    file : binary file
        Open for writing; it must be possible to go back in it.
    names : list of str
        The names of the columns.
    dtype : dtype
        Of the numbers.
    """

    def __init__(self, file: BinaryIO, names: list[str], dtype: np.dtype) -> None:
        self._file, self._names, self._dtype = file, names, dtype
        self.rows = 0

    def write(self, block: NDArray[np.floating]) -> None:
        """Add a block of shape (b, k)."""
        self._write(np.ascontiguousarray(block, dtype=self._dtype))
        self.rows += len(block)

    @abstractmethod
    def _write(self, block: NDArray[np.floating]) -> None:
        """Add a block."""

    def finish(self) -> None:
        """Write what comes last."""
        return

    def abandon(self) -> None:
        """Let go of the file, whatever is in it."""
        return


class NpyWriter(Writer):
    """NumPy's format: the header says how many rows there are, and is written again at the end."""

    def __init__(self, file: BinaryIO, names: list[str], dtype: np.dtype) -> None:
        super().__init__(file, names, dtype)
        self._write_header()
        self._start = file.tell()

    def _write_header(self) -> None:
        """Write the header, in which NumPy leaves room for more rows."""
        described = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.rows, len(self._names)),
        }
        np.lib.format.write_array_header_1_0(self._file, described)

    def _write(self, block: NDArray[np.floating]) -> None:
        self._file.write(block.data)

    def finish(self) -> None:
        """Correct the number of rows."""
        self._file.seek(0)
        self._write_header()
        assert self._file.tell() == self._start
        self._file.seek(0, os.SEEK_END)


class CsvWriter(Writer):
    """Text with a header; every number has as many digits as it takes to read it back exactly."""

    def __init__(self, file: BinaryIO, names: list[str], dtype: np.dtype) -> None:
        super().__init__(file, names, dtype)
        file.write((",".join(names) + "\n").encode())

    def _write(self, block: NDArray[np.floating]) -> None:
        lines = (",".join(row) for row in block.astype(str).tolist())
        self._file.write(("\n".join(lines) + "\n").encode())


class ParquetWriter(Writer):
    """Parquet, one column for each component."""

    _group = 1 << 16  # rows of a row group, at least: small ones are slow to read

    def __init__(self, file: BinaryIO, names: list[str], dtype: np.dtype) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        super().__init__(file, names, dtype)
        self._schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in names])
        self._parquet = pyarrow.parquet.ParquetWriter(file, self._schema)
        self._blocks: list[NDArray[np.floating]] = []

    def _write(self, block: NDArray[np.floating]) -> None:
        self._blocks.append(block)
        if sum(map(len, self._blocks)) >= self._group:
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
        with suppress(Exception):
            self._parquet.close()
        self._parquet.is_open = False


_FORMATS: dict[str, type[Writer]] = {
    ".npy": NpyWriter,
    ".csv": CsvWriter,
    ".parquet": ParquetWriter,
}


def writer_for(path: str) -> type[Writer]:
    """Return the writer for a path; refuse another suffix, or a format whose package is missing."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        raise Failure(f"{path}: its format is not known; {', '.join(_FORMATS)} are")
    if suffix == ".parquet":
        _require_pyarrow()
    return _FORMATS[suffix]


def _require_pyarrow() -> Any:
    """Return pyarrow."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "writing parquet files needs pyarrow: pip install 'onepass[files]'"
        ) from error
    return pyarrow
