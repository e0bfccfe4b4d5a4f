"""Files that hold an array: what npy, npz, HDF5 and Zarr have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.buffers import Buffers
from onepass.sources.files.table import Table

# fetch(row, out) fills out of shape (b, columns) with the rows from number `row` on.
Fetch: TypeAlias = Callable[[int, NDArray[Any]], None]

_MOST_BYTES = 1 << 25


class Rectangular(Table):
    """A file that holds one two-dimensional array of one type."""

    names = None

    def __init__(
        self, path: str, shape: tuple[int, ...], dtype: np.dtype, chunk_rows: int = 1
    ) -> None:
        if len(shape) != 2 or shape[1] == 0:
            raise SourceError.at(f"an array of shape {shape} has no rows and columns", file=path)
        self.path = path
        self.dtype = dtype
        self.n_rows = shape[0]
        self.numeric = np.full(shape[1], dtype.kind in "biuf")
        self.single = np.full(shape[1], dtype.newbyteorder("=") == np.float32)
        self._chunk_rows = chunk_rows

    def why_not_numeric(self, index: int) -> str:
        """Return what a column that is not numeric holds."""
        return f"values of type {self.dtype}"

    @abstractmethod
    def open(self) -> AbstractContextManager[Fetch]:
        """Open the file for reading rows in increasing order."""

    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        assert self.n_rows is not None
        width = len(self.numeric)
        everything = np.array_equal(columns, np.arange(width))
        # Compressed chunks are best read whole, if they are not too long.
        most = max(1, _MOST_BYTES // (width * self.dtype.itemsize))
        rows = max(block_rows, min(self._chunk_rows, most))
        direct = everything and self.dtype == buffers.dtype
        # Never leaves this function, and so can be used for every block.
        scratch = np.empty((0 if direct else min(rows, self.n_rows), width), dtype=self.dtype)
        with self.open() as fetch:
            for begin in range(start, self.n_rows, rows):
                count = min(rows, self.n_rows - begin)
                block = buffers.take((count, len(columns)))
                if direct:
                    fetch(begin, block)
                else:
                    fetch(begin, scratch[:count])
                    part = scratch[:count] if everything else scratch[:count, columns]
                    np.copyto(block, part, casting="unsafe")
                yield block
