"""Rows of a scipy sparse matrix in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scipy.sparse

from onepass.sources.base import Position, Source, SourceError, float_type
from onepass.sources.finite import check_finite

BLOCK_ROWS = 4096


class SparseSource(Source):
    """The rows of a scipy sparse matrix or array, as CSR blocks.

    Parameters
    ----------
    matrix : scipy sparse matrix or array of shape (n, d)
        Of any format; another than CSR is converted once. float32 stays float32, everything else
        becomes float64.
    block_rows : int
        Rows per block.

    Examples
    --------
    >>> import scipy.sparse
    >>> from onepass.sources import SparseSource
    >>> [block.shape for block in SparseSource(scipy.sparse.eye_array(5), block_rows=3)]
    [(3, 5), (2, 5)]
    """

    feature_names = None

    def __init__(self, matrix: Any, block_rows: int = BLOCK_ROWS) -> None:
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise SourceError(f"a matrix of shape {matrix.shape} has no rows and columns")
        self._dtype = float_type(matrix.dtype)
        self._matrix = scipy.sparse.csr_array(matrix)
        self.n_rows, self.n_features = self._matrix.shape
        self._block_rows = block_rows

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Any]]:
        """Yield (position after the block, block)."""
        begin = self.first_row(start)
        for row in range(begin, self._matrix.shape[0], self._block_rows):
            block = canonical(self._matrix[row : row + self._block_rows].astype(self._dtype))
            check_finite(block, row, int)
            yield Position(0, row + block.shape[0]), block


def canonical(block: Any) -> Any:
    """Return a CSR block whose rows have no entry twice, sorted; the given one is not changed."""
    if block.has_canonical_format:
        return block
    block = block.copy()
    block.sum_duplicates()
    return block
