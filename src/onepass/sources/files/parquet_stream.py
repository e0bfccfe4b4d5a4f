"""One column of a parquet file, from its beginning to its end."""

from __future__ import annotations

from typing import Any

_ROWS = 1 << 14


class ColumnStream:
    """A column of one row group, read in stretches of rows that never go back.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        The file.
    group : int
        The row group.
    name : str
        The column.
    """

    def __init__(self, file: Any, group: int, name: str) -> None:
        # One thread: more of them take more memory, and other work is waiting for the cores.
        self._found = file.iter_batches(
            _ROWS, row_groups=[group], columns=[name], use_threads=False
        )
        self._name = name
        self._row = 0  # of the first one that is held
        self._held: list[Any] = []

    def whole(self, row: int, most: int) -> int:
        """Return how many rows from a row on are good to read: any number is."""
        return most

    def read(self, begin: int, end: int) -> Any:
        """Return the rows from number `begin` to `end`, as a pyarrow.ChunkedArray."""
        import pyarrow as pa

        held = sum(map(len, self._held))
        while self._row + held < end:
            piece = next(self._found).column(self._name)
            held += len(piece)
            self._held.append(piece)
            while self._held and self._row + len(self._held[0]) <= begin:
                dropped = len(self._held.pop(0))
                self._row, held = self._row + dropped, held - dropped
        return pa.chunked_array(self._held).slice(begin - self._row, end - begin)
