"""Everything learned from a stream, and how chunks of rows are added to it.

The length of a chunk depends only on what was learned before, and a model is read from a copy that
has learned from the waiting rows. So neither the split of rows into calls nor reading results
in between changes a bit.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onepass.gaps.factor_model import any_gap
from onepass.model import Model
from onepass.moments.row_errors import ErrorHistogram
from onepass.persistence.fields import Field, Part, State, whole
from onepass.precision import Doubles
from onepass.stream import RowBuffer, Stream
from onepass.threads import one_thread

# Tests set this to force chunks of a few rows, so that a short stream crosses many of them.
FORCED_CHUNK_ROWS: int | None = None
# Chunks in a half-life, at least: all rows of a chunk count the same, and their true weights differ
# by 16% in a quarter of a half-life.
CHUNKS_IN_HALF_LIFE = 4


class Learner(State):
    """Takes rows in chunks.

    Subclasses say how long the next chunk is, how to learn from it, and what the model is.

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
    errors : ErrorHistogram
        Squared distances of rows from the subspace, measured before learning from them.
    buffer : RowBuffer
        The rows that wait for a chunk to fill.
    """

    def __init__(self, stream: Stream, batch_size: int = 1) -> None:
        self.stream, self.batch_size = stream, batch_size
        self.rows_learned = 0
        self.errors = ErrorHistogram()
        self.buffer = RowBuffer(stream)

    def fields(self) -> dict[str, Field]:
        return {"rows_learned": whole(), "errors": Part(), "buffer": Part()}

    @abstractmethod
    def chunk_rows(self) -> int:
        """Return the length of the next chunk, which depends on what was learned alone."""

    @abstractmethod
    def learn(self, values: Any, weights: Doubles) -> None:
        """Learn from a chunk: rows (r, d), dense or CSR, and their weights (r,), all positive."""

    @abstractmethod
    def learn_with_gaps(self, values: Any, weights: Doubles) -> None:
        """Learn from a chunk of which rows may have gaps: entries that are NaN."""

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

    @property
    def rows_seen(self) -> int:
        """The number of rows of positive weight, including those that wait."""
        return self.rows_learned + self.buffer.count

    def fits_buffer(self, rows: int) -> bool:
        """Return whether so many rows can wait: then they only have to be put into the buffer."""
        return self.buffer.count + rows < self.next_chunk_rows()

    def next_chunk_rows(self) -> int:
        """Return the length of the next chunk, in whole batches."""
        length = FORCED_CHUNK_ROWS or self.chunk_rows()
        if self.stream.half_life is not None:
            length = min(length, int(self.stream.half_life / CHUNKS_IN_HALF_LIFE))
        return max(1, length // self.batch_size) * self.batch_size

    def push(self, rows: Any, weights: Doubles | None = None, *, has_gaps: bool = False) -> None:
        """Add checked rows (r, d) of the stream's type and kind, and their weights (r,).

        `has_gaps` says whether entries of them are missing.
        """
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        if self.fits_buffer(rows.shape[0]):
            self.buffer.add(rows, weights, self.next_chunk_rows(), has_gaps)
            return
        weights = np.ones(rows.shape[0]) if weights is None else weights
        with one_thread():
            self._take_chunks(rows, weights, has_gaps)

    def pushed(self, rows: Any, weights: Doubles | None = None, *, has_gaps: bool = False) -> Self:
        """Return the learner of more rows: this one if they only wait, else a copy.

        So other threads can read this one, as it only gets more rows in its buffer.
        """
        if weights is None and self.buffer.count + rows.shape[0] < (full := self.next_chunk_rows()):
            self.buffer.add(rows, None, full, has_gaps)
            return self
        fits = not self.rows_seen or self.fits_buffer(rows.shape[0])
        learner = self if fits else self.successor()
        learner.push(rows, weights, has_gaps=has_gaps)
        return learner

    def _take_chunks(self, rows: Any, weights: Doubles, has_gaps: bool) -> None:
        """Learn from all full chunks; let the rest wait."""
        start, total = 0, rows.shape[0]
        while start < total:
            full = self.next_chunk_rows()
            stop = min(total, start + full - self.buffer.count)
            chunk, chunk_weights, may_have = rows[start:stop], weights[start:stop], has_gaps
            start = stop
            if chunk.shape[0] < full:
                self.buffer.add(chunk, chunk_weights, full, has_gaps)
                if self.buffer.count < full:
                    return
                chunk, chunk_weights = self.buffer.content()
                may_have = self.buffer.has_gaps
            self._learn(chunk, chunk_weights, may_have)
            self.buffer.clear()

    def _learn(self, values: Any, weights: Doubles, has_gaps: bool) -> None:
        """Learn from a chunk, before which everything fades if there is a half-life."""
        if self.stream.half_life is not None:
            self.fade(0.5 ** (values.shape[0] / self.stream.half_life))
        # Rows of the same call may have had gaps that these have not: the split must not matter.
        if has_gaps and any_gap(values):
            self.learn_with_gaps(values, weights)
        else:
            self.learn(values, weights)
        self.rows_learned += values.shape[0]

    def finished(self) -> Self:
        """Return a learner in which no row waits: itself, or a copy that has learned from them."""
        if not self.buffer.count and not self.keeps_rows():
            return self
        twin = self.copy()
        twin.finish()
        return twin

    def finish(self) -> None:
        """Learn from the rows that wait."""
        with one_thread():
            if self.buffer.count:
                self._learn(*self.buffer.content(), self.buffer.has_gaps)
                self.buffer = RowBuffer(self.stream)
            self.learn_kept()

    def keeps_rows(self) -> bool:
        """Return whether rows wait for others outside of the buffer."""
        return False

    def learn_kept(self) -> None:
        """Learn from such rows."""

    def settle(self) -> None:
        """Learn from rows that are only kept so far."""

    def without_rows(self) -> Self:
        """Return a learner, in which no row waits, that holds no row: itself, or a copy."""
        return self

    def successor(self) -> Self:
        """Return a copy for one more array of rows, which shares the memory of the buffer.

        It does not harm this one, but this one must not go on once the other has.
        """
        twin = self.copy(shared=("buffer",))
        twin.buffer = copy.copy(self.buffer)
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
