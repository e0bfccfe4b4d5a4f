"""Rows that wait until a chunk is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Tests set this to force chunks of a few rows, so that a short stream crosses many of them.
FORCED_CHUNK_ROWS: int | None = None


@dataclass(frozen=True)
class Stream:
    """What all rows of a stream have in common.

    Attributes
    ----------
    d : int
        The number of columns.
    dtype : dtype
        float64 or float32.
    is_sparse : bool
        Whether rows are kept as CSR arrays.
    center : bool
        Whether the mean is taken off.
    half_life : float or None
        The number of rows after which what was seen counts half.
    """

    d: int
    dtype: np.dtype
    is_sparse: bool
    center: bool
    half_life: float | None = None

    def convert(self, rows: Any) -> Any:
        """Return rows in the type and kind of the stream."""
        if self.is_sparse and not sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        elif not self.is_sparse and sparse.issparse(rows):
            rows = rows.toarray()
        with np.errstate(over="ignore"):  # the check that follows refuses what overflows
            return rows.astype(self.dtype, copy=False)


class RowBuffer:
    """Rows and their weights in the order in which they came.

    Parameters
    ----------
    stream : Stream
        The rows' dimension, type and kind.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.count = 0
        self._dense = np.empty((0, self.stream.d), self.stream.dtype)
        self._weights = np.empty(0)
        self._pieces: list[Any] = []

    def add(self, rows: Any, weights: NDArray[np.float64], expected: int) -> None:
        """Append rows (r, d) and weights (r,); about `expected` rows come before the next `clear`.

        Appending one row at a time copies each row once on average, not once per call.
        """
        stop = self.count + rows.shape[0]
        if stop > len(self._weights):
            capacity = max(stop, min(expected, 2 * len(self._weights)))
            self._weights = np.resize(self._weights, capacity)
            if not self.stream.is_sparse:
                dense = np.empty((capacity, self.stream.d), self.stream.dtype)
                dense[: self.count] = self._dense[: self.count]
                self._dense = dense
        self._weights[self.count : stop] = weights
        if self.stream.is_sparse:
            self._pieces.append(rows)
        else:
            self._dense[self.count : stop] = rows
        self.count = stop

    def rows(self) -> Any:
        """Return all rows, shape (count, d)."""
        if not self.stream.is_sparse:
            return self._dense[: self.count]
        if len(self._pieces) != 1:
            shape = (0, self.stream.d)
            pieces = self._pieces or [sparse.csr_array(shape, dtype=self.stream.dtype)]
            self._pieces = [sparse.csr_array(sparse.vstack(pieces, format="csr"))]
        return self._pieces[0]

    def weights(self) -> NDArray[np.float64]:
        """Return the weights of all rows, shape (count,)."""
        return self._weights[: self.count]

    def copy(self) -> RowBuffer:
        """Return a copy with rows of its own."""
        twin = RowBuffer(self.stream)
        if self.count:
            twin.add(self.rows(), self.weights(), self.count)
        return twin

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        rows = self.rows()
        if self.stream.is_sparse:
            held = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        else:
            held = {"rows": rows.copy()}
        return {**held, "weights": self.weights().copy()}

    @classmethod
    def from_state(cls, stream: Stream, state: dict[str, Any]) -> RowBuffer:
        """Return the buffer of a checked state."""
        buffer, weights = cls(stream), state["weights"]
        rows = state.get("rows")
        if stream.is_sparse:
            shape = (len(weights), stream.d)
            parts = (state["data"], state["indices"], state["indptr"])
            rows = sparse.csr_array(parts, shape=shape)
            rows.check_format(full_check=True)
        if len(weights):
            buffer.add(rows, weights, len(weights))
        return buffer
