"""NumPy's npy files, and what they have in common with other files that hold an array."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError, check_width, float_type, rows_per_block
from onepass.sources.files.storage import open_file
from onepass.sources.files.table import Columns, Table

# fetch(begin, end) returns the rows from number `begin` to before `end`, shape (end - begin, width)
Fetch: TypeAlias = Callable[[int, int], NDArray[Any]]

CHUNK_LIMIT_BYTES = 1 << 28


class ArrayTable(Table):
    """A file that holds one two-dimensional array of one type, maybe stored in chunks."""

    def __init__(
        self, path: str, shape: tuple[int, ...], dtype: np.dtype, chunk: tuple[int, ...] = (1, 1)
    ) -> None:
        self.path = path
        if len(shape) != 2 or shape[1] == 0:
            raise SourceError.at(f"an array of shape {shape} has no rows and columns", file=path)
        if dtype.kind not in "biuf":
            raise SourceError.at(f"contains values of type {dtype}, not numbers", file=path)
        self.n_rows, self.width = shape
        self.dtype = dtype
        check_width(self.width, path)
        chunk_bytes = int(np.prod(chunk, dtype=object)) * dtype.itemsize
        if chunk_bytes > CHUNK_LIMIT_BYTES:
            raise SourceError.at(
                f"its chunks of shape {chunk} take {chunk_bytes >> 20:,} MB each, the limit is "
                f"{CHUNK_LIMIT_BYTES >> 20} MB",
                file=path,
            )
        # Chunks are best read whole, if not too many columns are beside them.
        most = max(1, (CHUNK_LIMIT_BYTES >> 3) // (self.width * dtype.itemsize))
        self._rows = max(rows_per_block(self.width), min(chunk[0], most))

    def float_type(self, columns: Columns) -> np.dtype:
        """Return float32 if the array is, or float64."""
        return float_type(self.dtype)

    @abstractmethod
    def open(self) -> AbstractContextManager[Fetch]:
        """Open the file for reading rows in increasing order."""

    def read(
        self, columns: Columns, start: int, block_rows: int, dtype: np.dtype
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        assert self.n_rows is not None
        with self.open() as fetch:
            for begin in range(start, self.n_rows, self._rows):
                rows = fetch(begin, min(begin + self._rows, self.n_rows))
                part = rows if columns is None else rows[:, columns]
                yield np.ascontiguousarray(part, dtype=dtype)


class NpyTable(ArrayTable):
    """An npy file, read piece by piece and never as a whole."""

    def __init__(self, path: str) -> None:
        with open_file(path) as file:
            shape, self._fortran, dtype = read_header(file)
            self._offset = file.tell()
            size = file.seek(0, os.SEEK_END)
        super().__init__(path, shape, dtype)
        if size < self._offset + shape[0] * shape[1] * dtype.itemsize:
            raise SourceError.at("it is cut off: its array does not end in it", file=path)

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the file."""
        assert self.n_rows is not None
        total = self.n_rows
        with open_file(self.path) as file:

            def by_rows(begin: int, end: int) -> NDArray[Any]:
                file.seek(self._offset + begin * self.width * self.dtype.itemsize)
                return read_array(file, (end - begin, self.width), self.dtype)

            def by_columns(begin: int, end: int) -> NDArray[Any]:
                rows = np.empty((end - begin, self.width), dtype=self.dtype)
                for j in range(self.width):
                    file.seek(self._offset + (j * total + begin) * self.dtype.itemsize)
                    rows[:, j] = read_array(file, (end - begin,), self.dtype)
                return rows

            yield by_columns if self._fortran else by_rows


def read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, whether in Fortran order, and type, and leave the file at the numbers."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"npy files of version {version} hold no plain numbers")


def read_array(file: Any, shape: tuple[int, ...], dtype: np.dtype) -> NDArray[Any]:
    """Return an array of the next bytes of a file."""
    array = np.empty(shape, dtype=dtype)
    view = array.reshape(-1).view(np.uint8).data
    while len(view):
        count = file.readinto(view)
        if not count:
            raise EOFError("the file ends here")
        view = view[count:]
    return array
