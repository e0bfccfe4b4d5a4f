"""Rows in memory: an array, a sparse matrix, or blocks of either."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np
import scipy.sparse

from onepass.sources import base
from onepass.sources.base import Block, Position, Source, SourceError


class BlockSource(Source):
    """An iterable of 2-D arrays or scipy sparse matrices, one below the other.

    Parameters
    ----------
    blocks : iterable, or callable without arguments that returns one
        A list, or anything else that can be iterated again. A generator can be iterated only once:
        to read it twice, pass a function that returns one.
    feature_names : list of str, optional
        The names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.sources import BlockSource
    >>> source = BlockSource(lambda: (np.full((2, 3), i) for i in range(4)))
    >>> source.n_features, sum(len(block) for block in source)
    (3, 8)
    """

    def __init__(
        self,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        feature_names: list[str] | None = None,
    ) -> None:
        self._make = blocks if callable(blocks) else lambda: blocks
        iterator = iter(self._make())
        first = next(iterator, None)
        if first is None:
            raise SourceError("there is not a single block")
        self._once = itertools.chain([first], iterator) if iterator is blocks else None
        self._used = False
        self.once = self._once is not None
        self.n_features = _checked(first, None, 0).shape[1]
        self.feature_names = feature_names
        self.n_rows = None
        if isinstance(blocks, Sized) and isinstance(blocks, Iterable):
            self.n_rows = sum(np.shape(block)[0] for block in blocks)

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        skip, row = self.first_row(start), 0
        if self._once is not None and self._used:
            raise SourceError(
                "a generator of blocks can be used only once: give a list, or a function that "
                "returns a new generator"
            )
        self._used = True
        for given in self._once or self._make():
            begin, row = row, row + np.shape(given)[0]
            if row > max(skip, begin):
                block = _checked(given, self.n_features, begin)
                yield Position(0, row), block[max(skip - begin, 0) :]


class ArraySource(BlockSource):
    """The rows of a 2-D array or of a sparse matrix; a ``numpy.memmap`` is read block by block.

    Parameters
    ----------
    array : array-like, or scipy sparse matrix or array, of shape (n, d)
        Numbers. float32 stays float32, everything else becomes float64.
    block_rows : int, optional
        Rows per block.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.sources import ArraySource
    >>> [block.shape for block in ArraySource(np.ones((5, 3)), block_rows=2)]
    [(2, 3), (2, 3), (1, 3)]
    """

    def __init__(self, array: Any, block_rows: int | None = None) -> None:
        is_sparse = scipy.sparse.issparse(array)
        rows: Any = scipy.sparse.csr_array(array) if is_sparse else np.asanyarray(array)
        if rows.ndim != 2 or 0 in rows.shape:
            raise SourceError(f"an array of shape {rows.shape} has no rows and columns")
        most = block_rows or (4096 if is_sparse else base.rows_per_block(rows.shape[1]))
        starts = range(0, rows.shape[0], most)
        super().__init__(lambda: (rows[start : start + most] for start in starts))
        self.n_rows = rows.shape[0]


SparseSource = ArraySource


def _checked(given: Any, width: int | None, row: int) -> Block:
    """Return a block of the right number of columns; `row` rows came before."""
    block = base.as_block(given)
    if width is not None and block.shape[1] != width:
        message = f"a block has the shape {block.shape}, not (rows, {width})"
        raise SourceError(message, row=row + 1)
    return block
