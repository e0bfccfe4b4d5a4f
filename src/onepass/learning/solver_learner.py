"""The learner of the paper's algorithms: one solver, and the variances along its directions."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onepass import rounding
from onepass.learning.captured import CapturedScore
from onepass.learning.learner import Learner
from onepass.learning.result import Result, orthonormal, publish
from onepass.learning.row_buffer import Stream
from onepass.learning.rules import Incremental
from onepass.learning.solver import Progress, Solver
from onepass.learning.weighted_rows import SparseRows, weigh
from onepass.moments.directional import DirectionalMoment
from onepass.moments.exact import ExactMoment

EXACT_COLUMNS = 256  # up to here the second moment of the rows is kept as a matrix
CHUNK_BYTES = 2**23  # a chunk of dense rows stays in the processor's cache
CHUNK_ROWS, SPARSE_CHUNK_ROWS = 512, 1024


class SolverLearner(Learner):
    """Solver, second moment and score of one stream.

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

    def __init__(
        self, stream: Stream, solver: Solver, rounding: Literal["top", "sample"], seed: int
    ) -> None:
        super().__init__(stream, solver.batch_size)
        self.solver, self.rounding, self.seed = solver, rounding, seed
        self.score = CapturedScore()
        self.moment: ExactMoment | DirectionalMoment = (
            ExactMoment(stream.d) if stream.d <= EXACT_COLUMNS else DirectionalMoment()
        )

    def chunk_rows(self) -> int:
        if self.stream.is_sparse:
            return SPARSE_CHUNK_ROWS
        cached = CHUNK_BYTES // (self.stream.d * self.stream.dtype.itemsize)
        return max(1, min(CHUNK_ROWS, cached))

    def learn(self, rows: Any, weights: NDArray[np.float64]) -> None:
        solver, first = self.solver, self.mean.weight == 0.0
        if isinstance(self.moment, ExactMoment):
            dense = rows.toarray() if self.stream.is_sparse else rows
            self.moment.add(dense, weights, self.mean, self.stream.center)
        learned = weigh(rows, weights, self.mean, self.stream.center)
        held = self._held()
        progress = solver.advance(learned)
        if solver.average is not None and len(held):  # it is the average that is read
            inner = _inner(learned, held)
            turn = (self._held() @ held.T).astype(np.float64)
            progress = Progress(
                np.sum(inner**2, axis=1), progress.energy, turn, turn @ (inner.T @ inner) @ turn.T
            )
        self.score.add(progress.captured, progress.energy)
        scored = slice(int(first and self.stream.center), None)  # the first row is its own mean
        errors = (progress.energy - progress.captured) / weights
        self.errors.add(errors[scored], weights[scored])
        self.sample.add(rows, errors, held if len(held) else self._held(), self.mean.vector)
        if isinstance(self.moment, DirectionalMoment):
            self._measure(self.moment, learned, held, progress, float(weights.sum()), first)

    def _measure(
        self,
        moment: DirectionalMoment,
        learned: Any,
        held: NDArray[np.floating],
        progress: Progress,
        weight: float,
        first: bool,
    ) -> None:
        """Measure a chunk along the directions held: of the iterate, or of the average."""
        now, energy = self._held(), float(progress.energy.sum())
        if first:
            inner = _inner(learned, now)
            moment.start(inner.T @ inner, energy, weight)
        else:
            moment.add(progress.turn, progress.inner, energy, weight)

    def _held(self) -> NDArray[np.floating]:
        """Return the directions (m, d) that variances are measured along."""
        average = self.solver.average
        return self.solver.state.basis if average is None else average.leading(self.solver.rule.k)

    def read(self) -> Result:
        solver = self.solver
        iterate = solver.iterate() if solver.average is None else solver.average.value()
        if self.rounding == "sample":
            directions = rounding.sample(iterate, solver.rule.k, np.random.default_rng(self.seed))
        else:
            directions = rounding.top(iterate, solver.rule.k)
        directions = orthonormal(directions.astype(np.float64)).astype(directions.dtype)
        if isinstance(self.moment, ExactMoment):
            second = self.moment.compress(directions)
        else:
            second = self._compress(self.moment, directions.astype(np.float64))
        mean = self.mean.vector if self.stream.center else np.zeros(self.stream.d)
        return publish(
            directions, second, self.moment.energy, self.degrees(), mean, self.score.value()
        )

    def _compress(
        self, moment: DirectionalMoment, directions: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the second moment (k, k) along directions: outside of those held, it is spread."""
        held, second = self._held().astype(np.float64), moment.second()
        inner = directions @ held.T
        spread = max(moment.energy - float(second.trace()), 0.0) / max(self.stream.d - len(held), 1)
        outside = np.eye(len(directions)) - inner @ inner.T
        return inner @ second @ inner.T + spread * outside

    def fade(self, factor: float) -> None:
        for part in (self.mean, self.moment, self.score, self.solver):
            part.fade(factor)

    def include(self, other: Self) -> None:
        ours, theirs = self._held(), other._held()
        between = self.mean.between(other.mean)
        self.solver.merge(other.solver)
        if isinstance(self.moment, ExactMoment) and isinstance(other.moment, ExactMoment):
            self.moment.merge(other.moment, between if self.stream.center else None)
        elif isinstance(self.moment, DirectionalMoment):
            assert isinstance(other.moment, DirectionalMoment)
            now = self._held().astype(np.float64)
            self.moment.merge(other.moment, now @ ours.T, now @ theirs.T)
            if self.stream.center:
                inner = now @ between
                energy = float(between @ between)
                self.moment.add(np.eye(len(now)), np.outer(inner, inner), energy, 0.0)
        self.mean.merge(other.mean)
        self.score.merge(other.score)

    @property
    def carries(self) -> bool:  # type: ignore[override]
        """Whether the iterate is no sum over the rows."""
        return not isinstance(self.solver.rule, Incremental)

    def continue_from(self, other: Self) -> None:
        self.solver.continue_from(other.solver)

    def leave_out(self, given: Self) -> None:
        self.solver.leave_out(given.solver)

    def replace_iterate(self, latest: Self) -> None:
        self.solver.rule.native, self.solver.state = latest.solver.rule.native, latest.solver.state

    def curve(self) -> NDArray[np.float64]:
        return self.score.curve()

    def copy(self) -> Self:
        twin = self._copied()
        twin.solver, twin.score = self.solver.copy(), self.score.copy()
        twin.moment = self.moment.copy()
        return twin

    def state(self) -> dict[str, Any]:
        return {
            **self._common_state(),
            "solver": self.solver.saved(),
            "moment": self.moment.state(),
            "score": self.score.state(),
            "seed": self.seed,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a checked state."""
        self._set_common_state(state)
        self.solver.restore(state["solver"])
        self.moment = type(self.moment).from_state(state["moment"])
        self.score = CapturedScore.from_state(state["score"])
        self.seed = state["seed"]


def _inner(rows: Any, directions: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the products (r, m) of weighted rows with directions (m, d)."""
    if isinstance(rows, SparseRows):
        return rows.inner(directions)
    return (rows @ directions.T).astype(np.float64, copy=False)
