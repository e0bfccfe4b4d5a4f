"""What stands beside the rows that a command writes: other columns, and the numbers of the rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from onepass.cli.writers import OUTLIER
from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.tables import BOOLEANS, numbered_names

_BOOLEANS = {text: str(int(value)) for text, value in BOOLEANS.items()}


class InStep:
    """Tables of the same columns that follow each other, taken in pieces of other lengths."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self._waiting: list[pa.Table] = []

    def take(self, rows: int) -> pa.Table:
        """Return the next rows."""
        while sum(table.num_rows for table in self._waiting) < rows:
            self._waiting.append(next(self._tables))
        whole = pa.concat_tables(self._waiting, promote_options="permissive")
        self._waiting = [whole.slice(rows)]
        return whole.slice(0, rows)


class Beside:
    """Columns that stand beside the blocks of a source: kept ones, after the numbers of the rows.

    Parameters
    ----------
    source : FileSource
    columns : list of str or int
        That are kept as they are in the files, as for `onepass.open_source`.
    numbered : bool
        Whether there are numbers of rows: lines as an editor shows them, or numbers counted from 1
        where there are no lines. Names of files stand before them if there are several.

    Attributes
    ----------
    names : list of str
        Of the columns.
    numbering : list of str
        The first of them, with the numbers and the files.
    """

    def __init__(
        self, source: FileSource, columns: list[str] | list[int], *, numbered: bool
    ) -> None:
        self._source = source
        first = source.tables[0]
        labels = [first.column(j) for j in first.find_all(columns)]
        kept = [str(label) for label in labels]
        self._has_lines = not source.once and all(t.lines() is not None for t in source.tables)
        self.numbering = [*["file"] * (len(source.files) > 1), "line" if self._has_lines else "row"]
        if not numbered:
            self.numbering = []
        self.names = [*self.numbering, *kept]
        self._kept = InStep(
            pa.table(cells, kept)
            for table in source.tables
            for cells in table.cells([table.find(label) for label in labels])
        )
        self._lines = InStep(
            pa.table([lines], ["line"]) for table in source.tables for lines in table.lines() or ()
        )

    def take(self, end: Position, rows: int) -> list[pa.Table]:
        """Return the columns of the next rows of a block; `end` is the position after it."""
        tables = []
        if len(self.numbering) > 1:
            path = self._source.paths[end.file]
            tables.append(pa.table([pa.repeat(path, rows)], ["file"]))
        if self.numbering and self._has_lines:
            tables.append(self._lines.take(rows))
        elif self.numbering:
            tables.append(pa.table([np.arange(end.row - rows + 1, end.row + 1)], ["row"]))
        if len(self.names) > len(self.numbering):
            tables.append(self._kept.take(rows))
        return tables


def joined(tables: list[pa.Table]) -> pa.Table:
    """Return tables of the same rows as one, in which all names differ."""
    names = numbered_names([name for table in tables for name in table.column_names])
    return pa.table([column for table in tables for column in table.columns], names)


def as_table(block: NDArray[Any], names: list[str], as_list: str = "") -> pa.Table:
    """Return rows of numbers as a table, or all but the outliers as lists in one column."""
    columns = [np.ascontiguousarray(column) for column in block.T]
    if names[-1] == OUTLIER:
        columns[-1] = columns[-1].astype(np.int8)
    if as_list:
        width = len(names) - (names[-1] == OUTLIER)
        flat = pa.array(np.ascontiguousarray(block[:, :width]).ravel())
        names = [as_list, *names[width:]]
        columns = [pa.FixedSizeListArray.from_arrays(flat, width), *columns[width:]]
    return pa.table(columns, names)


def without_types(pandas: bytes | None, columns: list[str]) -> dict[str, Any] | None:
    """Return what pandas has written about a file, without the types of some columns.

    None if it was not written by pandas.
    """
    if pandas is None:
        return None
    found = json.loads(pandas)
    found["columns"] = [column for column in found["columns"] if column["name"] not in columns]
    return dict(found)


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
