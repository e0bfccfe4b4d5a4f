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
from numpy.typing import NDArray

from onepass.paper.algorithms import AVERAGED, make_rule
from onepass.paper.trajectory import run_weights, trajectory
from onepass.schedules import InverseSqrt

EXPONENTS = range(-12, 6)
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

    def suboptimality(self, directions: NDArray[np.floating], k: int) -> float:
        """Return what the best k directions capture more than these orthonormal rows (j, d)."""
        captured = np.einsum("ij,ij->", directions @ self.moment, directions)
        return float(self.values[:k].sum() - captured)


@dataclass(frozen=True)
class Look:
    """Directions (j, d) at a checkpoint; cost and seconds so far; whether the rank was cut."""

    directions: NDArray[np.floating]
    cost: float
    seconds: float
    limited: bool


@dataclass(frozen=True)
class Shared:
    """What the small steps share: looks at S(t), its trace and largest eigenvalue at the end."""

    looks: list[Look]
    trace: float
    largest: float

    def covers(self, c: float, k: int) -> bool:
        """Whether a run with steps c/sqrt(t) never meets a bound: M(t) = c S(t)."""
        return c * self.trace <= k and c * self.largest <= 1


@dataclass(frozen=True)
class Chosen:
    """The best step of an algorithm and its run.

    Attributes
    ----------
    c : float
        Of steps with the same run, the largest.
    looks : list of Look
        One per checkpoint.
    averages : dict
        The average suboptimality on validation for every exponent; for a run that was given up,
        what it had come to by then.
    """

    c: float
    looks: list[Look]
    averages: dict[int, float]


def choose(
    name: str,
    k: int,
    rows: NDArray[np.float64],
    marks: NDArray[np.int64],
    validation: HeldOut,
    shared: Shared,
    rank_limit: int,
    seed: int,
) -> Chosen:
    """Run an algorithm, one of `onepass.paper.algorithms` or averaged, with all steps."""
    weights = run_weights(marks)
    small = [e for e in EXPONENTS if shared.covers(2.0**e, k)]
    same = _same(name)
    tried = [e for e in EXPONENTS if not (same and e in small[:-1])]

    def run(exponent: int) -> Iterator[Look]:
        if same == "directions" and exponent in small:
            return iter(shared.looks)
        return _run(name, k, rows, 2.0**exponent, marks, rank_limit, seed)

    def rehearse(exponent: int) -> float:
        looks = itertools.islice(run(exponent), len(marks) // REHEARSAL)
        return sum(
            weight * validation.suboptimality(look.directions[:k], k)
            for look, weight in zip(looks, weights, strict=False)
        )

    best, found = np.inf, Chosen(np.nan, [], {})
    averages: dict[int, float] = {}
    for exponent in sorted(tried, key=rehearse):
        total, looks = 0.0, []
        for look, weight in zip(run(exponent), weights, strict=True):
            looks.append(look)
            total += weight * max(0.0, validation.suboptimality(look.directions[:k], k))
            if total > best:
                break
        averages[exponent] = float(total)
        if total < best:
            best, found = total, Chosen(2.0**exponent, looks, averages)
    if same and small:
        averages.update(dict.fromkeys(small, averages[small[-1]]))
    return found


def _same(name: str) -> str:
    """Return what small steps have in common for an algorithm: "directions", "runs" or nothing."""
    if name in ("MSG", "Warmuth-Kuzmin"):
        return "directions"
    return "runs" if name.startswith("Capped MSG") else ""


def _run(
    name: str,
    k: int,
    rows: NDArray[np.float64],
    c: float,
    marks: NDArray[np.int64],
    rank_limit: int,
    seed: int,
) -> Iterator[Look]:
    """Look at a run with steps c/sqrt(t) at every checkpoint."""
    averaging = name.endswith(AVERAGED)
    rule = make_rule(name, k, rows.shape[1], seed)
    for moment in trajectory(
        rule, rows, InverseSqrt(c), marks, averaging=averaging, rank_limit=rank_limit
    ):
        judged = moment.average if moment.average is not None else moment.iterate
        yield Look(judged.top(k).copy(), moment.cost, moment.seconds, moment.limited)
