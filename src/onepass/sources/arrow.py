"""Parquet files, Arrow files and streams, and Feather files of version 2, which are Arrow files."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from onepass.sources import base
from onepass.sources.base import Block, check_size, rows_per_block
from onepass.sources.paths import is_remote, open_file, stored_bytes
from onepass.sources.tables import ReadOptions, Table

_MAGIC = b"ARROW1"  # with which an Arrow file begins; a stream does not
# Of parquet files: without a buffer, in bytes for each column, all of a row group is read at once.
_IN_PARTS: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 18}
_FIRST_ROWS = 64  # in which to look for a list that is not missing, to see how long it is
_NAMED_BYTES = 100  # of memory for the name of a number of a list, beside that of its column


class ColumnTable(Table):
    """A file whose columns have names and Arrow types.

    A column of lists that are equally long counts as that many columns: ``embedding_0`` and so on.

    Parameters
    ----------
    path : str
        The file.
    schema : pyarrow.Schema
        Its columns.
    n_rows : int or None
        How many rows it has, if that is known.
    first_rows : callable
        Returns a few values of the column of a name, to see how long its lists are.
    """

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        n_rows: int | None,
        first_rows: Callable[[str], pa.Array],
    ) -> None:
        self.path = path
        self.n_rows = n_rows
        if len(set(schema.names)) < len(schema.names):
            name = next(name for name in schema.names if schema.names.count(name) > 1)
            raise self.error("two columns have this name: give one of them another", column=name)
        self.names, self.not_numeric, self.index = [], {}, []
        self._lists: dict[str, range] = {}  # the columns that the numbers of a list are
        self._fields: list[int] = []  # the number of the field in the file that a column is in
        # A schema would make new lists of all of them each time.
        self._labels, self._kinds = schema.names, schema.types
        self.pandas = (schema.metadata or {}).get(b"pandas")
        index = _pandas_index(schema.metadata or {})
        lengths = {
            name: self._length(name, kind, first_rows)
            for name, kind in zip(self._labels, self._kinds, strict=True)
            if _is_list_of_numbers(kind)
        }
        if lengths:
            taken = sum(n * (sys.getsizeof(name) + _NAMED_BYTES) for name, n in lengths.items())
            what = f"the names of the {sum(lengths.values()):,} numbers of lists take"
            check_size(what, taken, path, stored_bytes(path) or 0)
        for number, (name, kind) in enumerate(zip(self._labels, self._kinds, strict=True)):
            first = len(self.names)
            length = lengths.get(name, 0)
            if length:
                self._lists[name] = range(first, first + length)
                self.names += [f"{name}_{j}" for j in range(length)]
            else:
                self.names.append(name)
                if not _is_number(kind):
                    self.not_numeric[first] = f"values of type {kind}"
            if name in index:
                self.index += range(first, len(self.names))
            self._fields += [number] * (len(self.names) - first)
        self.width = len(self.names)

    def _length(self, name: str, kind: pa.DataType, first_rows: Callable[[str], pa.Array]) -> int:
        """Return how long the lists of a column are: as the first one, 0 if there is none."""
        if pa.types.is_fixed_size_list(kind):
            lengths = [kind.list_size]
        else:
            lengths = pc.list_value_length(first_rows(name)).drop_null().to_pylist()
        return int(lengths[0]) if lengths else 0

    def _several(self, column: str | int) -> Sequence[int] | None:
        """Return the columns that the numbers of lists are, for the name of a column of lists."""
        if isinstance(column, str) and column in self._lists:
            return self._lists[column]
        return super()._several(column)

    def float_type(self) -> np.dtype:
        """Return float32 if no chosen column is more precise, or float64."""
        kinds = {self._kinds[number] for number in self.fields()}
        singles = [_is(getattr(kind, "value_type", kind), "float16", "float32") for kind in kinds]
        return np.dtype(np.float32 if all(singles) else np.float64)

    def fields(self) -> list[int]:
        """Return the numbers of the fields of the file that hold the chosen columns."""
        return sorted({self._fields[j] for j in self.chosen()})

    @abstractmethod
    def batches(self, start: int, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the number of the first row of a batch, and the batch, from `start` or before on.

        Batches have at least the columns that are chosen, and best at most so many rows.
        """

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on, missing values as NaN."""
        for row, batch in self.batches(start, block_rows):
            for begin in range(max(start - row, 0), batch.num_rows, block_rows):
                part = batch.slice(begin, block_rows)
                yield self._block(part, row + begin, dtype)

    def cells(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Yield some columns in the types that they have in the file."""
        twin = copy(self)
        twin.columns = np.array(columns, dtype=np.intp)
        for _, batch in twin.batches(0, rows_per_block(len(columns))):
            yield [self._cells(batch, j) for j in columns]

    def _cells(self, batch: pa.RecordBatch, j: int) -> pa.Array:
        """Return a column of a batch, or a number of each of its lists."""
        name = self._labels[self._fields[j]]
        if name not in self._lists:
            return self._written_out(batch.column(name), name)
        return pc.list_element(batch.column(name), j - self._lists[name].start)

    def _written_out(self, column: pa.Array, name: str) -> pa.Array:
        """Return a column in the type of the file; refuse one text that stands for too many."""
        kind = self._kinds[self._labels.index(name)]
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
            what = f"the texts of {column.type.value_type} in {len(column):,} rows of {name!r} take"
            check_size(what, pc.sum(lengths).as_py() or 0, self.path)
        return column if column.type == kind else column.cast(kind)

    def _block(self, part: pa.RecordBatch, row: int, dtype: np.dtype) -> Block:
        """Return the chosen columns of a few rows, before which `row` rows came."""
        kind = pa.from_numpy_dtype(dtype)
        chosen = np.array(self.chosen())
        if not self._lists:
            names = [self._labels[self._fields[j]] for j in chosen]
            arrays = [_as_float(part.column(name), kind) for name in names]
            rows = pa.RecordBatch.from_arrays(arrays, names)
            return rows.to_tensor(null_to_nan=True, row_major=True).to_numpy()
        block = np.empty((part.num_rows, len(chosen)), dtype=dtype)
        numbers = np.array(self._fields)[chosen]
        for number in np.unique(numbers).tolist():
            name, places = self._labels[number], np.flatnonzero(numbers == number)
            if name in self._lists:
                lists = self._lists[name]
                rows = self._numbers(part.column(name), len(lists), row, name, kind)
                block[:, places] = rows[:, chosen[places] - lists.start]
            else:
                column = _as_float(part.column(name), kind)
                block[:, places[0]] = column.to_numpy(zero_copy_only=False)
        return block

    def _numbers(
        self, lists: pa.Array, length: int, row: int, name: str, kind: pa.DataType
    ) -> NDArray[Any]:
        """Return lists of numbers as rows, shape (n, length); a missing list is a row of NaN."""
        lengths = pc.list_value_length(lists).fill_null(length).to_numpy()
        if (lengths != length).any():
            at = int((lengths != length).argmax())
            message = f"a list of {lengths[at]} numbers, and the first one has {length}"
            raise self.error(message, row + at + 1, name)
        # Without the lists that are missing.
        numbers = _as_float(lists.flatten(), kind).to_numpy(zero_copy_only=False)
        rows = numbers.reshape(-1, length)
        if lists.null_count == 0:
            return rows
        all_rows = np.full((len(lists), length), np.nan, dtype=rows.dtype)
        all_rows[lists.is_valid().to_numpy(zero_copy_only=False)] = rows
        return all_rows


def _as_float(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an Arrow array as floating-point numbers, correctly rounded."""
    if pa.types.is_decimal(column.type):  # a direct cast is not correctly rounded
        column = column.cast(pa.string())
    return column.cast(kind, safe=False)


def _is(kind: pa.DataType, *names: str) -> bool:
    """Return whether an Arrow type is one of those that ``pyarrow.types`` calls by these names."""
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def _is_list_of_numbers(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of lists of numbers."""
    return _is(kind, "list", "large_list", "fixed_size_list") and _is_number(kind.value_type)


def _is_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of numbers."""
    return _is(kind, "integer", "floating", "boolean", "decimal")


def _is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of texts or bytes of any length."""
    return _is(kind, "string", "large_string", "binary", "large_binary")


def _pandas_index(metadata: dict[bytes, bytes]) -> list[str]:
    """Return the names of the columns in which pandas has written an index."""
    try:
        index = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", [])
        return [name for name in index if isinstance(name, str)]
    except (ValueError, AttributeError, TypeError):  # it was not written by pandas
        return []


def _none_of(schema: pa.Schema, name: str) -> pa.Array:
    """Return no values of a column."""
    return pa.array([], schema.field(name).type)


def _opened(path: str) -> Any:
    """Open a file for Arrow; not mapped into memory, where it would count as taken."""
    return open_file(path) if is_remote(path) else pa.OSFile(path, "rb")


class ParquetTable(ColumnTable):
    """A parquet file, of which pyarrow holds a page or two of each column at a time."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        with _opened(path) as content, pa.parquet.ParquetFile(content, **_IN_PARTS) as file:
            schema = file.schema_arrow

            def first_rows(name: str) -> pa.Array:
                if file.metadata.num_rows == 0:
                    return _none_of(schema, name)
                return next(file.iter_batches(_FIRST_ROWS, [0], [name])).column(0)

            super().__init__(path, schema, file.metadata.num_rows, first_rows)

    def batches(self, start: int, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches, beginning with the row group of the row `start`."""
        # A text that comes often is stored once, and held once.
        texts = [self._labels[number] for number in self.fields() if _is_text(self._kinds[number])]
        options = {"read_dictionary": texts, **_IN_PARTS}
        with _opened(self.path) as content, pa.parquet.ParquetFile(content, **options) as file:
            groups, row = list(range(file.metadata.num_row_groups)), 0
            while groups and start >= row + file.metadata.row_group(groups[0]).num_rows:
                row += file.metadata.row_group(groups.pop(0)).num_rows
            if not groups:  # which pyarrow 18 takes for an error
                return
            names = [self._labels[number] for number in self.fields()]
            # One thread: more of them take more memory, and other work is waiting for the cores.
            for batch in file.iter_batches(most, groups, names, use_threads=False):
                yield row, batch
                row += batch.num_rows


class ArrowTable(ColumnTable):
    """An Arrow file or stream, read record batch by record batch."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        with _opened(path) as content:
            start = content.read(len(_MAGIC))
            content.seek(0)
            if start.startswith(b"FEA1"):
                raise ValueError("Feather files of version 1 are not read")
            self._is_stream = start != _MAGIC
            if self._is_stream:
                schema = pa.ipc.open_stream(content).schema
            else:
                # Imported here, since it imports pandas, too, which takes 40 MB.
                from pyarrow.dataset import IpcFileFormat

                file = IpcFileFormat().make_fragment(content)
                schema = file.physical_schema
            super().__init__(path, schema, None, partial(self._first_rows, schema))
            if not self._is_stream:  # pyarrow counts only columns of different names
                self.n_rows = file.count_rows()

    def batches(self, start: int, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches from the first row on."""
        row = 0
        for batch in self._read(self.fields()):
            yield row, batch
            row += batch.num_rows

    def _first_rows(self, schema: pa.Schema, name: str) -> pa.Array:
        """Return a few values of a column."""
        batches = self._read([schema.get_field_index(name)])
        return next(
            (batch.column(name).slice(0, _FIRST_ROWS) for batch in batches if batch.num_rows),
            _none_of(schema, name),
        )

    def _read(self, fields: list[int]) -> Iterator[pa.RecordBatch]:
        """Yield the record batches of some fields.

        Offsets of lists and indices of dictionaries are as a file says: Arrow follows them blindly.
        """
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with _opened(self.path) as content:
            if self._is_stream:
                batches = iter(pa.ipc.open_stream(content, options=options))
            else:
                file = pa.ipc.open_file(content, options=options)
                batches = map(file.get_batch, range(file.num_record_batches))
            for batch in batches:
                batch.validate(full=True)
                yield batch
