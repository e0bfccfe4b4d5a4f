"""From lines of csv to numbers: quickly where all is well, and exactly where it is not.

`_by_row` says what is right: it is slow and names the row and the column of an error. The other
parsers are quicker, and whatever they refuse is handed to it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.files.text import Text, as_text, number

if TYPE_CHECKING:
    from onepass.sources.files.csv import CsvTable


def parse(
    piece: Text, table: CsvTable, columns: NDArray[np.intp], row: int
) -> NDArray[np.floating]:
    """Return the chosen columns of whole rows.

    Parameters
    ----------
    piece : bytes or bytearray
        Whole rows.
    table : CsvTable
        What is known of the file.
    columns : ndarray of shape (d,)
        The columns.
    row : int
        How many rows came before.

    Returns
    -------
    ndarray of shape (rows, d)
        Missing values are NaN.
    """
    try:
        return _by_arrow(piece, table, columns)
    except ImportError:
        pass
    except ValueError:
        return _by_row(piece, table, columns, row)
    try:
        return _by_numpy(piece, table, columns)
    except ValueError:
        return _by_row(piece, table, columns, row)


def _by_arrow(piece: Text, table: CsvTable, columns: NDArray[np.intp]) -> NDArray[np.floating]:
    """Parse with pyarrow, whose errors are ValueErrors."""
    import pyarrow as pa
    import pyarrow.csv

    names = [str(j) for j in range(len(table.numeric))]
    chosen = [names[j] for j in columns.tolist()]
    found = pyarrow.csv.read_csv(
        pa.BufferReader(piece),
        # One block of Arrow's: it must not cut the piece between two quotation marks.
        read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=len(piece) + 1),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=table.separator, newlines_in_values=b'"' in piece
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(chosen, pa.float64()),
            include_columns=chosen,
            null_values=[""],
            check_utf8=False,
        ),
    )
    # In one call: one for each column would keep taking the interpreter away from other threads.
    rows = found.combine_chunks().to_batches()
    parts = [part.to_tensor(null_to_nan=True, row_major=True).to_numpy() for part in rows]
    return parts[0] if parts else np.empty((0, len(chosen)))


def _by_numpy(piece: Text, table: CsvTable, columns: NDArray[np.intp]) -> NDArray[np.floating]:
    """Parse with NumPy, which must see all columns to notice a row of another length.

    It takes a quotation mark that is never closed, and so must not see any.
    """
    if len(columns) < len(table.numeric) or b'"' in piece or not piece.strip():
        raise ValueError("not for this parser")
    block = np.loadtxt(io.BytesIO(piece), delimiter=table.separator, comments=None, ndmin=2)
    if block.shape[1] != len(table.numeric):
        raise ValueError("rows of another length")
    return block[:, columns]


def _by_row(
    piece: Text, table: CsvTable, columns: NDArray[np.intp], row: int
) -> NDArray[np.floating]:
    """Parse value by value."""
    width = len(table.numeric)
    chosen = columns.tolist()
    values = []
    for fields in _rows(piece, table, row):
        row += 1
        if len(fields) != width:
            raise SourceError.at(f"{len(fields)} values, not {width}", file=table.path, row=row)
        for j in chosen:
            value = number(fields[j])
            if value is None:
                raise SourceError.at(
                    f"{fields[j][:40]!r} is not a number",
                    file=table.path,
                    row=row,
                    column=table.column(j),
                )
            values.append(value)
    return np.array(values).reshape(-1, len(chosen))


def _rows(piece: Text, table: CsvTable, row: int) -> Iterator[list[str]]:
    """Yield the fields of each row; empty lines are not rows."""
    try:
        for fields in csv.reader(as_text(piece), delimiter=table.separator, strict=True):
            if fields:
                row += 1
                yield fields
    except csv.Error as error:
        raise SourceError.at(str(error), file=table.path, row=row + 1) from error
