"""Rows in memory: an array, a sparse matrix, or blocks of either."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
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
    n_rows : int, optional
        The number of rows, where it is known; that of a list is counted.

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
        n_rows: int | None = None,
    ) -> None:
        self._given = blocks
        self._is_used_up = False
        self.once = isinstance(blocks, Iterator)
        self.feature_names, self.n_rows = feature_names, n_rows
        if n_rows is None and isinstance(blocks, list | tuple):
            self.n_rows = sum(np.shape(block)[0] for block in blocks)

    @cached_property
    def n_features(self) -> int:  # type: ignore[override]
        """The number of columns of the first block, which is read to find it out."""
        iterator = iter(self._given() if callable(self._given) else self._given)
        first = next(iterator, None)
        if first is None:
            raise SourceError("there is not a single block")
        if self.once:
            self._given = itertools.chain([first], iterator)
        return int(next(self.assemble(iter([first]))).shape[1])

    def assemble(self, given: Iterable[Any]) -> Iterator[Any]:
        """Yield blocks of what an iterable gives: arrays and sparse matrices."""
        return map(base.as_block, given)

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        skip, row = self.first_row(start), 0
        if self._is_used_up:
            raise SourceError(
                "a generator of blocks can be used only once: give a list, or a function that "
                "returns a new generator"
            )
        self._is_used_up = self.once
        for block in self.assemble(self._given() if callable(self._given) else self._given):
            shape = getattr(block, "shape", ()) or (1,)  # what is no block is refused by others
            begin, row = row, row + shape[0]
            if row > max(skip, begin):
                yield Position(0, row), block[skip - begin :] if skip > begin else block


class ArraySource(Source):
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

    feature_names: list[str] | None = None

    def __init__(self, array: Any, block_rows: int | None = None) -> None:
        is_sparse = scipy.sparse.issparse(array)
        rows: Any = scipy.sparse.csr_array(array) if is_sparse else np.asanyarray(array)
        if rows.ndim != 2 or 0 in rows.shape:
            raise SourceError(f"an array of shape {rows.shape} has no rows and columns")
        base.float_type(rows.dtype)  # which has to be one of numbers
        self.n_rows, self.n_features = rows.shape
        self._array = rows
        self._rows = block_rows or (4096 if is_sparse else base.rows_per_block(self.n_features))

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        n = self._array.shape[0]
        for begin in range(self.first_row(start), n, self._rows):
            end = min(begin + self._rows, n)
            yield Position(0, end), self._between(begin, end)

    def _between(self, begin: int, end: int) -> Block:
        """Return some rows."""
        return base.as_block(self._array[begin:end])
