"""The algorithms that the paper compares: their runs, and the choice of the step on MNIST.

Steps are c / sqrt(t) with the c of 2^-12 .. 2^5 that has the best average suboptimality on
validation rows. Three shortcuts save most of the 18 runs, and do not change the choice:

- All runs share the rows, and the second moments that suboptimality is measured with.
- If steps are so small that neither the trace nor an eigenvalue ever meets its bound, MSG and
  Warmuth-Kuzmin have the directions of S(t) = sum_s x_s x_s' / sqrt(s), for every such c. Capped
  MSG then follows the truncation of S(t), also for every such c. One run stands for all of them.
- A run is stopped as soon as its sum of suboptimalities exceeds the smallest total so far, since
  the terms are not negative. Runs that do well on the first rows come first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from onepass.algorithms.ada_oja import AdaOjaRule
from onepass.algorithms.capped_msg import CappedMSGRule
from onepass.algorithms.grouse import GrouseRule
from onepass.algorithms.incremental import IncrementalRule
from onepass.algorithms.meg import MEGRule
from onepass.algorithms.msg import MSGRule
from onepass.algorithms.rule import Rule
from onepass.algorithms.solver import Solver
from onepass.schedules import InverseSqrt, Schedule
from onepass.subspace import Subspace
from onepass.threads import one_thread
from reproduction.distributions import random_directions

WIDER = "Capped MSG, K=2k+2"
CHUNK_ROWS = 24  # the rank is read after so many
EXPONENTS = range(-12, 6)
SAME_DIRECTIONS = ("MSG", "Warmuth-Kuzmin")  # with small steps
SAME_RUN = (*SAME_DIRECTIONS, "Capped MSG", WIDER)
RANK_LIMIT = 32  # directions are kept, and 4k more: with small steps the rank is full for long
REHEARSAL = 2  # the first checkpoints, one in so many of all, decide which run comes first

# "Capped MSG" has K = k + 1, as in the paper's experiments, and the traces are at most k. The seed
# is that of a random start. AdaOja is not in the paper; its step is 1, without any choice.
RULES: dict[str, Callable[[int, int, int], Rule]] = {
    "MSG": lambda k, d, seed: MSGRule(k, d),
    "Capped MSG": lambda k, d, seed: CappedMSGRule(k, d, max_rank=k + 1),
    WIDER: lambda k, d, seed: CappedMSGRule(k, d, max_rank=2 * k + 2),
    "Incremental": lambda k, d, seed: IncrementalRule(k, d, max_rank=k),
    "Warmuth-Kuzmin": lambda k, d, seed: MEGRule(k, d),
    "AdaOja": lambda k, d, seed: AdaOjaRule(k, d, init=random_directions(k, d, seed)),
    "Grassmannian SGD": lambda k, d, seed: GrouseRule(k, d, init=random_directions(k, d, seed)),
}


@dataclass(frozen=True)
class Checkpoint:
    """A run after some of its rows."""

    rows: int
    iterate: Subspace
    cost: float  # the paper's estimate of the runtime, the sum of (k_s')^2
    limited: bool  # whether the rank was ever cut


def checkpoints(first: int, last: int, count: int) -> NDArray[np.int64]:
    """Return about `count` numbers of rows, some evenly and some logarithmically spaced."""
    logarithmic = np.geomspace(first, last, count - count // 3)
    linear = np.linspace(first, last, count // 3 + 1)[1:]
    return np.unique(np.rint(np.concatenate([logarithmic, linear])).astype(np.int64))


def run_weights(marks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weight of each checkpoint in an average over the run: the rows since the last."""
    return np.diff(marks, prepend=0) / marks[-1]


def trajectory(
    rule: Rule,
    rows: NDArray[np.floating],
    schedule: Schedule,
    marks: Iterable[int],
    *,
    rank_limit: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[Checkpoint]:
    """Run a rule over rows (T, d) and yield a `Checkpoint` after each number of rows in `marks`.

    With `rank_limit` only so many directions are kept between chunks, those of the largest
    weights. If that happened, checkpoints are `limited`; otherwise the run is exact. The rank is
    read every `chunk_rows` rows, and at marks, which changes the iterates by rounding only.
    """
    solver = Solver(rule, schedule, rows.dtype)
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
            yield Checkpoint(seen, solver.iterate(), cost, limited)


class HeldOut:
    """Held-out rows: their second moment, (d, d), and its eigenvalues, descending."""

    def __init__(self, moment: NDArray[np.float64]) -> None:
        self.moment, self.values = moment, np.linalg.eigvalsh(moment)[::-1]

    def suboptimality(self, at: Checkpoint, k: int) -> float:
        """Return the share of the variance of the best k directions that the iterate misses."""
        best, directions = self.values[:k].sum(), at.iterate.top(k)
        captured = np.einsum("ij,ij->", directions @ self.moment, directions)
        return float(max(0.0, best - captured) / best)


def weighted_pca(
    rows: NDArray[np.float64], marks: NDArray[np.int64], weights: NDArray[np.float64], count: int
) -> list[Checkpoint]:
    """Return the run of S(t) = sum_s w_s x_s x_s': `count` leading directions, others on average.

    Its rank, for the estimated runtime, is that of rows in general position.
    """
    d = rows.shape[1]
    varying = int((np.abs(rows).max(axis=0) > 0).sum())
    costs = np.cumsum(np.minimum(np.arange(1, len(rows) + 1), varying).astype(float) ** 2)
    total, seen, run = np.zeros((d, d)), 0, []
    for mark in marks:
        part = rows[seen:mark]
        total += (part * weights[seen:mark, None]).T @ part
        seen = int(mark)
        values, vectors = scipy.linalg.eigh(total, subset_by_index=[d - count, d - 1])
        rest = (np.trace(total) - values.sum()) / max(d - count, 1)
        leading = Subspace(np.ascontiguousarray(vectors[:, ::-1].T), values[::-1], rest)
        run.append(Checkpoint(seen, leading, costs[mark - 1], False))
    return run


@dataclass(frozen=True)
class Training:
    """What every algorithm is run on."""

    rows: NDArray[np.float64]  # (T, d)
    marks: NDArray[np.int64]  # (s,): after how many rows suboptimality is measured
    validation: HeldOut  # what the step is chosen by
    small_steps: list[Checkpoint]  # the run of S(t), which stands for small steps
    seed: int  # of the random start of Grassmannian SGD

    def is_small(self, c: float, k: int) -> bool:
        """Whether a run with steps c/sqrt(t) never meets a bound, so that M(t) = c S(t)."""
        S = self.small_steps[-1].iterate
        return c * S.trace <= k and c * float(S.weights[0]) <= 1

    def run(self, name: str, k: int, schedule: Schedule) -> Iterator[Checkpoint]:
        """Run an algorithm."""
        rule = RULES[name](k, self.rows.shape[1], self.seed)
        return trajectory(rule, self.rows, schedule, self.marks, rank_limit=RANK_LIMIT + 4 * k)

    def choose(self, name: str, k: int) -> tuple[float, list[Checkpoint]]:
        """Return the best c and its run; of several c with the same run, the largest."""
        weights = run_weights(self.marks)
        small = [e for e in EXPONENTS if self.is_small(2.0**e, k)]
        tried = [e for e in EXPONENTS if not (name in SAME_RUN and e in small[:-1])]

        def measured(exponent: int) -> Iterator[tuple[Checkpoint, float]]:
            run: Iterable[Checkpoint] = self.small_steps
            if not (name in SAME_DIRECTIONS and exponent in small):
                run = self.run(name, k, InverseSqrt(2.0**exponent))
            for at, weight in zip(run, weights, strict=True):
                yield at, weight * self.validation.suboptimality(at, k)

        def rehearse(exponent: int) -> float:
            early = itertools.islice(measured(exponent), len(weights) // REHEARSAL)
            return sum(part for _, part in early)

        best, chosen = np.inf, (np.nan, list[Checkpoint]())
        for exponent in sorted(tried, key=rehearse):
            total, run = 0.0, []
            for at, part in measured(exponent):
                run.append(at)
                total += part
                if total > best:
                    break
            if total < best:
                best, chosen = total, (2.0**exponent, run)
        return chosen
