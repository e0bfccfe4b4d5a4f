"""What one file is, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import Block
from onepass.sources.buffers import Buffers


class Table(ABC):
    """One file of rows and columns: what it holds is known, and it is not kept open.

    Attributes
    ----------
    path : str
        The file, for messages and for opening it.
    names : list of str or None
        The names of all columns, if the format has names.
    numeric : ndarray of bool, of shape (columns,)
        Which columns are numbers.
    single : ndarray of bool, of shape (columns,)
        Which columns are float32.
    n_rows : int or None
        The number of rows, if the format knows it.
    one_use : bool
        Whether the rows can be read only once, as from a pipe.
    """

    path: str
    names: list[str] | None
    numeric: NDArray[np.bool_]
    single: NDArray[np.bool_]
    n_rows: int | None
    one_use: bool = False

    @abstractmethod
    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[Block]:
        """Yield the rows from number `start` on, in blocks of at least one row.

        Parameters
        ----------
        columns : ndarray of shape (d,)
            The columns to read, in this order.
        start : int
            How many rows to leave out.
        block_rows : int
            A good size of block; a longer one is cut.
        buffers : Buffers
            Where dense blocks take their memory, and of which type they are. Sparse ones are of
            this type too.
        """

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Learn what a file cannot know of itself, from the others and from the choice."""
        return

    def column(self, index: int) -> str | int:
        """Return how messages call a column: by its name or, without one, by its index."""
        return self.names[index] if self.names is not None else index

    def why_not_numeric(self, index: int) -> str:
        """Return what a column that is not numeric holds."""
        return "no numbers"
