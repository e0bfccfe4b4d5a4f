"""NumPy's npy files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.files.rectangular import Fetch, Rectangular


class NpyTable(Rectangular):
    """An npy file, read piece by piece and never as a whole."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            shape, self._fortran, dtype = read_header(file)
            self._offset = file.tell()
            size = os.fstat(file.fileno()).st_size
        super().__init__(path, shape, dtype)
        if size < self._offset + shape[0] * shape[1] * dtype.itemsize:
            raise SourceError.at("it is cut off: its array does not end in it", file=path)

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the file."""
        with open(self.path, "rb", buffering=0) as file:
            yield self._by_columns(file) if self._fortran else self._by_rows(file)

    def _by_rows(self, file: IO[bytes]) -> Fetch:
        """Read an array in C order: rows are contiguous."""

        def fetch(row: int, out: NDArray[Any]) -> None:
            file.seek(self._offset + row * out.strides[0])
            read_into(file, out)

        return fetch

    def _by_columns(self, file: IO[bytes]) -> Fetch:
        """Read an array in Fortran order: a piece of each column."""
        assert self.n_rows is not None
        total = self.n_rows

        def fetch(row: int, out: NDArray[Any]) -> None:
            piece = np.empty(len(out), dtype=out.dtype)
            for j in range(out.shape[1]):
                file.seek(self._offset + (j * total + row) * out.itemsize)
                read_into(file, piece)
                out[:, j] = piece

        return fetch


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, whether in Fortran order, and type, and leave the file at the numbers."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"npy files of version {version} hold no plain numbers")


def read_into(file: Any, out: NDArray[Any]) -> None:
    """Fill a C-contiguous array with the next bytes of a binary file."""
    view = out.reshape(-1).view(np.uint8).data
    while len(view):
        count = file.readinto(view)
        if not count:
            raise EOFError("the file ends here")
        view = view[count:]
