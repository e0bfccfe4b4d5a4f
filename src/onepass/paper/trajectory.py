"""A rule's way through rows, looked at now and then."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.learning.averaging import Average
from onepass.learning.rules import Rule
from onepass.learning.solver import Solver
from onepass.schedules import Schedule
from onepass.subspace import Subspace
from onepass.threads import one_thread

BLOCK_ROWS = 24  # rows between two looks at the rank


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
    average = Average(d, min(d, 2 * rule.k + 16), rows.dtype) if averaging else None
    solver = Solver(copy.copy(rule), schedule, rows.dtype, average=average)
    seen, cost, seconds, limited = 0, 0.0, 0.0, False
    with one_thread():
        for mark in marks:
            start = time.process_time()
            while seen < mark:
                block = rows[seen : min(mark, seen + block_rows)]
                solver.advance(block)
                seen += len(block)
                if rank_limit is not None and solver.state.rank > rank_limit:
                    kept, state = slice(rank_limit), solver.state
                    solver.state = Subspace(state.basis[kept], state.weights[kept], state.rest)
                    limited = True
                cost += len(block) * float(solver.state.rank) ** 2
            seconds += time.process_time() - start
            value = None if average is None else average.value()
            yield Moment(seen, solver.iterate(), value, cost, limited, seconds)
