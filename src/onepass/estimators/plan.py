"""How many rows are taken at once: a matter of speed and memory, never of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

CHUNK_BYTES = 2**23  # a chunk of dense rows stays in the processor's cache
CHUNK_ROWS = 512  # enough for what is done once per chunk to cost little
LONG = 16  # a chunk that grows with the stream is at most this part of what came before

TRACKED_COLUMNS = 4096  # of dense rows: from here on variances are followed block by block
WIDE = 2000  # from here on sparse rows are much smaller than dense ones


@dataclass(frozen=True)
class Plan:
    """How the rows of a stream are taken.

    Attributes
    ----------
    d : int
        Their number of columns.
    dtype : dtype
        In which they are learned from.
    is_sparse : bool
        Whether they are kept as CSR or dense.
    center : bool
        Whether the mean is taken away.
    block_rows : int
        Rows that the engine takes at once.
    chunk_rows : int
        Rows that the second moment takes at once.
    most_rows : int
        The same where many came before: a power of two times as many.
    batch : bool
        Whether a block is one gradient step.
    half_life : float or None
        After how many rows what was seen counts half.
    """

    d: int
    dtype: np.dtype
    is_sparse: bool
    center: bool
    block_rows: int
    chunk_rows: int
    most_rows: int
    batch: bool = False
    half_life: float | None = None

    def rows_after(self, chunks: int) -> int:
        """Return the rows of the next chunk after so many chunks of `chunk_rows`."""
        grown = self.chunk_rows << max((chunks // LONG).bit_length() - 1, 0)
        return min(grown, self.most_rows)

    def convert(self, rows: Any) -> Any:
        """Return rows in the plan's dtype and kind."""
        if self.is_sparse and not sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        elif not self.is_sparse and sparse.issparse(rows):
            rows = rows.toarray()
        with np.errstate(over="ignore"):  # what overflows is refused with its place
            return rows.astype(self.dtype, copy=False)


def make_plan(
    X: Any,
    k: int,
    *,
    center: bool,
    block_size: int | Literal["auto"] = "auto",
    batch_size: int = 1,
    average: bool = False,
    half_life: float | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    chunk_rows: int = CHUNK_ROWS,
    most_rows: int = 0,
) -> Plan:
    """Return the plan for k directions and a stream that begins with the rows X.

    What is truncated after every block or chunk depends a little on where these end. Therefore
    the size of a chunk does not follow `block_size`, nor that of a block where iterates are
    averaged or variances are followed. Where chunks may grow to `most_rows`, they stay as small as
    fits into the cache.
    """
    d, is_sparse = X.shape[1], sparse.issparse(X)
    if half_life is not None:  # what is taken at once counts the same
        batch_size = max(1, min(batch_size, int(half_life / 4)))
    best = batch_size if batch_size > 1 else _block_rows(d, k)
    cached = chunk_bytes // (d * X.dtype.itemsize)
    room = 1024 if is_sparse and d > WIDE else min(chunk_rows, cached)
    most = min(most_rows, cached)
    if half_life is not None:
        room, most = min(room, int(half_life / 4)), min(most, int(half_life / 4))
    chunk = best * max(1, room // best)
    most = chunk << max((most // chunk).bit_length() - 1, 0)
    settled = batch_size > 1 or average or (d > TRACKED_COLUMNS and not is_sparse)
    block = best if block_size == "auto" or settled else min(block_size, chunk)
    return Plan(d, X.dtype, is_sparse, center, block, chunk, most, batch_size > 1, half_life)


def _block_rows(d: int, k: int) -> int:
    """Return the rows that are cheapest to take at once, as measured by the benchmarks."""
    return 16 if k <= 20 and d <= 2000 else 24
