"""Several files as one stream of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from onepass.sources.ahead import read_ahead
from onepass.sources.base import Block, Position, Source, SourceError, rows_per_block
from onepass.sources.buffers import Buffers
from onepass.sources.files.columns import choose
from onepass.sources.files.table import Table
from onepass.sources.finite import check_finite


class FileSource(Source):
    """The rows of files, one after the other; `onepass.open_source` makes it.

    Blocks are float32 if all chosen columns of all files are, and float64 otherwise. Iterating
    reads ahead in a thread of its own.

    Parameters
    ----------
    tables : list of Table
        The files.
    columns, block_rows, skip_non_numeric
        As for `onepass.open_source`.
    """

    def __init__(
        self,
        tables: list[Table],
        columns: Sequence[str | int] | None,
        block_rows: int | None,
        skip_non_numeric: bool,
    ) -> None:
        self._tables = tables
        for table in tables:
            table.settle(tables, columns)
        self._columns = choose(tables, columns, skip_non_numeric)
        self._block_rows = block_rows or rows_per_block(len(self._columns[0]))
        single = (table.single[chosen].all() for table, chosen in self._files())
        self._dtype = np.dtype(np.float32 if all(single) else np.float64)
        self._used = False
        names = tables[0].names
        self.feature_names = names and [names[j] for j in self._columns[0].tolist()]
        self.n_features = len(self._columns[0])
        counts = [table.n_rows for table in tables]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)
        if self.n_rows == 0:
            raise SourceError.at("there are no rows", file=tables[0].path)

    @property
    def paths(self) -> list[str]:
        """The files, in the order in which they are read."""
        return [table.path for table in self._tables]

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        begin = Position(0, 0) if start is None else Position(*start)
        if not (0 <= begin.file < len(self._tables) and begin.row >= 0):
            raise SourceError(f"there is no position {tuple(begin)} in {len(self._tables)} files")
        if any(table.one_use for table in self._tables):
            if self._used:
                raise SourceError.at("it can be read only once", file=self._tables[0].path)
            self._used = True
            # Without a thread: one that waits for a pipe could not be stopped.
            yield from self._read(begin)
        else:
            yield from read_ahead(lambda: self._read(begin))

    def _files(self) -> Iterator[tuple[Table, NDArray[np.intp]]]:
        """Yield each file with its chosen columns."""
        yield from zip(self._tables, self._columns, strict=True)

    def _read(self, start: Position) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block), in this thread."""
        buffers = Buffers(self._dtype)
        empty = start == Position(0, 0)
        for index, (table, columns) in enumerate(self._files()):
            if index < start.file:
                continue
            row = start.row if index == start.file else 0
            for block in _guarded(table, columns, row, self._block_rows, buffers):
                for begin in range(0, block.shape[0], self._block_rows):
                    piece = block[begin : begin + self._block_rows]
                    check_finite(piece, row, partial(_column, table, columns), table.path)
                    row += piece.shape[0]
                    empty = False
                    yield Position(index, row), piece
            if table.n_rows is not None and row != table.n_rows:
                raise SourceError.at(
                    f"it should have {table.n_rows} rows", file=table.path, row=row
                )
        if empty:
            raise SourceError.at("there are no rows", file=self._tables[0].path)


def _column(table: Table, columns: NDArray[np.intp], j: int) -> str | int:
    """Return how messages call column number j of a block."""
    return table.column(int(columns[j]))


def _guarded(
    table: Table, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
) -> Iterator[Block]:
    """Yield the blocks of a file, every error of its reader turned into a SourceError."""
    row = start
    try:
        for block in table.read(columns, start, block_rows, buffers):
            row += block.shape[0]
            yield block
    except (SourceError, ImportError):
        raise
    except Exception as error:  # the libraries that read formats raise anything
        raise SourceError.at(
            f"cannot be read on: {str(error) or type(error).__name__}",
            file=table.path,
            row=row + 1,
        ) from error
