"""Arrow files and streams, and Feather files of version 2, which are the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.files.storage import is_remote, open_file
from onepass.sources.files.table import Columns, Table

_FILE_MAGIC = b"ARROW1"


class ColumnTable(Table):
    """A file whose columns have names and Arrow types, as parquet and arrow files have."""

    def __init__(self, path: str, schema: Any, n_rows: int | None) -> None:
        self.path = path
        self.n_rows = n_rows
        self.names = list(schema.names)
        self.width = len(self.names)
        if len(set(self.names)) < self.width:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise SourceError.at("there are two columns of this name", file=path, column=twice)
        self._types = [str(kind) for kind in schema.types]
        self.not_numeric = {
            j: f"values of type {kind}"
            for j, kind in enumerate(schema.types)
            if not _is_number(kind)
        }
        index = _pandas_index(schema.metadata or {})
        self.index = [j for j, name in enumerate(self.names) if name in index]

    def float_type(self, columns: Columns) -> np.dtype:
        """Return float32 if all of some columns are."""
        kinds = self._types if columns is None else [self._types[j] for j in columns.tolist()]
        return np.dtype(np.float32 if set(kinds) == {"float"} else np.float64)

    def chosen_names(self, columns: Columns) -> list[str]:
        """Return the names of some columns."""
        assert self.names is not None
        return self.names if columns is None else [self.names[j] for j in columns.tolist()]


def blocks(
    batches: Iterator[Any], names: list[str], skip: int, dtype: np.dtype
) -> Iterator[NDArray[np.floating]]:
    """Yield the numbers of record batches without the first `skip` rows, missing ones as NaN."""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(dtype)
    for batch in batches:
        if batch.num_rows > skip:
            columns = [_as_float(batch.column(name).slice(skip), kind) for name in names]
            rows = pa.RecordBatch.from_arrays(columns, names)
            yield rows.to_tensor(null_to_nan=True, row_major=True).to_numpy()
        skip = max(0, skip - batch.num_rows)


def _as_float(column: Any, kind: Any) -> Any:
    """Return an Arrow array as floating-point numbers, correctly rounded."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):  # a direct cast is not correctly rounded
        column = column.cast(pa.string())
    return column.cast(kind, safe=False)


def _is_number(kind: Any) -> bool:
    """Return whether an Arrow type is one of numbers."""
    from pyarrow import types

    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(check(kind) for check in checks)


def _pandas_index(metadata: dict[bytes, bytes]) -> list[str]:
    """Return the names of the columns in which pandas has written an index."""
    try:
        index = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", [])
        return [name for name in index if isinstance(name, str)]
    except (ValueError, AttributeError, TypeError):  # what is no text of pandas says nothing
        return []


def _count_rows(path: str) -> int:
    """Return the number of rows of an Arrow file, from its metadata."""
    from pyarrow.dataset import IpcFileFormat

    with open_file(path) as file:  # readers count by themselves only in recent versions
        return int(IpcFileFormat().make_fragment(file).count_rows())


class ArrowTable(ColumnTable):
    """An Arrow file or stream, read record batch by record batch."""

    def __init__(self, path: str) -> None:
        with open_file(path) as file:
            start = file.read(len(_FILE_MAGIC))
        if start.startswith(b"FEA1"):
            raise ValueError("Feather files of version 1 are not read")
        self._random_access = start == _FILE_MAGIC
        n_rows = _count_rows(path) if self._random_access else None
        with _reader(path, self._random_access, None) as reader:
            super().__init__(path, reader.schema, n_rows)

    def read(
        self, columns: Columns, start: int, block_rows: int, dtype: np.dtype
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        with _reader(self.path, self._random_access, columns) as reader:
            if self._random_access:
                found = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                found = iter(reader)
            yield from blocks(_cut(found, block_rows), self.chosen_names(columns), start, dtype)


@contextmanager
def _reader(path: str, random_access: bool, columns: Columns) -> Iterator[Any]:
    """Open a file for reading some of its columns, or all."""
    import pyarrow as pa

    fields = None if columns is None else sorted(columns.tolist())
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    # Not mapped into memory: mapped pages would count as memory of this process.
    with open_file(path) if is_remote(path) else pa.OSFile(path, "rb") as file:
        opened = pa.ipc.open_file if random_access else pa.ipc.open_stream
        with opened(file, options=options) as reader:
            yield reader


def _cut(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Yield pieces of at most a number of rows: a file may be one long record batch."""
    for whole in batches:
        for begin in range(0, whole.num_rows, rows):
            yield whole.slice(begin, rows)
