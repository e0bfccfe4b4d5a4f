"""A rule's way through rows, looked at now and then."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.averaging import Average
from onepass.engine import Engine
from onepass.frames import Block
from onepass.kernels.threads import threads_for
from onepass.rules.rule import Rule
from onepass.schedules import Schedule
from onepass.subspace import Subspace

BLOCK_ROWS = 24  # the engine's best for d = 784 and k <= 10


@dataclass(frozen=True)
class Moment:
    """A look at a run.

    Attributes
    ----------
    seen : int
        Rows so far.
    iterate : Subspace
        The iterate M after them; it changes when the run goes on.
    average : Subspace or None
        The average of the iterates, if asked for.
    cost : float
        The paper's estimate of the runtime, sum of (k_s')^2. The rank is read at block ends.
    limited : bool
        Whether the rank was ever cut.
    seconds : float
        CPU time of the updates, without that of looking.
    """

    seen: int
    iterate: Subspace
    average: Subspace | None
    cost: float
    limited: bool
    seconds: float


def checkpoints(first: int, last: int, count: int) -> NDArray[np.int64]:
    """Return about `count` numbers of rows, even on the logarithmic and on the linear scale."""
    logarithmic = np.geomspace(first, last, count - count // 3)
    linear = np.linspace(first, last, count // 3 + 1)[1:]
    return np.unique(np.rint(np.concatenate([logarithmic, linear])).astype(np.int64))


def run_weights(marks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each checkpoint counts in an average over the run: the rows since the last."""
    return np.diff(marks, prepend=0) / marks[-1]


def trajectory(
    rule: Rule,
    rows: NDArray[np.floating],
    schedule: Schedule,
    marks: Iterable[int],
    *,
    averaging: bool = False,
    rank_limit: int | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Iterator[Moment]:
    """Run a rule over rows and yield a `Moment` at each checkpoint.

    Parameters
    ----------
    rule : Rule
    rows : ndarray of shape (T, d)
    schedule : Schedule
        Its steps see the number of the row and the norms of the gradients.
    marks : iterable of int
        Increasing numbers of rows. Blocks are cut there; that changes the iterates by rounding
        only.
    averaging : bool
        Whether to average the iterates held before each row.
    rank_limit : int, optional
        Between blocks only so many directions are kept, those of the largest weights. A run that
        never gets there is exact; one that does says so.
    block_rows : int
        Rows taken at once: a matter of speed.
    """
    d = rows.shape[1]
    engine = Engine(rule, averaging=averaging)
    average = Average(d, min(d, 2 * rule.k + 16), rows.dtype) if averaging else None
    state = rule.start(rows.dtype)
    seen, cost, seconds, gradients, limited = 0, 0.0, 0.0, 0.0, False

    def steps(norms: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal gradients, seen
        number = seen + np.arange(1.0, len(norms) + 1)
        total = np.hypot.accumulate(np.concatenate([[gradients], norms]))[1:]
        seen, gradients = seen + len(norms), float(total[-1])
        return schedule.steps(number, total, rule.diameter())

    with threads_for(d):
        for mark in marks:
            start = time.process_time()
            while seen < mark:
                block = Block(rows[seen : min(mark, seen + block_rows)])
                outcome = engine.advance(state, block, steps)
                state = outcome.state
                if rank_limit is not None and state.rank > rank_limit:
                    kept = slice(rank_limit)
                    state = Subspace(state.basis[kept], state.weights[kept], state.rest)
                    limited = True
                cost += len(block) * float(state.rank) ** 2
                if average is not None:
                    average.add(outcome.iterates, len(block))
            seconds += time.process_time() - start
            value = None if average is None else average.value()
            yield Moment(seen, rule.primal(state), value, cost, limited, seconds)
