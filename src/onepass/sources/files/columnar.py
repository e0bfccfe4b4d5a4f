"""Formats of Arrow: what parquet and arrow files have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.table import Table


class Columnar(Table):
    """A file whose columns have names and Arrow types."""

    def __init__(self, path: str, schema: Any, n_rows: int | None) -> None:
        self.path = path
        self.n_rows = n_rows
        self.names = list(schema.names)
        self._types = [str(kind) for kind in schema.types]
        self.numeric = np.array([_is_number(kind) for kind in schema.types], dtype=np.bool_)
        self.single = np.array([kind == "float" for kind in self._types], dtype=np.bool_)

    def why_not_numeric(self, index: int) -> str:
        """Return what a column that is not numeric holds."""
        return f"values of type {self._types[index]}"


def blocks(
    record_batches: Iterator[Any], names: list[str], skip: int, buffers: Buffers
) -> Iterator[NDArray[np.floating]]:
    """Yield the numbers of Arrow record batches, without the first `skip` rows.

    Parameters
    ----------
    record_batches : iterator of pyarrow.RecordBatch
        With the named columns, in any order.
    names : list of str
        The columns.
    skip : int
        How many rows to leave out.
    buffers : Buffers
        Where blocks take their memory.
    """
    for rows in record_batches:
        count = rows.num_rows - skip
        if count <= 0:
            skip -= rows.num_rows
            continue
        block = buffers.take((count, len(names)))
        fill(block, rows.slice(skip), names)
        skip = 0
        yield block


def fill(block: NDArray[np.floating], rows: Any, names: list[str]) -> None:
    """Copy the named columns of a record batch into a block, missing values as NaN."""
    for j, name in enumerate(names):
        block[:, j] = numbers(rows.column(name))


def numbers(column: Any) -> NDArray[Any]:
    """Return the numbers of an Arrow array, missing ones as NaN; a copy only where one is due."""
    import pyarrow as pa

    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if column.null_count or not plain:
        column = column.cast(pa.float64(), safe=False).fill_null(np.nan)
    # Arrow's own conversion would import pandas, and its memory with it.
    return np.from_dlpack(column)


def _is_number(kind: Any) -> bool:
    """Return whether an Arrow type is one of numbers."""
    from pyarrow import types

    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def library(what: str) -> Any:
    """Return pyarrow."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"reading {what} files needs pyarrow: pip install 'onepass[files]'"
        ) from error
    return pyarrow
