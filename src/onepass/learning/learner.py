"""What an estimator has learned, and how chunks of rows are added to it.

The lengths of chunks depend on nothing but how many rows came before, and reading a result takes
the rows that wait on a copy. How rows are split into calls, and whether results are read in
between, therefore changes no bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onepass.learning import row_buffer
from onepass.learning.error_histogram import ErrorHistogram
from onepass.learning.result import Result
from onepass.learning.row_buffer import RowBuffer, Stream
from onepass.learning.row_sample import RowSample
from onepass.moments.mean import Mean
from onepass.threads import one_thread

LONG_CALL_CHUNKS = 4
INTERRUPTED = (
    "learning was interrupted in the middle of a call, and some of its rows are missing: fit "
    "again, or load the last model that was saved"
)


class Learner(ABC):
    """Takes rows in chunks.

    Subclasses say how long the next chunk is, how to learn from it, and what the result is.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    batch_size : int
        Rows of one gradient step: chunks are a whole number of batches.

    Attributes
    ----------
    mean : Mean
        Of the rows learned from.
    errors : ErrorHistogram
        Squared distances of rows from the subspace, each before it was learned from.
    sample : RowSample
        Coordinates of some rows, and the rows with the largest errors.
    buffer : RowBuffer
        The rows that wait for a chunk to fill.
    rows_seen : int
        Rows of positive weight, including those that wait.
    """

    _settled: Self | None
    _result: Result | None
    carries: ClassVar[bool] = False  # whether it has an iterate that is no sum over the rows

    def __init__(self, stream: Stream, batch_size: int = 1) -> None:
        self.stream, self.batch_size = stream, batch_size
        self.mean = Mean(stream.d)
        self.errors = ErrorHistogram()
        self.sample = RowSample(stream.d, stream.half_life)
        self.buffer = RowBuffer(stream)
        self.rows_seen = 0
        self._interrupted = False
        self._forget()

    @abstractmethod
    def chunk_rows(self) -> int:
        """Return the length of the next chunk; a function of the rows learned from so far."""

    @abstractmethod
    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Learn from a chunk: rows (r, d), dense or CSR, and their weights (r,), all positive."""

    @abstractmethod
    def read(self) -> Result:
        """Return the result of a learner in which no row waits."""

    @abstractmethod
    def curve(self) -> NDArray[np.float64]:
        """Return the learning curve (p, 3): rows, share captured, and its standard error.

        The share is that of rows that had not been learned from yet.
        """

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that goes on by itself."""

    @abstractmethod
    def fade(self, factor: float) -> None:
        """Let everything so far count less."""

    @abstractmethod
    def include(self, other: Self) -> None:
        """Include what another learner has learned; no row waits in either."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what a model file keeps, as a nested dict of numbers and arrays."""

    def push(self, rows: Any, weights: NDArray[np.float64] | None = None) -> None:
        """Add checked rows (r, d) of the stream's type and kind, and their weights (r,)."""
        if weights is None:
            weights = np.ones(rows.shape[0])
        elif not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        if self._interrupted:
            raise RuntimeError(INTERRUPTED)
        self._forget()
        if self.buffer.count + rows.shape[0] < self.next_chunk_rows():
            self.buffer.add(rows, weights, self.next_chunk_rows())
        else:
            self._interrupted = True  # until all of the rows are learned from
            with one_thread():
                self._cut(rows, weights)
            self._interrupted = False
        self.rows_seen += rows.shape[0]

    def pushed(self, rows: Any, weights: NDArray[np.float64] | None = None) -> Self:
        """Return a learner that has taken rows as `push` does: a copy where they are many.

        An interruption of a long call then leaves this one as it was. A copy for every short call
        would cost more than learning from its rows.
        """
        long_call = rows.shape[0] >= LONG_CALL_CHUNKS * self.next_chunk_rows()
        learner = self.copy() if long_call else self
        learner.push(rows, weights)
        return learner

    def _cut(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Learn from all chunks that are full; keep the rest."""
        start, total = 0, rows.shape[0]
        while start < total:
            length = self.next_chunk_rows()
            stop = min(total, start + length - self.buffer.count)
            if stop - start == length:
                self._take(rows[start:stop], weights[start:stop])
            else:
                self.buffer.add(rows[start:stop], weights[start:stop], length)
                if self.buffer.count == length:
                    self._take(self.buffer.rows(), self.buffer.weights())
                    self.buffer.clear()
            start = stop

    def _take(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Fade what was learned before, then learn from a chunk."""
        if self.stream.half_life is not None:
            factor = 0.5 ** (rows.shape[0] / self.stream.half_life)
            self.fade(factor)
            self.errors.fade(factor)
        self.learn(rows, weights)

    def next_chunk_rows(self) -> int:
        """Return the length of the next chunk, in whole batches."""
        length = row_buffer.FORCED_CHUNK_ROWS or self.chunk_rows()
        if self.stream.half_life is not None:  # the rows of a chunk count the same
            length = min(length, int(self.stream.half_life / 4))
        return max(1, length // self.batch_size) * self.batch_size

    def settled(self) -> Self:
        """Return a learner in which no row waits: itself, or a copy that has learned from them."""
        if self._interrupted:
            raise RuntimeError(INTERRUPTED)
        if not self.buffer.count:
            return self
        if self._settled is None:
            waiting, self.buffer = self.buffer, RowBuffer(self.stream)
            try:
                twin = self.copy()
            finally:
                self.buffer = waiting
            with one_thread():
                twin._take(waiting.rows(), waiting.weights())
            self._settled = twin
        return self._settled

    def result(self) -> Result:
        """Return what is read after fitting; it is computed once until more rows come."""
        if self._result is None:
            with one_thread():
                self._result = self.settled().read()
        return self._result

    def merge(self, other: Self) -> None:
        """Include the rows of another learner of the same kind; no row waits in either."""
        self._forget()
        with one_thread():
            self.include(other)
        self.errors.merge(other.errors)
        self.sample.merge(other.sample)
        self.rows_seen += other.rows_seen

    def continue_from(self, other: Self) -> None:  # noqa: B027
        """Start from the iterate of another learner, with its steps; only where it `carries`."""

    def leave_out(self, given: Self) -> None:  # noqa: B027
        """Take back the steps of the learner that this one continued from."""

    def replace_iterate(self, latest: Self) -> None:  # noqa: B027
        """Take over the iterate of a learner that had gone on from this one's."""

    def degrees(self) -> float:
        """Return what sums over rows are divided by: n - 1 about the mean, n about zero."""
        lost = 1.0 / max(self.rows_seen, 2) if self.stream.center else 0.0
        return self.mean.weight * (1.0 - lost) or 1.0

    def _forget(self) -> None:
        """Forget results that were read."""
        self._settled = self._result = None

    def _copied(self) -> Self:
        """Return a copy of the parts that all learners have; the others are shared."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.mean, twin.buffer = self.mean.copy(), self.buffer.copy()
        twin.errors, twin.sample = self.errors.copy(), self.sample.copy()
        twin._forget()
        return twin

    def _common_state(self) -> dict[str, Any]:
        """Return the state of the parts that all learners have."""
        return {
            "rows_seen": self.rows_seen,
            "mean": self.mean.state(),
            "errors": self.errors.state(),
            "sample": self.sample.state(),
            "buffer": self.buffer.state(),
        }

    def _set_common_state(self, state: dict[str, Any]) -> None:
        """Take over the parts that all learners have from a checked state."""
        self.rows_seen = state["rows_seen"]
        self.mean = Mean.from_state(state["mean"])
        self.errors = ErrorHistogram.from_state(state["errors"])
        self.sample = RowSample.from_state(state["sample"], self.stream.half_life)
        self.buffer = RowBuffer.from_state(self.stream, state["buffer"])
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but results that can be computed again."""
        return {**self.__dict__, "_settled": None, "_result": None}
