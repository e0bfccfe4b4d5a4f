"""The algorithms that the paper compares, and their iterates at checkpoints of a run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onepass.learning.averaging import Average
from onepass.learning.rules import MEG, MSG, Grouse, Incremental, Oja, Rule
from onepass.learning.solver import Solver
from onepass.schedules import Schedule
from onepass.subspace import Subspace
from onepass.threads import one_thread

AVERAGED = ", averaged"
WIDER = "Capped MSG, K=2k+2"
CHUNK_ROWS = 24  # rows between two readings of the rank

RULES: dict[str, Callable[[int, int, int], Rule]] = {
    "MSG": lambda k, d, seed: MSG(k, d, max_rank=d),
    "Capped MSG": lambda k, d, seed: MSG(k, d, max_rank=k + 1),
    WIDER: lambda k, d, seed: MSG(k, d, max_rank=2 * k + 2),
    "Incremental": lambda k, d, seed: Incremental(k, d, max_rank=k),
    "Warmuth-Kuzmin": lambda k, d, seed: MEG(k, d),
    "Grassmannian SGD": lambda k, d, seed: Grouse(k, d, init=random_basis(k, d, seed)),
    "Oja": lambda k, d, seed: Oja(k, d, init=random_basis(k, d, seed)),
}


def random_basis(k: int, d: int, seed: int) -> NDArray[np.float64]:
    """Return k random orthonormal rows, shape (k, d)."""
    rows = np.random.default_rng(seed).normal(size=(d, k))
    return np.ascontiguousarray(np.linalg.qr(rows)[0].T)


def make_rule(name: str, k: int, d: int, seed: int = 0) -> Rule:
    """Return an algorithm; the seed is for where those that move a basis start.

    "Capped MSG" has K = k + 1, as in the paper's experiments, and the traces are at most k.

    Examples
    --------
    >>> make_rule("Capped MSG", k=4, d=32).rank_bound
    5
    """
    return RULES[name.removesuffix(AVERAGED)](k, d, seed)


@dataclass(frozen=True)
class Checkpoint:
    """A run after some of its rows."""

    rows: int
    iterate: Subspace  # M or, if asked for, the average of all M
    cost: float  # the paper's estimate of the runtime, the sum of (k_s')^2
    limited: bool  # whether the rank was ever cut


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
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[Checkpoint]:
    """Run a rule over rows (T, d) and yield a `Checkpoint` after each number of rows in `marks`.

    With `rank_limit` only so many directions are kept between chunks, those of the largest
    weights. A run that never gets there is exact; one that does says so. The rank is read every
    `chunk_rows` rows, and at marks; that changes the iterates by rounding only.
    """
    d = rows.shape[1]
    average = Average(d, min(d, 2 * rule.k + 16), rows.dtype) if averaging else None
    solver = Solver(copy.copy(rule), schedule, rows.dtype, average=average)
    seen, cost, limited = 0, 0.0, False
    with one_thread():
        for mark in marks:
            while seen < mark:
                chunk = rows[seen : min(mark, seen + chunk_rows)]
                solver.advance(chunk)
                seen += len(chunk)
                if rank_limit is not None and solver.state.rank > rank_limit:
                    kept, state = slice(rank_limit), solver.state
                    solver.state = Subspace(state.basis[kept], state.weights[kept], state.rest)
                    limited = True
                cost += len(chunk) * float(solver.state.rank) ** 2
            iterate = solver.iterate() if average is None else average.value()
            yield Checkpoint(seen, iterate, cost, limited)
