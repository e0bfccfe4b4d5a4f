"""The one runner: warm up, then take turns."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.dataset import Problem
from benchmarks.objective import Judge
from benchmarks.solver import Solver

BUDGET = 0.5  # seconds of one repetition of a solver that streams


@dataclass
class Measurement:
    """What one solver did with one problem.

    Attributes
    ----------
    dataset, solver : str
        Their names.
    n, d, k : int
        Rows learned from, columns, directions.
    cpu, wall : list of float
        Seconds per row, one number for each repetition.
    lost : float
        The share of what batch PCA captures that is missed; NaN where there are no directions.
    memory : float or None
        Peak memory above the data, in bytes, where it was asked for.
    """

    dataset: str
    solver: str
    n: int
    d: int
    k: int
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    lost: float = float("nan")
    memory: float | None = None

    @property
    def seconds(self) -> float:
        """The median CPU time of a row."""
        return float(np.median(self.cpu))


class _Run:
    """A solver that is ready to be timed on a problem."""

    def __init__(self, solver: Solver, problem: Problem, budget: float) -> None:
        self.solver, self.k = solver, problem.k
        n, d = problem.X.shape
        few = min(n, max(solver.at_least, 2 * problem.k))
        rows = n
        # Compilation happens in the first call, and the second one tells how many rows to take.
        for _ in range(2 if solver.streams else 1):
            cpu, _, self.directions = _timed(
                solver, solver.prepare(problem.X[:few], self.k), self.k
            )
            if solver.streams:
                rows = int(min(n, max(few, budget / cpu * few)))
        self.prepared = solver.prepare(problem.X[:rows], self.k)
        self.measurement = Measurement(problem.name, solver.name, rows, d, self.k)

    def once(self) -> None:
        """Time one repetition."""
        cpu, wall, self.directions = _timed(self.solver, self.prepared, self.k)
        self.measurement.cpu.append(cpu / self.measurement.n)
        self.measurement.wall.append(wall / self.measurement.n)


def _timed(solver: Solver, prepared: Any, k: int) -> tuple[float, float, Any]:
    """Return CPU and wall seconds of a fit, and its directions."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    directions = solver.fit(prepared, k)
    return time.process_time() - cpu, time.perf_counter() - wall, directions


def progress(text: str) -> None:
    """Show on a terminal what is being done, in place of what was."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(
    problem: Problem,
    solvers: Iterable[Solver],
    *,
    repeat: int = 3,
    threads: int = 1,
    budget: float = BUDGET,
    judged: bool = True,
) -> list[Measurement]:
    """Time solvers in turns, so that whatever else the machine does is shared by all.

    Parameters
    ----------
    problem : Problem
        What they solve.
    solvers : iterable of Solver
        Those that do not take such rows are left out.
    repeat : int
        How many turns.
    threads : int
        Of BLAS and OpenMP.
    budget : float
        Seconds that one turn of a solver that streams should take.
    judged : bool
        Whether the variance that each loses is worked out; batch PCA may take its time.

    Returns
    -------
    list of Measurement
    """
    judge = Judge(problem)
    with threadpool_limits(limits=threads):
        runs = []
        for solver in solvers:
            if solver.takes(problem.X):
                progress(f"{problem}: {solver.name}")
                runs.append(_Run(solver, problem, budget))
        for _ in range(repeat):
            for run in runs:
                run.once()
        for run in runs:
            if judged and run.directions is not None:
                run.measurement.lost = judge.lost(run.directions, run.measurement.n)
    progress("")
    return [run.measurement for run in runs]
