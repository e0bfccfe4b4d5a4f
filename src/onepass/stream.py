"""What all rows of a stream have in common, and the buffer in which rows wait for a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.persistence.fields import MOST_ENTRY, Array, Field, Size, State
from onepass.precision import Doubles, Rows

MOST_WAITING = 2**24  # rows in a model file: no chunk is nearly as long


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
        Whether the mean is subtracted.
    half_life : float or None
        The number of rows after which what was seen counts half.
    """

    d: int
    dtype: np.dtype
    is_sparse: bool
    center: bool
    half_life: float | None = None

    def convert(self, rows: Rows) -> Rows:
        """Return rows in the type of the stream, and sparse if it is."""
        if self.is_sparse and not sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        with np.errstate(over="ignore"):  # the check that follows refuses what overflows
            return rows.astype(self.dtype, copy=False)

    def chunk(self, rows: Rows) -> Rows:
        """Return converted rows, of which there are not many, in the kind of the stream."""
        return rows if self.is_sparse or isinstance(rows, np.ndarray) else rows.toarray()


class RowBuffer(State):
    """Rows that wait for a chunk to fill, with their weights, in the order in which they came.

    Rows that wait do not change while others are added behind them, nor when the buffer is cleared
    once: then further rows go to other memory. So a copy can be made in one thread while another
    one adds rows, and a copy that shares the memory can be cleared without harm to this one.

    Parameters
    ----------
    stream : Stream
        The rows' dimension, type and kind.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream, self.count = stream, 0
        self.has_gaps = False  # whether a row may have some
        # Of dense rows, for chunk after chunk: new memory each time would cost page faults.
        self._room = np.empty((0, stream.d), stream.dtype)
        self._spare = self._room
        self._pieces: tuple[Rows, ...] = ()  # of sparse rows
        self._weights: Doubles = np.empty(0)

    def fields(self) -> dict[str, Field]:
        d, dtype = self.stream.d, (self.stream.dtype.name,)
        waiting, stored = Size("waiting", MOST_WAITING), Size("stored", 2**40)
        table: dict[str, Field] = {"weights": Array((waiting,), least=1e-300)}
        if not self.stream.is_sparse:
            return table | {"rows": Array((waiting, d), dtype, -MOST_ENTRY, MOST_ENTRY, gaps=True)}
        integers = ("int32", "int64")
        return table | {
            "data": Array((stored,), dtype, -MOST_ENTRY, MOST_ENTRY, gaps=True),
            "indices": Array((stored,), integers, 0, d - 1),
            "indptr": Array((Size("waiting + 1", MOST_WAITING),), integers, 0, 2**40),
        }

    @property
    def entries(self) -> int:
        """The number of entries that sparse rows store."""
        return sum(len(piece.data) for piece in self._pieces)

    def add(self, rows: Rows, weights: Doubles | None, room: int, has_gaps: bool = False) -> None:
        """Append a copy of rows (r, d), and their weights (r,); None where all are one.

        `room` is how many rows the chunk is going to have, and `has_gaps` whether one of these may
        have some.
        """
        self.has_gaps |= has_gaps
        start, stop = self.count, self.count + rows.shape[0]
        if len(self._weights) < stop:
            length = max(stop, min(room, 2 * stop))
            self._weights = _lengthened(self._weights, start, length)
        if self.stream.is_sparse:
            self._pieces = (*self._pieces, rows.copy())
        else:
            if len(self._room) < stop:
                self._room = _lengthened(self._room, start, max(stop, min(room, 2 * stop)))
            self._room[start:stop] = rows if isinstance(rows, np.ndarray) else rows.toarray()
        self._weights[start:stop] = 1.0 if weights is None else weights
        self.count = stop  # last: from now on the rows are there for other threads

    def content(self) -> tuple[Rows, Doubles]:
        """Return all rows (count, d) and their weights (count,), until the buffer is cleared."""
        count = self.count
        weights = self._weights[:count]
        if not self.stream.is_sparse:
            return self._room[:count], weights
        pieces = self._pieces
        if len(pieces) != 1:
            empty = self.stream.convert(np.empty((0, self.stream.d)))
            self._pieces = pieces = (
                sparse.csr_array(sparse.vstack([empty, *pieces], format="csr")),
            )
        return pieces[0][:count], weights

    def clear(self) -> None:
        """Let no row wait any more."""
        if self.count:
            self._room, self._spare = self._spare, self._room
            self.count, self._pieces, self._weights = 0, (), np.empty(0)
            self.has_gaps = False

    def copy(self, shared: tuple[str, ...] = ()) -> Self:
        """Return a copy that goes on by itself."""
        twin = type(self)(self.stream)
        rows, weights = self.content()
        twin._weights, twin.count = weights.copy(), len(weights)
        twin.has_gaps = self.has_gaps
        if self.stream.is_sparse:
            twin._pieces = (rows,)
        else:
            twin._room = rows.copy()
        return twin

    # The fields of a file.
    rows = property(lambda self: self.content()[0])
    weights = property(lambda self: self.content()[1])
    data, indices, indptr = (
        property(attrgetter(f"rows.{name}")) for name in ("data", "indices", "indptr")
    )

    def take(self, content: dict[str, Any]) -> None:
        """Take over rows from a file."""
        weights = content["weights"]
        if self.stream.is_sparse:
            parts = (content["data"], content["indices"], content["indptr"])
            rows = sparse.csr_array(parts, shape=(len(weights), self.stream.d))
            rows.check_format(full_check=True)
            self._pieces = (rows,)
        else:
            self._room = content["rows"]
        entries = content["data" if self.stream.is_sparse else "rows"]
        self._weights, self.count = weights, len(weights)
        self.has_gaps = bool(np.isnan(entries).any())


def _lengthened(array: NDArray[Any], used: int, length: int) -> NDArray[Any]:
    """Return an array of another length that begins with the used part of this one."""
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer
