"""The paper's choice of the step: c in 2^-12 .. 2^5, by average suboptimality on validation rows.

The 18 runs over one pass share what can be shared, without changing the choice:

- the rows, and the second moments that suboptimality is measured with;
- steps so small that neither the trace nor an eigenvalue ever meets its bound give the same
  directions, those of S(t) = sum_s x_s x_s' / sqrt(s), for MSG and Warmuth-Kuzmin alike; Capped MSG
  follows the truncation of S(t), which is also the same for all of them. One run stands for all;
- a run is given up as soon as its sum of suboptimalities exceeds the smallest total so far, since
  the summands are not negative. Those that do well on the first rows are run first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from onepass.paper.trajectory import (
    AVERAGED,
    WIDER,
    Checkpoint,
    make_rule,
    run_weights,
    trajectory,
)
from onepass.schedules import InverseSqrt, Schedule
from onepass.subspace import Subspace

EXPONENTS = range(-12, 6)
SAME_DIRECTIONS = ("MSG", "Warmuth-Kuzmin")  # that small steps give
SAME_RUN = (*SAME_DIRECTIONS, "Capped MSG", WIDER, "Capped MSG" + AVERAGED)
RANK_LIMIT = 32  # + 4k directions at most: small steps fill the trace late, at full rank
REHEARSAL = 2  # the share of the checkpoints that decides on the order: few rows, as they are early


@dataclass(frozen=True)
class HeldOut:
    """Rows that directions are judged by: their second moment, (d, d), and its eigenvalues."""

    moment: NDArray[np.float64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, moment: NDArray[np.float64]) -> HeldOut:
        """Find the eigenvalues, descending."""
        return cls(moment, np.linalg.eigvalsh(moment)[::-1].astype(np.float64))

    def suboptimality(self, at: Checkpoint, k: int) -> float:
        """Return the share of what the best k directions capture that the iterate's miss."""
        best, directions = self.values[:k].sum(), at.iterate.top(k)
        captured = np.einsum("ij,ij->", directions @ self.moment, directions)
        return float(max(0.0, best - captured) / best)


@dataclass(frozen=True)
class SmallSteps:
    """What small steps share: the run of S(t), and its trace and largest eigenvalue at the end."""

    run: list[Checkpoint]
    trace: float
    largest: float

    def covers(self, c: float, k: int) -> bool:
        """Whether a run with steps c/sqrt(t) never meets a bound: M(t) = c S(t)."""
        return c * self.trace <= k and c * self.largest <= 1


@dataclass(frozen=True)
class Training:
    """What every algorithm is run on."""

    rows: NDArray[np.float64]  # (T, d)
    marks: NDArray[np.int64]  # (s,): after how many rows suboptimality is measured
    validation: HeldOut  # what the step is chosen by
    small_steps: SmallSteps
    seed: int  # for where the algorithms start that move a basis

    def run(self, name: str, k: int, schedule: Schedule) -> Iterator[Checkpoint]:
        """Run an algorithm, one of `onepass.paper.trajectory.RULES` or averaged."""
        rule = make_rule(name, k, self.rows.shape[1], self.seed)
        averaging, limit = name.endswith(AVERAGED), RANK_LIMIT + 4 * k
        return trajectory(
            rule, self.rows, schedule, self.marks, averaging=averaging, rank_limit=limit
        )


def weighted_pca(
    rows: NDArray[np.float64], marks: NDArray[np.int64], weights: NDArray[np.float64], count: int
) -> SmallSteps:
    """Return the run of S(t) = sum_s w_s x_s x_s', as its `count` leading directions.

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
        leading = Subspace(np.ascontiguousarray(vectors[:, ::-1].T), values[::-1])
        run.append(Checkpoint(seen, leading, costs[mark - 1], False))
    return SmallSteps(run, float(np.trace(total)), float(leading.weights[0]))


@dataclass(frozen=True)
class Chosen:
    """The best step of an algorithm and its run.

    The average suboptimality on validation is given for every exponent; for a run that was given
    up, what it had come to by then.
    """

    c: float  # of steps with the same run, the largest
    run: list[Checkpoint]  # one per mark
    averages: dict[int, float]


def choose(name: str, k: int, training: Training) -> Chosen:
    """Run an algorithm with all steps."""
    validation, shared = training.validation, training.small_steps
    weights = run_weights(training.marks)
    small = [e for e in EXPONENTS if shared.covers(2.0**e, k)]
    tried = [e for e in EXPONENTS if not (name in SAME_RUN and e in small[:-1])]

    def run(exponent: int) -> Iterator[Checkpoint]:
        if name in SAME_DIRECTIONS and exponent in small:
            return iter(shared.run)
        return training.run(name, k, InverseSqrt(2.0**exponent))

    def rehearse(exponent: int) -> float:
        first = itertools.islice(run(exponent), len(weights) // REHEARSAL)
        pairs = zip(first, weights, strict=False)
        return sum(weight * validation.suboptimality(at, k) for at, weight in pairs)

    best, found = np.inf, Chosen(np.nan, [], {})
    averages: dict[int, float] = {}
    for exponent in sorted(tried, key=rehearse):
        total, parts = 0.0, []
        for at, weight in zip(run(exponent), weights, strict=True):
            parts.append(at)
            total += weight * validation.suboptimality(at, k)
            if total > best:
                break
        averages[exponent] = float(total)
        if total < best:
            best, found = total, Chosen(2.0**exponent, parts, averages)
    if name in SAME_RUN and small:
        averages.update(dict.fromkeys(small, averages[small[-1]]))
    return found
