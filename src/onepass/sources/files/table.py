"""What one file is, whatever its format, and which of its columns are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import Block, SourceError, called


class Table(ABC):
    """One file of rows and columns: what it holds is known, and it is not kept open."""

    path: str
    width: int  # the number of columns
    names: list[str] | None = None  # of all columns, if the format has names
    dtype: np.dtype = np.dtype(np.float64)  # of blocks of all columns
    not_numeric: Mapping[int, str] = MappingProxyType({})  # what columns hold that are no numbers
    index: Sequence[int] = ()  # the columns in which pandas has written an index
    n_rows: int | None = None  # if the format knows it
    notes: Sequence[str] = ()  # what was decided without having been asked for, one line each
    one_use: bool = False  # whether the rows can be read only once, as from a pipe
    columns: NDArray[np.intp] | None = None  # that are read, in this order; None is all

    @abstractmethod
    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the chosen columns of the rows from number `start` on, as blocks of a type.

        A block has at least one row, and best about `block_rows`: longer ones are cut.
        """

    def float_type(self) -> np.dtype:
        """Return the type of blocks of the chosen columns: float32 if all are, or float64."""
        return self.dtype

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Learn what a file cannot know of itself, from the others and from the choice."""
        return

    def stop(self) -> None:
        """Stop waiting for rows that may never come."""
        return

    def error(
        self, message: str, row: int | None = None, column: str | int | None = None
    ) -> SourceError:
        """Return the error for a place in this file."""
        return SourceError(message, self.path, row, column)

    def chosen(self) -> Sequence[int]:
        """Return the indices of the columns that are read."""
        return range(self.width) if self.columns is None else self.columns.tolist()

    def column(self, index: int) -> str | int:
        """Return how messages call a column: by its name, or by its index if it has none."""
        return index if self.names is None else self.names[index]

    def chosen_column(self, number: int) -> str | int:
        """Return how messages call a column of a block."""
        return self.column(self.chosen()[number])

    @cached_property
    def _places(self) -> dict[str, int]:
        """The index of each name; -1 where two columns have it."""
        places: dict[str, int] = {}
        for j, name in enumerate(self.names or ()):
            places[name] = -1 if name in places else j
        return places

    def find(self, column: str | int) -> int:
        """Return the index of a column given by its name, or by its index."""
        if isinstance(column, str) and column in self._places:
            if self._places[column] < 0:
                raise self.error("two columns have this name; choose by number", column=column)
            return self._places[column]
        is_number = not isinstance(column, str) or (column.isascii() and column.isdigit())
        if is_number and 0 <= int(column) < self.width:
            return int(column)
        message = f"there is no such column: columns have the numbers 0 to {self.width - 1}"
        message += " and no names" if self.names is None else f" and the names {listed(self.names)}"
        raise self.error(message, column=int(column) if is_number else column)

    def choose_like(self, first: Table, chosen: list[int] | None, *, exact: bool) -> None:
        """Choose the columns that are those of the first file; `exact` allows no others."""
        indices: Sequence[int] = range(first.width) if chosen is None else chosen
        if first.names == self.names and first.width == self.width:
            found = chosen
        elif first.names is None:
            if exact and first.width != self.width:
                raise self.error(
                    f"there are {self.width} columns, and {first.width} in {first.path}"
                )
            found = [self.find(j) for j in indices]
        elif self.names is None:
            raise self.error(f"its columns have no names, and those of {first.path} have")
        else:
            names = [first.names[j] for j in indices]
            missing = [name for name in names if name not in self._places]
            extra = set(self.names) - set(first.names) - {self.names[j] for j in self.index}
            differences = [f"is missing {listed(missing)}"] if missing else []
            if exact and extra:
                differences.append(f"has also {listed(sorted(extra))}")
            if differences:
                raise self.error(f"compared with {first.path}, it {' and '.join(differences)}")
            found = [self.find(name) for name in names]
        self.columns = None if found is None else np.array(found, dtype=np.intp)
        self._check_columns()

    def _check_columns(self) -> None:
        """Refuse two columns of one name, and columns that are not numbers."""
        if self.names is not None:
            name, count = Counter(self.column(j) for j in self.chosen()).most_common(1)[0]
            if count > 1:
                raise self.error("there are two columns of this name", column=name)
        bad = [j for j in self.not_numeric if self.columns is None or j in self.columns]
        if bad:
            message = f"contains {self.not_numeric[bad[0]]}"
            if len(bad) > 1:
                message += f"; the same is true of {listed([self.column(j) for j in bad[1:]])}"
            message += "; choose columns (columns=, --columns), or leave such columns out "
            message += "(skip_non_numeric=True, --skip-non-numeric)"
            raise self.error(message, column=self.column(bad[0]))


def choose(
    tables: list[Table],
    wanted: Sequence[str | int] | None,
    skip_non_numeric: bool,
    keep_index: bool,
) -> None:
    """Choose the columns of each file that make up the rows.

    The first file decides which columns they are and in which order. In the others they are found
    by name, or by index where there are no names. Without a choice all files must have the same
    columns, and those of pandas' index are left out unless they are to be kept.
    """
    first = tables[0]
    left_out = set() if keep_index else set(first.index)
    left_out |= first.not_numeric.keys() if skip_non_numeric else set()
    chosen: list[int] | None = None
    if wanted is not None:
        chosen = [first.find(column) for column in wanted]
        if len(set(chosen)) < len(chosen):
            raise SourceError(f"a column is chosen twice: {', '.join(map(str, wanted))}")
    elif left_out:
        chosen = [j for j in range(first.width) if j not in left_out]
    if chosen == [] or first.width == 0:
        raise first.error("no column is chosen, or none is numeric")
    for table in tables:
        table.choose_like(first, chosen, exact=wanted is None)


def listed(names: Sequence[str | int], most: int = 8) -> str:
    """Return columns as text, not too many of them."""
    text = ", ".join(map(called, names[:most]))
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
