"""Rows that come in blocks already."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np
import scipy.sparse

from onepass.sources.base import Block, Position, Source, SourceError, float_type
from onepass.sources.finite import check_finite, check_unmasked
from onepass.sources.sparse import canonical


class BlockSource(Source):
    """An iterable of 2-D arrays or scipy sparse matrices, one below the other.

    Parameters
    ----------
    blocks : iterable, or callable without arguments that returns one
        A list, or anything else that can be iterated again. A generator can be iterated only
        once, and a second time is an error; a function that makes one is the way out.
    feature_names : list of str, optional
        The names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.sources import BlockSource
    >>> source = BlockSource(lambda: (np.full((2, 3), i) for i in range(4)))
    >>> source.n_features
    3
    >>> sum(len(block) for block in source)
    8
    """

    def __init__(
        self,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        feature_names: list[str] | None = None,
    ) -> None:
        self._make = blocks if callable(blocks) else lambda: blocks
        self._once: Iterator[Any] | None = None
        iterator = iter(self._make())
        first = next(iterator, None)
        if first is None:
            raise SourceError("there is not a single block")
        self._single_use = not callable(blocks) and iterator is blocks
        if self._single_use:
            self._once = itertools.chain([first], iterator)
        self.n_features = _checked(first, None, 0).shape[1]
        self.feature_names = feature_names
        self.n_rows = None
        if isinstance(blocks, Sized) and isinstance(blocks, Iterable):
            self.n_rows = sum(np.shape(block)[0] for block in blocks)

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        skip = self.first_row(start)
        if not self._single_use:
            iterator = iter(self._make())
        elif self._once is not None:
            iterator, self._once = self._once, None
        else:
            raise SourceError(
                "a generator of blocks can be used only once: give a list, or a function that "
                "returns a new generator"
            )
        row = 0
        for given in iterator:
            block = _checked(given, self.n_features, row)
            begin, row = row, row + block.shape[0]
            if row > max(begin, skip):
                rest = block[max(skip - begin, 0) :]
                check_finite(rest, row - rest.shape[0], int)
                yield Position(0, row), rest


def _checked(given: Any, width: int | None, row: int) -> Block:
    """Return a block as a C-contiguous float array or as CSR."""
    check_unmasked(given, row)
    sparse = scipy.sparse.issparse(given)
    block = given if sparse else np.asarray(given)
    if block.ndim != 2 or block.shape[1] != (width or block.shape[1]) or block.shape[1] == 0:
        expected = "(rows, columns)" if width is None else f"(rows, {width})"
        raise SourceError.at(f"a block of shape {block.shape}, not {expected}", row=row + 1)
    dtype = float_type(block.dtype)
    if sparse:
        return canonical(scipy.sparse.csr_array(block, dtype=dtype))
    return np.ascontiguousarray(block, dtype=dtype)
