"""Several files as one stream of rows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import numpy as np

from onepass.sources.ahead import read_ahead
from onepass.sources.base import (
    Block,
    Position,
    Source,
    SourceError,
    check_finite,
    check_width,
    rows_per_block,
)
from onepass.sources.files.table import Table, choose, listed


class FileSource(Source):
    """The rows of files, one after the other; `onepass.open_source` makes it.

    Blocks are float32 if all chosen columns of all files are, and float64 otherwise. Iterating
    reads ahead in a thread of its own.

    Parameters
    ----------
    tables : list of Table
        The files.
    columns, block_rows, skip_non_numeric, keep_index
        As for `onepass.open_source`.

    Attributes
    ----------
    files : list of (str, int or None)
        The files in the order in which they are read: path, and number of rows where it is known.
    notes : list of str
        What was decided about the files without having been asked for, one line each.
    index : list of str or int
        The columns of pandas' index that are left out, by name or by number.
    named : bool
        Whether the columns have names in the files.
    """

    def __init__(
        self,
        tables: list[Table],
        columns: Sequence[str | int] | None,
        block_rows: int | None,
        skip_non_numeric: bool,
        keep_index: bool,
    ) -> None:
        self._tables = tables
        for table in tables:
            table.settle(tables, columns)
        first = tables[0]
        choose(tables, columns, skip_non_numeric, keep_index)
        self.n_features = len(first.chosen())
        check_width(self.n_features, first.path)
        self._block_rows = block_rows or rows_per_block(self.n_features)
        self._dtype = np.result_type(*(table.float_type() for table in tables))
        self.named = first.names is not None
        self.feature_names = None
        if self.named or first.columns is not None:
            self.feature_names = [str(first.column(j)) for j in first.chosen()]
        self.files = [(table.path, table.n_rows) for table in tables]
        counts = [table.n_rows for table in tables]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)
        if self.n_rows == 0:
            raise SourceError.at("there are no rows", file=first.path)
        self.notes = list(dict.fromkeys(note for table in tables for note in table.notes))
        self.index = []
        if columns is None:
            self.index = [] if keep_index else [first.column(j) for j in first.index]
            if skip_non_numeric and first.not_numeric:
                left_out = [first.column(j) for j in sorted(first.not_numeric)]
                self.notes.append(f"{first.path}: left out what is not numeric: {listed(left_out)}")
        self._used = False

    @property
    def paths(self) -> list[str]:
        """The files, in the order in which they are read."""
        return [path for path, _ in self.files]

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        begin = Position(0, 0) if start is None else Position(*start)
        if not (0 <= begin.file < len(self._tables) and begin.row >= 0):
            raise SourceError(f"there is no position {tuple(begin)} in {len(self._tables)} files")
        one_use = any(table.one_use for table in self._tables)
        if one_use and self._used:
            raise SourceError.at("it can be read only once", file=self._tables[0].path)
        self._used = True
        yield from read_ahead(self._read(begin), self._stop)

    def _stop(self) -> None:
        """Stop waiting for rows."""
        for table in self._tables:
            table.stop()

    def _read(self, start: Position) -> Generator[tuple[Position, Block], None, None]:
        """Yield (position after the block, block), in this thread."""
        empty = start == Position(0, 0)
        for number in range(start.file, len(self._tables)):
            table, row = self._tables[number], start.row if number == start.file else 0
            try:
                for block in table.read(row, self._block_rows, self._dtype):
                    for begin in range(0, block.shape[0], self._block_rows):
                        piece = block[begin : begin + self._block_rows]
                        check_finite(piece, row, table.chosen_column, table.path)
                        row += piece.shape[0]
                        empty = False
                        yield Position(number, row), piece
            except (SourceError, ImportError):
                raise
            except Exception as error:  # the libraries that read formats raise anything
                reason = f"cannot be read on: {str(error) or type(error).__name__}"
                raise SourceError.at(reason, file=table.path, row=row + 1) from error
            if table.n_rows is not None and row != table.n_rows:
                message = f"it should have {table.n_rows} rows"
                raise SourceError.at(message, file=table.path, row=row)
        if empty:
            raise SourceError.at("there are no rows", file=self._tables[0].path)
