"""Parquet files, Arrow files and streams, and Feather files of version 2, which are Arrow files."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from onepass.sources.base import Block
from onepass.sources.files import ReadOptions, Table
from onepass.sources.ipc_messages import MAGIC, check_message, check_next_batch, message_places
from onepass.sources.paths import is_remote, open_file

_COLUMN_BUFFER_BYTES = 1 << 18  # without buffers, all of a row group is read at once


class ColumnTable(Table):
    """A file whose columns have names and Arrow types."""

    def __init__(self, path: str, schema: pa.Schema, n_rows: int | None) -> None:
        self.path = path
        self.n_rows = n_rows
        self.names = list(schema.names)
        if len(set(self.names)) < len(self.names):
            name = next(name for name in self.names if self.names.count(name) > 1)
            raise self.error("two columns have this name: give one of them another", column=name)
        self.width = len(self.names)
        self._types = [str(kind) for kind in schema.types]
        self.not_numeric = {
            j: f"values of type {kind}"
            for j, kind in enumerate(schema.types)
            if not _is_number(kind)
        }
        index = _pandas_index(schema.metadata or {})
        self.index = [j for j, name in enumerate(self.names) if name in index]

    def float_type(self) -> np.dtype:
        """Return float32 if all chosen columns are, or float64."""
        is_single = all(self._types[j] == "float" for j in self.chosen())
        return np.dtype(np.float32 if is_single else np.float64)

    @abstractmethod
    def batches(self, start: int, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the number of the first row of a batch, and the batch, from `start` or before on.

        Batches have at least the columns that are chosen, and best at most so many rows.
        """

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on, missing values as NaN."""
        names = [str(self.column(j)) for j in self.chosen()]
        kind = pa.from_numpy_dtype(dtype)
        for row, batch in self.batches(start, block_rows):
            for begin in range(max(start - row, 0), batch.num_rows, block_rows):
                part = batch.slice(begin, block_rows)
                arrays = [_as_float(part.column(name), kind) for name in names]
                rows = pa.RecordBatch.from_arrays(arrays, names)
                yield rows.to_tensor(null_to_nan=True, row_major=True).to_numpy()


def _as_float(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an Arrow array as floating-point numbers, correctly rounded."""
    if pa.types.is_decimal(column.type):  # a direct cast is not correctly rounded
        column = column.cast(pa.string())
    return column.cast(kind, safe=False)


def _is_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of numbers."""
    types = pa.types
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(check(kind) for check in checks)


def _pandas_index(metadata: dict[bytes, bytes]) -> list[str]:
    """Return the names of the columns in which pandas has written an index."""
    try:
        index = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", [])
        return [name for name in index if isinstance(name, str)]
    except (ValueError, AttributeError, TypeError):  # it was not written by pandas
        return []


def _opened(path: str) -> Any:
    """Open a file for Arrow; not mapped into memory, where it would count as taken."""
    return open_file(path) if is_remote(path) else pa.OSFile(path, "rb")


class ParquetTable(ColumnTable):
    """A parquet file, of which pyarrow holds a page or two of each column at a time."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        with _opened(path) as content, pa.parquet.ParquetFile(content) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def batches(self, start: int, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches, beginning with the row group of the row `start`."""
        options = {"pre_buffer": False, "buffer_size": _COLUMN_BUFFER_BYTES}
        with _opened(self.path) as content, pa.parquet.ParquetFile(content, **options) as file:
            groups, row = list(range(file.metadata.num_row_groups)), 0
            while groups and start >= row + file.metadata.row_group(groups[0]).num_rows:
                row += file.metadata.row_group(groups.pop(0)).num_rows
            if not groups:  # which pyarrow 18 takes for an error
                return
            names = [self.column(j) for j in self.chosen()]
            # One thread: more of them take more memory, and other work is waiting for the cores.
            for batch in file.iter_batches(most, groups, names, use_threads=False):
                yield row, batch
                row += batch.num_rows


class ArrowTable(ColumnTable):
    """An Arrow file or stream, read record batch by record batch."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        with _opened(path) as content:
            start = content.read(len(MAGIC))
            content.seek(0)
            if start.startswith(b"FEA1"):
                raise ValueError("Feather files of version 1 are not read")
            self._is_stream = start != MAGIC
            if self._is_stream:
                super().__init__(path, pa.ipc.open_stream(content).schema, None)
            else:
                # Imported here, since it imports pandas, too, which takes 40 MB.
                from pyarrow.dataset import IpcFileFormat

                file = IpcFileFormat().make_fragment(content)
                super().__init__(path, file.physical_schema, None)
                self.n_rows = file.count_rows()

    def batches(self, start: int, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches from the first row on."""
        options = pa.ipc.IpcReadOptions(included_fields=sorted(self.chosen()))
        row = 0
        with _opened(self.path) as content:
            read = self._stream if self._is_stream else self._file
            for batch in read(content, options):
                yield row, batch
                row += batch.num_rows

    def _stream(self, content: Any, options: pa.ipc.IpcReadOptions) -> Iterator[pa.RecordBatch]:
        """Yield the record batches of a stream, each checked before it is expanded."""
        with pa.ipc.open_stream(content, options=options) as reader:
            while True:
                check_next_batch(content, self.path)
                try:
                    yield reader.read_next_batch()
                except StopIteration:
                    return

    def _file(self, content: Any, options: pa.ipc.IpcReadOptions) -> Iterator[pa.RecordBatch]:
        """Yield the record batches of a file, each checked before it is expanded."""
        dictionaries, batches = message_places(content)
        for at in dictionaries:
            check_message(content, at, self.path)
        with pa.ipc.open_file(content, options=options) as reader:
            for number in range(reader.num_record_batches):
                check_message(content, batches[number], self.path)
                yield reader.get_batch(number)
