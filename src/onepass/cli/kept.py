"""What stands beside the rows that a command reads: other columns, and the numbers of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.tables import BOOLEANS, numbered_names

_BOOLEANS = {text: str(int(value)) for text, value in BOOLEANS.items()}


class KeptColumns:
    """Columns of files as they are there, taken in step with the blocks of a source.

    Parameters
    ----------
    source : FileSource
        Whose files they are in.
    columns : sequence of str or int
        As for `onepass.open_source`.

    Attributes
    ----------
    names : list of str
        Of the columns.
    """

    def __init__(self, source: FileSource, columns: Sequence[str | int]) -> None:
        first = source.tables[0]
        labels = [first.column(j) for j in first.find_all(columns)]
        self.names = [str(label) for label in labels]
        places = [[table.find(label) for label in labels] for table in source.tables]
        self._cells = (
            pa.table(dict(zip(self.names, cells, strict=True)))
            for table, columns in zip(source.tables, places, strict=True)
            for cells in table.cells(columns)
        )
        self._waiting = pa.table({name: pa.array([], pa.null()) for name in self.names})

    def take(self, rows: int) -> pa.Table:
        """Return the columns of the next rows."""
        parts, count = [self._waiting], self._waiting.num_rows
        while count < rows:
            parts.append(next(self._cells))
            count += parts[-1].num_rows
        whole = pa.concat_tables(parts, promote_options="permissive")
        self._waiting = whole.slice(rows)
        return whole.slice(0, rows)


class RowNumbers:
    """Where rows are in their files, taken in step with the blocks of a source.

    Attributes
    ----------
    heading : str
        "line", as an editor shows it, or "row", counted from 1, where there are no lines.
    names : list of str
        Of the columns: the heading, after "file" if there are several files.
    """

    def __init__(self, source: FileSource) -> None:
        self._source = source
        has_lines = not source.once and all(table.lines() is not None for table in source.tables)
        self.heading = "line" if has_lines else "row"
        self.names = [*["file"] * (len(source.files) > 1), self.heading]
        self._file = -1
        self._lines: Any = iter(())  # of this file
        self._waiting: NDArray[np.int64] = np.zeros(0, np.int64)

    def take(self, end: Position, rows: int) -> pa.Table:
        """Return the numbers of the rows of a block, and their files if there are several.

        `end` is the position after the block.
        """
        numbers = np.arange(end.row - rows + 1, end.row + 1)
        if self.heading == "line":
            numbers = self._taken(end.file, rows)
        columns: dict[str, Any] = {self.heading: numbers}
        if len(self._source.files) > 1:
            columns = {"file": pa.repeat(self._source.paths[end.file], rows), **columns}
        return pa.table(columns)

    def _taken(self, file: int, rows: int) -> NDArray[np.int64]:
        """Return the lines of the next rows of a file."""
        if file != self._file:
            lines = self._source.tables[file].lines()
            assert lines is not None
            self._file, self._lines, self._waiting = file, lines, np.zeros(0, np.int64)
        parts, count = [self._waiting], len(self._waiting)
        while count < rows:
            parts.append(next(self._lines))
            count += len(parts[-1])
        whole = np.concatenate(parts)
        self._waiting = whole[rows:]
        return whole[:rows]


def beside(tables: list[pa.Table]) -> pa.Table:
    """Return tables of the same rows as one, in which all names differ."""
    names = numbered_names([name for table in tables for name in table.column_names])
    return pa.table([column for table in tables for column in table.columns], names)


def as_table(block: NDArray[Any], names: list[str]) -> pa.Table:
    """Return rows of numbers as a table."""
    columns = {name: np.ascontiguousarray(block[:, j]) for j, name in enumerate(names)}
    if "outlier" in columns:
        columns["outlier"] = columns["outlier"].astype(np.int8)
    return pa.table(columns)


def completed(
    cells: pa.Table,
    names: list[str],
    block: NDArray[Any],
    filled: NDArray[Any],
    decimal: str | None = None,
) -> pa.Table:
    """Return cells in which gaps of some columns are filled.

    Columns become the numbers of `filled`, shape (b, d). With a decimal point, which is that of
    text, text stays text, and what is no gap stays as it is. Only True and False become 1 and 0: a
    number among them, in this block or in a later one, could not be read back.
    """
    for j, name in enumerate(names):
        place = cells.column_names.index(name)
        column: Any = pa.array(np.ascontiguousarray(filled[:, j]))
        if decimal is not None and pa.types.is_string(cells.schema.types[place]):
            texts = cells.column(place).to_pylist()
            for i in np.flatnonzero(np.isnan(block[:, j])):
                texts[i] = str(filled[i, j]).replace(".", decimal)
            column = pa.array([_BOOLEANS.get(text.strip(), text) for text in texts], pa.string())
        cells = cells.set_column(place, name, column)
    return cells
