"""Rows from columns: a stretch of each column, one after the other, then cut into blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.columnar import numbers

_GATHERED = 1 << 24  # bytes of a stretch: a page that is cut is read again for each part
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
        self._most = max(_LEAST_ROWS, _GATHERED // (width * buffers.dtype.itemsize))  # rows at once
        self._memory = np.empty(0, dtype=buffers.dtype)
        self._block: NDArray[np.floating] | None = None  # that is not full yet
        self._filled = 0  # its rows

    def blocks(
        self, readers: Sequence[ColumnReader], start: int, length: int
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` to `length` of a row group, in full blocks.

        What is left of them comes with the next row group, or by `rest`.
        """
        self._make_room(min(self._most, length - start))
        while start < length:
            end = min(length, start + self._stretch(readers, start))
            room = self._memory[: (end - start) * self._width]
            columns = room.reshape(self._width, end - start)
            for reader, column in zip(readers, columns, strict=True):
                _copy(reader.read(start, end), column)
            yield from self._cut(columns)
            start = end

    def rest(self) -> Iterator[NDArray[np.floating]]:
        """Yield the rows that did not fill a block, if there are any."""
        if self._block is not None:
            block, self._block = self._block, None
            yield block[: self._filled]

    def _cut(self, columns: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
        """Yield full blocks of the rows of a stretch, of shape (d, rows)."""
        begin, rows = 0, columns.shape[1]
        while begin < rows:
            if self._block is None:
                self._block = self._buffers.take((self._block_rows, self._width))
                self._filled = 0
            end = min(rows, begin + self._block_rows - self._filled)
            part = self._block[self._filled : self._filled + end - begin]
            np.copyto(part, columns[:, begin:end].T)
            self._filled += end - begin
            begin = end
            if self._filled == self._block_rows:
                del part
                yield from self.rest()

    def _stretch(self, readers: Sequence[ColumnReader], start: int) -> int:
        """Return how many rows to gather: what memory allows, cutting few pages."""
        whole = max(reader.whole(start, self._most) for reader in readers)
        return math.ceil(whole / math.ceil(whole / self._most))

    def _make_room(self, rows: int) -> None:
        """Make room for stretches of so many rows."""
        if self._memory.size < rows * self._width:
            self._memory = self._memory[:0].copy()  # else both would be held for a while
            self._memory = np.empty(rows * self._width, dtype=self._buffers.dtype)


def _copy(found: Any, column: NDArray[np.floating]) -> None:
    """Copy a pyarrow.ChunkedArray into a column of shape (rows,)."""
    row = 0
    for chunk in found.chunks:
        column[row : row + len(chunk)] = numbers(chunk)
        row += len(chunk)
    if row != len(column):
        raise ValueError(f"a column has {row} rows where others have {len(column)}")
