"""Rows of an array in memory, or of one mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.sources.base import Position, Source, SourceError, float_type, rows_per_block
from onepass.sources.finite import check_finite, check_unmasked


class ArraySource(Source):
    """The rows of a 2-D array; a ``numpy.memmap`` is read block by block.

    Parameters
    ----------
    array : array-like of shape (n, d)
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

    feature_names = None

    def __init__(self, array: ArrayLike, block_rows: int | None = None) -> None:
        self._array = np.asanyarray(array)
        if self._array.ndim != 2 or 0 in self._array.shape:
            raise SourceError(f"an array of shape {self._array.shape} has no rows and columns")
        self._dtype = float_type(self._array.dtype)
        self.n_rows, self.n_features = self._array.shape
        self._block_rows = block_rows or rows_per_block(self.n_features)

    def blocks(
        self, start: Position | None = None
    ) -> Iterator[tuple[Position, NDArray[np.floating]]]:
        """Yield (position after the block, block)."""
        begin = self.first_row(start)
        for row in range(begin, len(self._array), self._block_rows):
            part = self._array[row : row + self._block_rows]
            check_unmasked(part, row)
            block = np.ascontiguousarray(part, dtype=self._dtype).view(np.ndarray)
            check_finite(block, row, int)
            yield Position(0, row + len(block)), block
