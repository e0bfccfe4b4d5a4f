"""Rows from columns: a stretch of each column, one after the other, then cut into blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.columnar import numbers

_GATHERED = 3 << 23  # bytes of a stretch: a page that is cut is read again for each part
# Rows of it: for fewer, finding pages and dictionaries would take most of the time.
_LEAST_ROWS = 1 << 14


class ColumnReader(Protocol):
    """A column of one row group, read in stretches of rows that never go back."""

    def whole(self, row: int, most: int) -> int:
        """Return how many rows from a row on are good to read, at most so many if possible."""

    def read(self, begin: int, end: int) -> Any:
        """Return the rows from number `begin` to `end`, as a pyarrow.ChunkedArray."""


class Gathering:
    """Makes blocks of rows.

    Parameters
    ----------
    width : int
        The number d of columns.
    block_rows : int
        Rows of a block.
    buffers : Buffers
        Where blocks take their memory.
    """

    def __init__(self, width: int, block_rows: int, buffers: Buffers) -> None:
        self._width, self._block_rows, self._buffers = width, block_rows, buffers
        self._memory = np.empty(0, dtype=buffers.dtype)

    def blocks(
        self, readers: Sequence[ColumnReader], start: int, length: int
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` to `length` of a row group."""
        while start < length:
            end = min(length, start + self._stretch(readers, start))
            columns = self._columns(end - start)
            for reader, column in zip(readers, columns, strict=True):
                _copy(reader.read(start, end), column)
            for begin in range(0, end - start, self._block_rows):
                part = columns[:, begin : begin + self._block_rows]
                block = self._buffers.take((part.shape[1], self._width))
                np.copyto(block, part.T)
                yield block
            start = end

    def _stretch(self, readers: Sequence[ColumnReader], start: int) -> int:
        """Return how many rows to gather: what memory allows, cutting few pages."""
        most = max(_LEAST_ROWS, _GATHERED // (self._width * self._buffers.dtype.itemsize))
        whole = max(reader.whole(start, most) for reader in readers)
        return math.ceil(whole / math.ceil(whole / most))

    def _columns(self, rows: int) -> NDArray[np.floating]:
        """Return room for a stretch, of shape (d, rows)."""
        if self._memory.size < rows * self._width:
            self._memory = np.empty(rows * self._width, dtype=self._buffers.dtype)
        return self._memory[: rows * self._width].reshape(self._width, rows)


def _copy(found: Any, column: NDArray[np.floating]) -> None:
    """Copy a pyarrow.ChunkedArray into a column of shape (rows,)."""
    row = 0
    for chunk in found.chunks:
        column[row : row + len(chunk)] = numbers(chunk)
        row += len(chunk)
    if row != len(column):
        raise ValueError(f"a column has {row} rows where others have {len(column)}")
