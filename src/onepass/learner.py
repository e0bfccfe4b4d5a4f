"""Everything learned from a stream, and how chunks of rows are added to it.

The length of a chunk depends only on what was learned before and, of sparse rows, on how many
entries they store. A model is read from a copy that has learned from the waiting rows. So neither
the split of rows into calls nor reading results in between changes a bit.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onepass.gaps.counts import any_gap
from onepass.model import Model
from onepass.moments.chunk import rows_in
from onepass.moments.row_errors import ErrorHistogram
from onepass.persistence.fields import Field, Part, State, whole
from onepass.precision import Doubles, Rows
from onepass.stream import RowBuffer, Stream
from onepass.threads import one_thread

# Tests set this to force chunks of a few rows, so that a short stream crosses many of them.
FORCED_CHUNK_ROWS: int | None = None
# Chunks in a half-life, at least: all rows of a chunk count the same, and their true weights differ
# by 16% in a quarter of a half-life.
CHUNKS_IN_HALF_LIFE = 4


class ChunkTaker(State):
    """Takes rows of a stream in chunks.

    Subclasses say how long the next chunk is, and what is done with it.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    batch_size : int
        Rows of one gradient step: chunks are a whole number of batches.

    Attributes
    ----------
    rows_learned : int
        The number of rows of positive weight that were learned from.
    buffer : RowBuffer
        The rows that wait for a chunk to fill.
    """

    # Sparse rows with at most this many columns are made dense, one chunk at a time.
    dense_columns: ClassVar[int] = 0
    # A chunk of sparse rows ends as soon as it stores this many entries.
    most_entries: ClassVar[float] = math.inf

    def __init__(self, stream: Stream, batch_size: int = 1) -> None:
        is_sparse = stream.is_sparse and stream.d > self.dense_columns
        self.stream, self.batch_size = replace(stream, is_sparse=is_sparse), batch_size
        self.rows_learned = 0
        self.buffer = RowBuffer(self.stream)

    def fields(self) -> dict[str, Field]:
        return {"rows_learned": whole(), "buffer": Part()}

    @abstractmethod
    def chunk_rows(self) -> int:
        """Return the most rows of the next chunk, which depend on what was learned alone."""

    @abstractmethod
    def learn(self, values: Rows, weights: Doubles) -> None:
        """Learn from a chunk: rows (r, d), dense or CSR, and their weights (r,), all positive."""

    @abstractmethod
    def learn_with_gaps(self, values: Rows, weights: Doubles) -> None:
        """Learn from a chunk of which rows may have gaps: entries that are NaN."""

    @property
    def rows_seen(self) -> int:
        """The number of rows of positive weight, including those that wait."""
        return self.rows_learned + self.buffer.count

    def next_chunk_rows(self) -> int:
        """Return the length of the next chunk, in whole batches."""
        length = FORCED_CHUNK_ROWS or self.chunk_rows()
        if self.stream.half_life is not None:
            length = min(length, int(self.stream.half_life / CHUNKS_IN_HALF_LIFE))
        return max(1, length // self.batch_size) * self.batch_size

    def push(
        self,
        rows: Rows,
        weights: Doubles | None = None,
        *,
        has_gaps: bool = False,
        copies: bool = False,
    ) -> Self:
        """Return the learner of more checked rows (r, d) of the stream's type, weights (r,).

        `has_gaps` says whether entries of them are missing. With `copies`, a copy learns from rows
        that fill a chunk, and is returned. This learner then does not change, and otherwise only
        its buffer grows, so other threads can keep reading it.
        """
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        length = self.next_chunk_rows()
        stop = self._chunk_end(rows, 0, length)
        if stop > rows.shape[0]:
            self.buffer.add(rows, weights, length, has_gaps)
            return self
        learner = self
        if copies:  # it shares the memory of the rows that wait, and this learner does not go on
            learner = self.copy(shared=("buffer",))
            learner.buffer = copy.copy(self.buffer)
        with one_thread():
            weights = np.ones(rows.shape[0]) if weights is None else weights
            learner._take_chunks(rows, weights, has_gaps, length, stop)
        return learner

    def _chunk_end(self, rows: Rows, start: int, length: int) -> int:
        """Return the index after a chunk's last row, beyond all rows if they do not fill it.

        The chunk begins with the waiting rows, continues at `start`, and has at most `length` rows.
        """
        stop = start + length - self.buffer.count
        if self.stream.is_sparse and not isinstance(rows, np.ndarray):
            ends = rows.indptr[start : stop + 1]
            most = ends[0] + self.most_entries - self.buffer.entries
            stop = min(stop, start + int(np.searchsorted(ends, most)))
        return max(stop, start + 1)

    def _take_chunks(
        self, rows: Rows, weights: Doubles, has_gaps: bool, length: int, stop: int
    ) -> None:
        """Learn from all full chunks; let the rest wait.

        The next chunk ends before the row `stop`, and has a length at most.
        """
        start, total = 0, rows.shape[0]
        while True:
            part = slice(start, stop)
            if self.buffer.count or stop > total:
                self.buffer.add(rows[part], weights[part], length, has_gaps)
                if stop > total:
                    return
                self._learn(*self.buffer.content(), self.buffer.has_gaps)
                self.buffer.clear()
            else:
                self._learn(self.stream.chunk(rows_in(rows, part)), weights[part], has_gaps)
            if stop == total:
                return
            start, length = stop, self.next_chunk_rows()
            stop = self._chunk_end(rows, start, length)

    def _learn(self, values: Rows, weights: Doubles, has_gaps: bool) -> None:
        """Learn from a chunk, before which everything fades if there is a half-life."""
        if self.stream.half_life is not None:
            self.fade(0.5 ** (values.shape[0] / self.stream.half_life))
        # Rows of the same call may have had gaps that these have not: the split must not matter.
        if has_gaps and any_gap(values):
            self.learn_with_gaps(values, weights)
        else:
            self.learn(values, weights)
        self.rows_learned += values.shape[0]

    def is_finished(self, *, hold_rows: bool = True) -> bool:
        """Return whether `finish` would change nothing."""
        return not self.buffer.count

    def finish(self, *, hold_rows: bool = True) -> None:
        """Learn from the rows that wait; hold no row afterwards unless `hold_rows`."""
        with one_thread():
            if self.buffer.count:
                self._learn(*self.buffer.content(), self.buffer.has_gaps)
                self.buffer = RowBuffer(self.stream)


class Learner(ChunkTaker):
    """Learns from rows in chunks; subclasses say how, and what the model is.

    Attributes
    ----------
    errors : ErrorHistogram
        Squared distances of rows from the subspace, measured before learning from them.
    """

    def __init__(self, stream: Stream, batch_size: int = 1) -> None:
        super().__init__(stream, batch_size)
        self.errors = ErrorHistogram()

    def fields(self) -> dict[str, Field]:
        return {**super().fields(), "errors": Part()}

    @abstractmethod
    def model(self) -> Model:
        """Return the model of a learner in which no row waits."""

    @abstractmethod
    def include(self, other: Self) -> None:
        """Include what another learner has learned; no row waits in either."""

    @abstractmethod
    def known_variances(self) -> NDArray[np.floating]:
        """Return the variances along all directions of which they are known, largest first.

        No row waits in the learner.
        """

    def learn_whole(
        self,
        values: Rows,
        weights: Doubles | None = None,
        *,
        has_gaps: bool = False,
        passes: int | None = 1,
    ) -> None:
        """Learn from all rows (n, d) of a stream, which are in memory, and their weights (n,).

        They may be read `passes` times; None means as often as it takes.
        """
        self.push(values, weights, has_gaps=has_gaps)

    def next_pass(self, done: Any, passes: int | None) -> Any:
        """Return what takes the rows in another pass over all of them; None if there is none.

        `done` is the pass before, None for the first one, in which this learner has taken them.
        """
        return None

    def finished(self, *, hold_rows: bool = True) -> Self:
        """Return this learner if it is finished, else a copy that is."""
        if self.is_finished(hold_rows=hold_rows):
            return self
        twin = self.copy()
        twin.finish(hold_rows=hold_rows)
        return twin

    def merge(self, other: Self) -> None:
        """Include the rows of another learner of the same kind; no row waits in either."""
        with one_thread():
            self.include(other)
        self.errors.merge(other.errors)
        self.rows_learned += other.rows_learned

    def degrees(self, weight: float) -> float:
        """Return what sums over rows are divided by: n - 1 about the mean, n about zero.

        With weights, the sum of the weights takes the place of n, less one row of mean weight.
        """
        lost = 1.0 / max(self.rows_learned, 2) if self.stream.center else 0.0
        return weight * (1.0 - lost) or 1.0
