"""What an estimator has learned, and how chunks of rows are added to it.

The length of a chunk depends only on how many rows came before, and a result is read from a copy
that has learned from the waiting rows. So neither the split of rows into calls nor reading results
in between changes a bit.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onepass import rounding
from onepass.algorithms.solver import Solver
from onepass.learning import stream as stream_module
from onepass.learning.captured_share import CapturedScore
from onepass.learning.result import Result, publish
from onepass.learning.row_errors import ErrorHistogram, RowSample
from onepass.learning.stream import RowBuffer, Stream, weigh
from onepass.moments.accumulator import Mean
from onepass.moments.directional import DirectionalMoment
from onepass.moments.eigen import leading_pairs
from onepass.moments.exact import ExactMoment
from onepass.subspace import orthonormal
from onepass.threads import one_thread

LONG_CALL_CHUNKS = 4
INTERRUPTED = (
    "learning was interrupted in the middle of a call, and some of its rows are missing: fit "
    "again, or load the last model that was saved"
)
EXACT_COLUMNS = 256  # up to here the paper's algorithms keep the second moment as a matrix
CHUNK_BYTES = 2**23  # a chunk of dense rows stays in the processor's cache
CHUNK_ROWS, SPARSE_CHUNK_ROWS = 512, 1024
SEARCH_AFTER = 1.5  # growth of the stream after which ERM finds its directions again


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
    chunk_rows : int
        The length of the next chunk, which depends only on how many rows came before.
    parts : tuple of str
        What learns from rows: copied and faded together.
    kept : tuple of str
        What a model file keeps: parts, or numbers and arrays.
    mean : Mean
        Of the rows learned from.
    errors : ErrorHistogram
        Squared distances of rows from the subspace, measured before learning from them.
    sample : RowSample
        Coordinates of some rows, and the rows with the largest errors.
    buffer : RowBuffer
        The rows that wait for a chunk to fill.
    score : CapturedScore
        How much of the rows was captured, measured before learning from them.
    rows_seen : int
        The number of rows of positive weight, including those in the buffer.
    """

    chunk_rows: Any
    parts: ClassVar[tuple[str, ...]] = ("mean", "errors", "sample")
    kept: ClassVar[tuple[str, ...]] = ("rows_seen", "mean", "errors", "sample", "buffer")
    score: CapturedScore
    _settled: Self | None = None
    _result: Result | None = None

    def __init__(self, stream: Stream, batch_size: int = 1) -> None:
        self.stream, self.batch_size = stream, batch_size
        self.mean = Mean(stream.d)
        self.errors = ErrorHistogram()
        self.sample = RowSample(stream.d, stream.half_life)
        self.buffer = RowBuffer(stream)
        self.rows_seen = 0
        self._interrupted = False

    @abstractmethod
    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        """Learn from a chunk: rows (r, d), dense or CSR, and their weights (r,), all positive."""

    @abstractmethod
    def read(self) -> Result:
        """Return the result of a learner in which no row waits."""

    def curve(self) -> NDArray[np.float64]:
        """Return the learning curve (p, 3): rows, share captured, and its standard error.

        The share is that of rows that had not been learned from yet.
        """
        return self.score.curve()

    @abstractmethod
    def include(self, other: Self) -> None:
        """Include what another learner has learned; no row waits in either."""

    def push(self, rows: Any, weights: NDArray[np.float64] | None = None) -> Self:
        """Add checked rows (r, d) of the stream's type and kind, and their weights (r,).

        Returns the learner that has them: a copy where they are many, so that an interruption of a
        long call leaves this one as it was. A copy for every short call would cost more than
        learning from its rows.
        """
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        if self._interrupted:
            raise RuntimeError(INTERRUPTED)
        length = self.next_chunk_rows()
        learner = self.copy() if rows.shape[0] >= LONG_CALL_CHUNKS * length else self
        learner._settled = learner._result = None
        if learner.buffer.count + rows.shape[0] < length:
            learner.buffer.add(rows, weights, length)
        else:
            weights = np.ones(rows.shape[0]) if weights is None else weights
            learner._interrupted = True  # until all of the rows are learned from
            with one_thread():
                learner._take_chunks(rows, weights)
            learner._interrupted = False
        learner.rows_seen += rows.shape[0]
        return learner

    def _take_chunks(
        self, rows: Any, weights: NDArray[np.float64], length: int | None = None
    ) -> None:
        """Learn from all full chunks, of a given length or of the usual one; keep the rest."""
        start, total = 0, rows.shape[0]
        while start < total:
            full = length or self.next_chunk_rows()
            stop = min(total, start + full - self.buffer.count)
            chunk, chunk_weights = rows[start:stop], weights[start:stop]
            start = stop
            if chunk.shape[0] < full:
                self.buffer.add(chunk, chunk_weights, full)
                if self.buffer.count < full:
                    return
                chunk, chunk_weights = self.buffer.content()
                self.buffer.clear()
            if self.stream.half_life is not None:
                self.fade(0.5 ** (full / self.stream.half_life))
            self.learn(chunk, chunk_weights)

    def next_chunk_rows(self) -> int:
        """Return the length of the next chunk, in whole batches."""
        length = stream_module.FORCED_CHUNK_ROWS or self.chunk_rows
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
            twin = self.copy()
            twin.buffer = RowBuffer(self.stream)
            with one_thread():
                twin._take_chunks(*self.buffer.content(), self.buffer.count)
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
        self._settled = self._result = None
        with one_thread():
            self.include(other)
        self.errors.merge(other.errors)
        self.sample.merge(other.sample)
        self.rows_seen += other.rows_seen

    def degrees(self) -> float:
        """Return what sums over rows are divided by: n - 1 about the mean, n about zero."""
        lost = 1.0 / max(self.rows_seen, 2) if self.stream.center else 0.0
        return self.mean.weight * (1.0 - lost) or 1.0

    def _publish(
        self, directions: NDArray[np.floating], second: NDArray[np.float64], energy: float
    ) -> Result:
        """Return the result of directions (k, d), with the second moment (k, k) along them."""
        mean = self.mean.vector if self.stream.center else np.zeros(self.stream.d)
        captured = self.score.value()
        return publish(directions, second, energy, self.degrees(), mean, captured)

    def copy(self) -> Self:
        """Return a copy that goes on by itself."""
        twin = copy.copy(self)
        for name in (*self.parts, "buffer"):
            setattr(twin, name, getattr(self, name).copy())
        twin._settled = twin._result = None
        return twin

    def fade(self, factor: float) -> None:
        """Let everything so far count less."""
        for name in self.parts:
            getattr(self, name).fade(factor)

    def state(self) -> dict[str, Any]:
        """Return what a model file keeps, as a nested dict of numbers and arrays."""
        held = {name: getattr(self, name) for name in self.kept}
        return {
            name: value.saved() if hasattr(value, "saved") else value
            for name, value in held.items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        for name in self.kept:
            value = getattr(self, name)
            if hasattr(value, "restore"):
                value.restore(state[name])
            else:
                setattr(self, name, state[name])

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but results that can be computed again."""
        return {**self.__dict__, "_settled": None, "_result": None}


class SolverLearner(Learner):
    """The learner of the paper's algorithms: one solver, and the variances along its directions.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    solver : Solver
        At its beginning.
    rounding : {"top", "sample"}
        From the iterate or average to k directions.
    seed : int
        For sampled directions.
    """

    parts = (*Learner.parts, "solver", "moment", "score")
    kept = (*Learner.kept, "solver", "moment", "score", "seed")

    def __init__(
        self, stream: Stream, solver: Solver, rounding: Literal["top", "sample"], seed: int
    ) -> None:
        super().__init__(stream, solver.batch_size)
        self.solver, self.rounding, self.seed = solver, rounding, seed
        cached = CHUNK_BYTES // (stream.d * stream.dtype.itemsize)
        dense_rows = max(1, min(CHUNK_ROWS, cached))
        self.chunk_rows = SPARSE_CHUNK_ROWS if stream.is_sparse else dense_rows
        self.score = CapturedScore()
        self.moment: ExactMoment | DirectionalMoment = (
            ExactMoment(stream.d) if stream.d <= EXACT_COLUMNS else DirectionalMoment()
        )

    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        moment, mean, center = self.moment, self.mean, self.stream.center
        first, is_sparse = mean.weight == 0.0, self.stream.is_sparse
        if isinstance(moment, ExactMoment) and is_sparse:
            moment.add(weigh(rows.toarray(), weights, mean.copy(), center))
        learned = weigh(rows, weights, mean, center)
        if isinstance(moment, ExactMoment) and not is_sparse:
            moment.add(learned)
        held = self._held()
        captured, energy, turn, inner = self.solver.advance(learned)
        now = self._held()
        if first:  # there were no directions before: these are measured along those learned
            turn, along = np.zeros((len(now), 0)), np.asarray(learned @ now.T, np.float64)
            inner = along.T @ along
        elif self.solver.average is not None:  # it is the average that is read
            turn = (now @ held.T).astype(np.float64)
            along = np.asarray(learned @ held.T, np.float64)
            inner = turn @ (along.T @ along) @ turn.T
            captured = np.einsum("ij,ij->i", along, along) if len(held) else captured
        self.score.add(captured, energy)
        scored = slice(int(first and center), None)  # the first row is its own mean
        errors = (energy - captured) / weights
        self.errors.add(errors[scored], weights[scored])
        self.sample.add(rows, errors, held if len(held) else now, mean.vector)
        if isinstance(moment, DirectionalMoment):
            moment.add(turn, inner, float(energy.sum()), float(weights.sum()))

    def _held(self) -> NDArray[np.floating]:
        """Return the directions (m, d) that variances are measured along."""
        if self.solver.average is None:
            return self.solver.state.basis
        leading = self.solver.average.factor[: self.solver.rule.k]
        return leading / np.linalg.norm(leading, axis=1)[:, None]

    def read(self) -> Result:
        solver = self.solver
        iterate = solver.iterate() if solver.average is None else solver.average.value()
        if self.rounding == "sample":
            directions = rounding.sample(iterate, solver.rule.k, np.random.default_rng(self.seed))
        else:
            directions = rounding.top(iterate, solver.rule.k)
        wide: NDArray[Any] = orthonormal(directions.astype(np.float64))
        if isinstance(self.moment, ExactMoment):
            second = self.moment.compress(wide)
        else:
            second = self.moment.compress(wide, self._held().astype(np.float64))
        return self._publish(wide.astype(directions.dtype), second, self.moment.energy)

    def include(self, other: Self) -> None:
        ours, theirs = self._held(), other._held()
        between = self.mean.between(other.mean)
        self.solver.merge(other.solver)
        if isinstance(self.moment, ExactMoment) and isinstance(other.moment, ExactMoment):
            self.moment.merge(other.moment, between)
        elif isinstance(self.moment, DirectionalMoment):
            assert isinstance(other.moment, DirectionalMoment)
            now = self._held().astype(np.float64)
            self.moment.merge(other.moment, now @ ours.T, now @ theirs.T)
            inner, energy = now @ between, float(between @ between)
            self.moment.add(np.eye(len(now)), np.outer(inner, inner), energy, 0.0)
        self.mean.merge(other.mean)
        self.score.merge(other.score)


class MomentLearner(Learner):
    """The learner of ERM: the second moment of the rows, and k directions to score others by.

    Parameters
    ----------
    stream : Stream
        What all rows have in common.
    k : int
        The number of components.
    """

    parts = (*Learner.parts, "moment", "score")
    kept = (*Learner.kept, "moment", "score", "scorers", "searched")

    def __init__(self, stream: Stream, k: int) -> None:
        super().__init__(stream)
        self.k, self.chunk_rows = k, max(1, min(CHUNK_ROWS, CHUNK_BYTES // (8 * stream.d)))
        self.moment = ExactMoment(stream.d)
        self.score = CapturedScore()
        self.scorers: NDArray[np.float64] = np.zeros((0, stream.d))
        self.searched = 0.0  # the weight of the rows when the scorers were found

    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        mean, center = self.mean, self.stream.center
        if mean.weight >= SEARCH_AFTER * max(self.searched, 1.0):
            self._find_scorers()
        dense = (rows.toarray() if self.stream.is_sparse else rows).astype(np.float64, copy=False)
        before = mean.vector if mean.weight > 0.0 else dense[0]
        centred = dense - before if center else dense
        errors = np.zeros(len(dense))
        if len(self.scorers):
            inner = centred @ self.scorers.T
            energy = np.einsum("ij,ij->i", centred, centred)
            captured = np.einsum("ij,ij->i", inner, inner)
            self.score.add(weights * captured, weights * energy)
            errors = energy - captured
            self.errors.add(errors, weights)
        self.moment.add(weigh(dense, weights, mean, center))
        if not len(self.scorers):
            self._find_scorers()
        self.sample.add(rows, errors, self.scorers, mean.vector)

    def _find_scorers(self) -> None:
        """Score the rows that follow by the leading directions of the rows so far."""
        self.scorers = leading_pairs(self.moment.matrix, self.k, prove=False)[0]
        self.searched = self.mean.weight

    def read(self) -> Result:
        directions = leading_pairs(self.moment.matrix, self.k)[0]
        typed = directions.astype(self.stream.dtype)
        return self._publish(typed, self.moment.compress(directions), self.moment.energy)

    def include(self, other: Self) -> None:
        self.moment.merge(other.moment, self.mean.between(other.mean))
        self.mean.merge(other.mean)
        self.score.merge(other.score)
