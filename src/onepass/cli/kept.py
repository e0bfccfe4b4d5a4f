"""What stands beside the rows that a command reads: other columns, and the numbers of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.tables import BOOLEANS, numbered_names

_BOOLEANS = {text: str(int(value)) for text, value in BOOLEANS.items()}


class InStep:
    """Tables of the same columns that follow each other, taken in pieces of other lengths."""

    def __init__(self, tables: Iterator[pa.Table], names: list[str]) -> None:
        self._tables = tables
        self._waiting = pa.table({name: pa.array([], pa.null()) for name in names})

    def take(self, rows: int) -> pa.Table:
        """Return the next rows."""
        parts, count = [self._waiting], self._waiting.num_rows
        while count < rows:
            parts.append(next(self._tables))
            count += parts[-1].num_rows
        whole = pa.concat_tables(parts, promote_options="permissive")
        self._waiting = whole.slice(rows)
        return whole.slice(0, rows)


class KeptColumns(InStep):
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
        tables = (
            pa.table(dict(zip(self.names, cells, strict=True)))
            for table, columns in zip(source.tables, places, strict=True)
            for cells in table.cells(columns)
        )
        super().__init__(tables, self.names)


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
        self._lines: InStep  # of this file

    def take(self, end: Position, rows: int) -> pa.Table:
        """Return the numbers of the rows of a block, and their files if there are several.

        `end` is the position after the block.
        """
        numbers = pa.table({"row": np.arange(end.row - rows + 1, end.row + 1)})
        if self.heading == "line":
            if end.file != self._file:
                lines = self._source.tables[end.file].lines()
                assert lines is not None
                self._file = end.file
                self._lines = InStep((pa.table({"line": part}) for part in lines), ["line"])
            numbers = self._lines.take(rows)
        if len(self._source.files) > 1:
            file = pa.repeat(self._source.paths[end.file], rows)
            numbers = numbers.add_column(0, "file", [file])
        return numbers


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


def filled_cells(
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
            for i in np.flatnonzero(np.isnan(block[:, j]) & ~np.isnan(filled[:, j])):
                texts[i] = str(filled[i, j]).replace(".", decimal)
            column = pa.array([_BOOLEANS.get(text.strip(), text) for text in texts], pa.string())
        cells = cells.set_column(place, name, column)
    return cells
