"""Parquet files, Arrow files and streams, and Feather files of version 2, which are Arrow files."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from onepass.sources.base import READ_BYTES, rows_per_block
from onepass.sources.paths import is_remote, open_file
from onepass.sources.tables import ReadOptions, Table

# Of parquet files: without a buffer, in bytes for each column, all of a row group is read at once.
_IN_PARTS: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 18}
_MOST_ROWS = 1 << 16  # of a batch of parquet files: longer ones are not read any faster
_FIRST_ROWS = 1024  # read at a time to find a list that is not missing, and see how long it is


class ColumnTable(Table):
    """A file whose columns have names and Arrow types.

    A column of lists that are equally long counts as that many columns: ``embedding_0`` and so on.
    """

    def __init__(self, path: str, schema: pa.Schema, n_rows: int | None) -> None:
        self.path, self.n_rows = path, n_rows
        # A schema would make new lists of all of them each time.
        self._labels, self._kinds = schema.names, [_plain(kind) for kind in schema.types]
        if len(set(self._labels)) < len(self._labels):
            name = next(name for name in self._labels if self._labels.count(name) > 1)
            raise self.error("two columns have this name: give one of them another", column=name)
        self.names, self.not_numeric, self.index, self.made = [], {}, [], []
        self._fields: list[int] = []  # the number of the field in the file that a column is in
        self._lists: dict[str, range] = {}  # the columns that the numbers of a list are
        self.pandas = (schema.metadata or {}).get(b"pandas")
        index = _pandas_index(self.pandas)
        for number, (name, kind) in enumerate(zip(self._labels, self._kinds, strict=True)):
            first = len(self.names)
            length = self._length(number) if _is(kind, *_LISTS) and _is_number(kind) else 0
            columns = range(first, first + (length or 1))
            self.names += [f"{name}_{j}" for j in range(length)] or [name]
            if length:
                self._lists[name] = columns
                self.made += columns
            elif _is(kind, *_LISTS) or not _is_number(kind):
                self.not_numeric[first] = f"values of type {kind}"
            if name in index:
                self.index += columns
            self._fields += [number] * len(columns)
        self.width = len(self.names)

    def _length(self, number: int) -> int:
        """Return how long the lists of a field are: as the first one, 0 if there is none."""
        if pa.types.is_fixed_size_list(self._kinds[number]):
            return int(self._kinds[number].list_size)
        for batch in self.record_batches([number], 0, _FIRST_ROWS):
            lengths = pc.list_value_length(_decoded(batch[1].column(0))).drop_null()
            if len(lengths):
                return int(lengths[0].as_py())
        return 0

    def _several(self, column: str | int) -> Sequence[int] | None:
        """Return the columns that the numbers of lists are, for the name of a column of lists."""
        return self._lists.get(str(column)) or super()._several(column)

    def float_type(self) -> np.dtype:
        """Return float32 if no chosen column is more precise, or float64."""
        kinds = {self._kinds[number] for number in self.fields()}
        singles = [_is(getattr(kind, "value_type", kind), "float16", "float32") for kind in kinds]
        return np.dtype(np.float32 if all(singles) else np.float64)

    def fields(self) -> list[int]:
        """Return the numbers of the fields of the file that hold the chosen columns."""
        return list(dict.fromkeys(self._fields[j] for j in self.chosen()))

    def taken(self) -> NDArray[np.intp] | None:
        """Return the places of the chosen columns among all columns of their fields."""
        chosen = self.chosen()
        if not self._lists:
            return None
        read = [j for number in self.fields() for j in self._columns_of(number)]
        places = {j: place for place, j in enumerate(read)}
        return None if read == list(chosen) else np.array([places[j] for j in chosen], np.intp)

    def _columns_of(self, number: int) -> Sequence[int]:
        """Return the columns that a field is."""
        return self._lists.get(self._labels[number]) or [self._fields.index(number)]

    @abstractmethod
    def record_batches(
        self, fields: list[int], start: int, most: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the number of the first row of a batch, and the batch, from `start` or before on.

        Batches have the fields that are given, and best at most so many rows.
        """

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on, missing values as NaN."""
        kind, names = pa.from_numpy_dtype(dtype), [self._labels[j] for j in self.fields()]
        most = block_rows  # Lists take several times their size while they are read.
        if not self._lists:
            most = max(most, min(_MOST_ROWS, READ_BYTES // (8 * len(names))))
        for row, batch in self.record_batches(self.fields(), start, most):
            batch = batch.select(names)
            for begin in range(max(start - row, 0), batch.num_rows, most):
                part = batch.slice(begin, most)
                if not self._lists:
                    yield as_rows(part, kind)
                    continue
                parts = [
                    self._numbers(part.column(name), row + begin, name, kind) for name in names
                ]
                yield parts[0] if len(parts) == 1 else np.hstack(parts)

    def cells(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Yield some columns in the types that they have in the file."""
        twin = copy(self)
        twin.columns = np.array(columns, dtype=np.intp)
        for _, batch in self.record_batches(twin.fields(), 0, rows_per_block(len(columns))):
            cells = []
            for j in columns:
                name = self._labels[self._fields[j]]
                column = batch.column(name)
                if name in self._lists:
                    column = pc.list_element(_decoded(column), j - self._lists[name].start)
                cells.append(column)
            yield cells

    def _numbers(self, column: pa.Array, row: int, name: str, kind: pa.DataType) -> NDArray[Any]:
        """Return a column of numbers or lists as rows, shape (n, length).

        `row` rows came before. A missing list is a row of NaN.
        """
        if name not in self._lists:
            return as_rows(pa.record_batch([column], [name]), kind)
        length, lists = len(self._lists[name]), _decoded(column)
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


def as_rows(batch: pa.RecordBatch, kind: pa.DataType) -> NDArray[Any]:
    """Return columns of numbers as rows, missing values as NaN."""
    columns = [c if c.type == kind else _as_float(c, kind) for c in batch.columns]
    batch = pa.RecordBatch.from_arrays(columns, batch.schema.names)
    return batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()


def _as_float(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an Arrow array as floating-point numbers, correctly rounded."""
    column = _decoded(column)
    if pa.types.is_decimal(column.type):  # a direct cast is not correctly rounded
        column = column.cast(pa.string())
    return column.cast(kind, safe=False)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that a type stores in another way: tensors, runs, indices."""
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    is_coded = _is(kind, "run_end_encoded", "dictionary")
    return kind.value_type if is_coded and _is_number(kind) else kind


def _decoded(column: pa.Array) -> pa.Array:
    """Return an Arrow array in the type that `_plain` names."""
    if isinstance(column, pa.ExtensionArray):
        return _decoded(column.storage)
    if pa.types.is_run_end_encoded(column.type):
        return pc.run_end_decode(column)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


_LISTS = ("list", "large_list", "fixed_size_list")


def _is(kind: pa.DataType, *names: str) -> bool:
    """Return whether an Arrow type is one of those that ``pyarrow.types`` calls by these names."""
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def _is_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of numbers, or of several of them."""
    return _is(getattr(kind, "value_type", kind), "integer", "floating", "boolean", "decimal")


def _pandas_index(metadata: bytes | None) -> list[str]:
    """Return the names of the columns in which pandas has written an index."""
    try:
        index = json.loads(metadata or b"{}").get("index_columns", [])
        return [name for name in index if isinstance(name, str)]
    except (ValueError, AttributeError, TypeError):  # it was not written by pandas
        return []


def _opened(path: str) -> Any:
    """Open a file for Arrow; not mapped into memory, where it would count as taken."""
    return open_file(path) if is_remote(path) else pa.OSFile(path, "rb")


class ParquetTable(ColumnTable):
    """A parquet file, of which pyarrow holds a page or two of each column at a time."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        with _opened(path) as content, pa.parquet.ParquetFile(content, **_IN_PARTS) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def record_batches(
        self, fields: list[int], start: int, most: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches, beginning with the row group of the row `start`."""
        with _opened(self.path) as content, pa.parquet.ParquetFile(content, **_IN_PARTS) as file:
            groups, row = list(range(file.metadata.num_row_groups)), 0
            while groups and start >= row + file.metadata.row_group(groups[0]).num_rows:
                row += file.metadata.row_group(groups.pop(0)).num_rows
            names = [self._labels[number] for number in fields]
            if not groups:  # which pyarrow 18 takes for an error
                return
            # One thread: more of them take more memory, and other work is waiting for the cores.
            for batch in file.iter_batches(most, groups, names, use_threads=False):
                yield row, batch
                row += batch.num_rows


class ArrowTable(ColumnTable):
    """An Arrow file or stream, read record batch by record batch."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        with _opened(path) as content:
            magic = content.read(6)
            content.seek(0)
            if magic.startswith(b"FEA1"):
                raise ValueError(
                    "Feather files of version 1 are not read; convert it once: "
                    f"pyarrow.feather.write_feather(pyarrow.feather.read_table({path!r}), {path!r})"
                )
            self._is_stream = magic != b"ARROW1"
            if self._is_stream:
                super().__init__(path, pa.ipc.open_stream(content).schema, None)
                return
            # Imported here, since it imports pandas, too, which takes 40 MB.
            from pyarrow.dataset import IpcFileFormat

            file = IpcFileFormat().make_fragment(content)
            super().__init__(path, file.physical_schema, None)
            self.n_rows = file.count_rows()

    def record_batches(
        self, fields: list[int], start: int, most: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches from the first row on.

        Offsets of lists and indices of dictionaries are as a file says: Arrow follows them blindly,
        so each batch is validated.
        """
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with _opened(self.path) as content:
            if self._is_stream:
                batches = iter(pa.ipc.open_stream(content, options=options))
            else:
                file = pa.ipc.open_file(content, options=options)
                batches = map(file.get_batch, range(file.num_record_batches))
            row = 0
            for batch in batches:
                batch.validate(full=True)
                yield row, batch
                row += batch.num_rows
