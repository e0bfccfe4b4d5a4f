"""What is in a file: rows and columns, whatever its format."""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources import base
from onepass.sources.base import Block, EntryError, SourceError, rows_per_block
from onepass.sources.preparation import Preparation

# What stands for True and False in files of text, and what it is as a number.
BOOLEANS = {
    **dict.fromkeys(("False", "false", "FALSE", "0"), 0.0),
    **dict.fromkeys(("True", "true", "TRUE", "1"), 1.0),
}
_NOT_REMEMBERED = ("format", "na", "mask_var")


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `open_source` that tell a format how to read its files.

    `Table.takes` says which of them a format knows.
    """

    format: Literal["csv", "svmlight"] | None = None
    header: bool | Literal["auto"] = "auto"
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    skip_lines: int = 0
    comment: str | None = None
    na: Sequence[str | float] = ()
    layer: str | None = None
    mask_var: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Refuse values that no file could be read with."""
        marks = [self.delimiter or ",", self.comment or "#"]
        for name, is_right in (
            ("format", self.format in (None, "csv", "svmlight")),
            ("header", self.header in (True, False, "auto")),
            ("delimiter", len(marks[0].encode()) == 1),
            ("decimal", self.decimal in (".", ",") and self.decimal != self.delimiter),
            ("skip_lines", isinstance(self.skip_lines, int) and self.skip_lines >= 0),
            ("comment", self.comment != "" and len(marks[1]) <= 8),
            ("na", all(isinstance(value, str | int | float | np.number) for value in self.na)),
        ):
            if not is_right:
                raise ValueError(f"{name}={getattr(self, name)!r} is not possible")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError as error:
            raise ValueError(f"encoding={self.encoding!r} is not known") from error

    def na_values(self) -> tuple[float, ...]:
        """Return the numbers that stand for missing entries, also those that are given as text."""
        found = []
        for value in self.na:
            with suppress(ValueError, OverflowError):
                found.append(float(value))
        return tuple(found)

    @classmethod
    def split(cls, given: Mapping[str, Any]) -> tuple[ReadOptions, dict[str, Any]]:
        """Return the options among parameters of `open_source`, and the other parameters."""
        names = {field.name for field in fields(cls)}
        options = cls(**{name: value for name, value in given.items() if name in names})
        return options, {name: value for name, value in given.items() if name not in names}

    def remembered(self) -> dict[str, Any]:
        """Return how to read files of the same kind again, as JSON, without missing-value marks."""
        return {name: getattr(self, name) for name in self.given() if name not in _NOT_REMEMBERED}

    def given(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]


class Table(ABC):
    """One file of rows and columns: what it holds is known, and it is not kept open.

    It is made of the path of a file and of `ReadOptions`.
    """

    takes: ClassVar[tuple[str, ...]] = ()  # the options that the format knows
    once: bool = False  # whether it can be read only once
    by_row: ClassVar[bool] = False  # whether rows are prepared before columns are chosen
    path: str
    width: int  # the number of columns
    names: list[str] | None = None  # of all columns, if the format has names
    dtype: np.dtype = np.dtype(np.float64)  # of blocks of all columns
    not_numeric: Mapping[int, str] = MappingProxyType({})  # what columns without a number hold
    mixed: Mapping[int, str] = MappingProxyType({})  # the text in columns that also hold numbers
    made: Sequence[int] = ()  # the columns whose names were made, for the numbers of lists
    index: Sequence[int] = ()  # the columns in which pandas or R has written an index
    pandas: bytes | None = None  # what pandas has written about index and types, as JSON
    left_out: Sequence[int] = ()  # columns that are no data, or not wanted
    na: Sequence[str | float] = ()  # what else stands for missing entries
    na_values: Sequence[float] = ()  # the numbers among them
    reading: Mapping[str, Any] = MappingProxyType({})  # the other options that it was read with
    n_rows: int | None = None  # if the format knows it
    notes: Sequence[str] = ()  # what was decided without having been asked for, one line each
    columns: NDArray[np.intp] | None = None  # that are read, in this order; None is all
    preparation = Preparation()  # of the rows that are read

    @abstractmethod
    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield rows from number `start` on, as arrays or CSR, which `block` makes blocks of.

        There is at least one row each time, and best about `block_rows`: more rows are cut.
        """

    def taken(self) -> NDArray[np.intp] | None:
        """Return which columns are taken of what `read` gives, in this order; None is all."""
        return self.columns

    def block(self, rows: Any, row: int, dtype: np.dtype) -> Block:
        """Return rows, before which `row` rows came, as a block: prepared, missing entries NaN."""
        taken, labels = self.taken(), self.chosen()
        if self.by_row and self.preparation:
            block, labels = base.take(rows, None, dtype), range(self.width)
        else:
            block, taken = base.take(rows, taken, dtype), None
        try:
            block = self.preparation.apply(_with_missing(block, self.na_values))
        except EntryError as error:
            label = self.column(labels[error.column])
            raise self.error(error.what, row + error.row + 1, label) from error
        return block if taken is None else base.take(block, taken, dtype)

    def float_type(self) -> np.dtype:
        """Return the type of blocks of the chosen columns: float32 if all are, or float64."""
        return self.dtype

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Learn what a file cannot know of itself, from the others and from the choice."""
        return

    def cells(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Yield some columns as they are in the file, as Arrow arrays of a few rows at a time.

        Of a text file they are text.
        """
        import pyarrow as pa

        twin = copy(self)
        twin.columns = np.array(columns, dtype=np.intp)
        dtype = twin.float_type()
        for rows in twin.read(0, rows_per_block(len(columns)), dtype):
            block: Any = base.take(rows, twin.taken(), dtype)
            dense = block.toarray() if scipy.sparse.issparse(block) else block
            yield [pa.array(np.ascontiguousarray(column)) for column in dense.T]

    def stop(self) -> None:
        """Stop waiting for rows that may never come."""
        return

    def error(
        self, message: str, row: int | None = None, column: str | int | None = None
    ) -> SourceError:
        """Return the error for a row, counted from 1, and a column in this file."""
        line = None if row is None else self._line(row)
        return SourceError(message, self.path, row, column, line)

    def lines(self) -> Iterator[NDArray[np.int64]] | None:
        """Return the numbers of the lines in which rows begin, some at a time; None without lines.

        The first line has the number 1.
        """
        return None

    def _line(self, row: int) -> int | None:
        """Return the line in which a row begins that is counted from 1, if there are lines."""
        with suppress(Exception):  # of a damaged file: then the row is named
            for numbers in self.lines() or ():
                if row <= len(numbers):
                    return int(numbers[row - 1])
                row -= len(numbers)
        return None

    def chosen(self) -> Sequence[int]:
        """Return the indices of the columns that are read."""
        return range(self.width) if self.columns is None else self.columns.tolist()

    def column(self, index: int) -> str | int:
        """Return how messages call a column: by its name, or by its index if it has none."""
        return index if self.names is None else self.names[index]

    @cached_property
    def _places(self) -> dict[str, int]:
        """The index of each name."""
        return {name: j for j, name in enumerate(self.names or ())}

    def find_all(self, columns: Sequence[str | int]) -> list[int]:
        """Return the indices of columns given by names, numbers, ranges and patterns."""
        found: list[int] = []
        for column in columns:
            several = self._several(column)
            if several is None:
                several = [self.find(column)]
                if several[0] in found:
                    raise SourceError(f"a column is chosen twice: {', '.join(map(str, columns))}")
            found = list(dict.fromkeys([*found, *several]))
        return found

    def _several(self, column: str | int) -> Sequence[int] | None:
        """Return the columns of a range or a pattern, None for anything else."""
        if not isinstance(column, str) or column in self._places:
            return None
        match = re.fullmatch(r"(\d+)-(\d+)", column, re.ASCII) or re.fullmatch("(.+):(.+)", column)
        if match:
            first, last = self.find(match[1]), self.find(match[2])
            if first > last:
                raise self.error(f"the range {column!r} ends before it begins")
            return range(first, last + 1)
        if not re.search(r"[*?\[]", column):
            return None
        several = [j for name, j in self._places.items() if fnmatchcase(name, column)]
        if not several:
            raise self.error(f"no column name matches {column!r}")
        return several

    def find(self, column: str | int) -> int:
        """Return the index of a column given by its name, or by its index."""
        if isinstance(column, str) and column in self._places:
            return self._places[column]
        is_number = not isinstance(column, str) or (column.isascii() and column.isdigit())
        if is_number and 0 <= int(column) < self.width:
            return int(column)
        message = f"there is no such column: columns have the numbers 0 to {self.width - 1} and "
        message += "no names" if self.names is None else f"the names {listed(self.names)}"
        raise self.error(message, column=int(column) if is_number else column)

    def choose_like(self, first: Table, chosen: list[int] | None, *, exact: bool) -> None:
        """Choose the columns that are those of the first file, which have to hold numbers.

        `exact` allows no others.
        """
        if first.names != self.names or first.width != self.width:
            wanted = [first.column(j) for j in (range(first.width) if chosen is None else chosen)]
            self.compare(first, wanted, exact=exact)
            chosen = [self.find(column) for column in wanted]
        self.columns = None if chosen is None else np.array(chosen, dtype=np.intp)
        doubtful = {*self.not_numeric, *self.mixed}
        bad = sorted(doubtful.intersection(self.chosen())) if doubtful else []
        if not bad:
            return
        found = self.mixed.get(bad[0]) or f"contains {self.not_numeric[bad[0]]}"
        if len(bad) > 1:
            found += f"; the same is true of {listed([self.column(j) for j in bad[1:]])}"
        found += "; leave out columns with exclude= (--exclude)"
        if bad[0] in self.mixed:
            found += " or skip_non_numeric=True (--skip-non-numeric)"
        raise self.error(found, column=self.column(bad[0]))

    def compare(self, first: Table, wanted: Sequence[str | int], *, exact: bool) -> None:
        """Refuse columns that are not those of the first file; `exact` allows no others."""
        ours, theirs = ({each.column(j) for j in range(each.width)} for each in (self, first))
        no_data = {self.column(j) for j in (*self.index, *self.left_out, *self.not_numeric)}
        missing = [column for column in wanted if column not in ours]
        extra = sorted(ours - theirs - no_data, key=str) if exact else []
        differences = [f"is missing {listed(missing)}"] if missing else []
        differences += [f"has also {listed(extra)}"] if extra else []
        if differences:
            raise self.error(f"compared with {first.path}, it {' and '.join(differences)}")


def numbered_names(names: Sequence[str], mark: str = ".") -> list[str]:
    """Return names that are all different: a second "x" is called "x.1", as pandas does.

    anndata puts another mark before the number: it would write "x-1".

    >>> numbered_names(["x", "y", "x", "x.1"])
    ['x', 'y', 'x.2', 'x.1']
    """
    taken, counts = set(names), Counter[str]()
    found: list[str] = []
    for name in names:
        different = name
        while counts[name] and different in taken:
            different = f"{name}{mark}{counts[name]}"
            counts[name] += 1
        taken.add(different)
        counts[name] = counts[name] or 1
        found.append(different)
    return found


def listed(names: Sequence[str | int], most: int = 8) -> str:
    """Return columns as text, not too many of them."""
    text = ", ".join(map(base.called, names[:most]))
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


def _with_missing(block: Any, values: Sequence[float]) -> Block:
    """Return a block in which entries of some values are NaN."""
    if not values:
        return block
    entries = block.data if scipy.sparse.issparse(block) else block
    missing = np.isin(entries, np.array(values, dtype=block.dtype))
    if missing.any():
        block = block.copy()
        (block.data if scipy.sparse.issparse(block) else block)[missing] = np.nan
    return block
