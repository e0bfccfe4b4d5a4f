"""What one file is, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import Block, SourceError

# Which columns of a file, in this order; None is all of them.
Columns: TypeAlias = NDArray[np.intp] | None


class Table(ABC):
    """One file of rows and columns: what it holds is known, and it is not kept open.

    Attributes
    ----------
    path : str
        The file, for messages and for opening it.
    width : int
        The number of columns.
    names : list of str or None
        The names of all columns, if the format has names.
    not_numeric : dict of str
        What those columns hold that are not numbers, by index.
    index : list of int
        The columns in which pandas has written the index of a table.
    n_rows : int or None
        The number of rows, if the format knows it.
    notes : list of str
        What was decided about the file without having been asked for, one line each.
    one_use : bool
        Whether the rows can be read only once, as from a pipe.
    """

    path: str
    width: int
    names: list[str] | None = None
    not_numeric: Mapping[int, str] = MappingProxyType({})
    index: Sequence[int] = ()
    n_rows: int | None = None
    notes: Sequence[str] = ()
    one_use: bool = False

    @abstractmethod
    def read(
        self, columns: Columns, start: int, block_rows: int, dtype: np.dtype
    ) -> Iterator[Block]:
        """Yield some columns of the rows from number `start` on, as blocks of a type.

        A block has at least one row, and best about `block_rows`: longer ones are cut.
        """

    def float_type(self, columns: Columns) -> np.dtype:
        """Return the type of blocks of some columns: float32 if all are, or float64."""
        return np.dtype(np.float64)

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Learn what a file cannot know of itself, from the others and from the choice."""
        return

    def stop(self) -> None:
        """Stop waiting for rows that may never come."""
        return

    def column(self, index: int) -> str | int:
        """Return how messages call a column: by its name or, without one, by its index."""
        return self.names[index] if self.names is not None else index


def choose_array(path: str, name: str | None, shapes: dict[str, tuple[int, ...]]) -> str:
    """Return the name of the array of a file to read: the given one, or the only one it can be.

    Vectors beside it are labels and the like; an array of three dimensions is not passed over.
    """
    candidates = [key for key, shape in shapes.items() if len(shape) == 2]
    listed = ", ".join(map(repr, candidates)) or "none"
    if name is not None:
        if name in candidates:
            return name
        raise SourceError.at(f"there is no 2-D array {name!r} in it, only {listed}", file=path)
    larger = [key for key, shape in shapes.items() if len(shape) > 2]
    if len(candidates) == 1 and not larger:
        return candidates[0]
    message = f"it is not clear which of its arrays is meant: two dimensions have {listed}"
    if larger:
        message += f", more dimensions have {', '.join(map(repr, larger))}"
    raise SourceError.at(f"{message}. Choose one with '{path}::name'", file=path)
