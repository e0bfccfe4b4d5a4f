"""What a source is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# A 2-D C-contiguous float array, or a scipy CSR matrix or array (scipy has no common public type).
Block: TypeAlias = NDArray[np.floating] | Any


class SourceError(ValueError):
    """Rows that cannot be read; the message says which file, row and column."""


class Position(NamedTuple):
    """How far a source has been read: `row` rows of file number `file`, and all files before it.

    JSON turns it into a list of two numbers, which `Source.blocks` takes as well.
    """

    file: int
    row: int


class Source(ABC):
    """A re-iterable of blocks of rows: every ``for block in source`` starts at the first row.

    A block is a C-contiguous array of shape (b, d) and of type float64 or float32, or a scipy CSR
    matrix of that shape, with b >= 1 and all numbers finite. Where the blocks begin and end is up
    to the source, and means nothing.

    Attributes
    ----------
    n_features : int
        The number d of columns.
    n_rows : int or None
        The number of rows, where it is known without reading them.
    feature_names : list of str or None
        The names of the columns, where they have names.
    """

    n_features: int
    n_rows: int | None
    feature_names: list[str] | None

    @abstractmethod
    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block), from the first row or from a position.

        A block belongs to the consumer only until it asks for the next one.
        """

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row on."""
        for _, block in self.blocks():
            yield block
