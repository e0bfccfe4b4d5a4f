"""The peak memory of a fit above the data, in a process of its own.

``python -m benchmarks.memory SOLVER DATASET SIZE [DATA]`` prints it in bytes.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import resource
import subprocess
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

import benchmarks.datasets
import benchmarks.solvers
from benchmarks.dataset import Problem, Size
from benchmarks.registry import discover
from benchmarks.runner import Measurement

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_above_data(solver_name: str, dataset: str, size: Size, folder: Path | None) -> int:
    """Return how far the resident memory rises above what it is with the rows loaded, in bytes."""
    solver = discover(benchmarks.solvers, "SOLVERS")[0][solver_name]
    problem = discover(benchmarks.datasets, "DATASETS")[0][dataset].load(size, folder)
    with threadpool_limits(limits=1):
        # Compilers and libraries take memory once, whatever the size of the data.
        few = problem.X[: max(solver.at_least, 2 * size.k), : 4 * size.k + 32]
        solver.fit(solver.prepare(few, size.k), size.k)
        prepared = solver.prepare(problem.X, size.k)
        before = _settle()
        solver.fit(prepared, size.k)
    return _peak() - before


def _settle() -> int:
    """Return free memory to the system, start the peak anew, and return what is resident now."""
    gc.collect()
    if sys.platform != "linux":
        return _peak()
    ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim(0)
    RESET.write_text("5")
    return _peak()


def _peak() -> int:
    """Return the largest resident memory, in bytes: since `_settle` on Linux, else since ever."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def of(solver: str, dataset: str, size: Size, folder: Path | None) -> float:
    """Return `peak_above_data` of a new process."""
    command = [sys.executable, "-m", "benchmarks.memory", solver, dataset, str(size)]
    command += [] if folder is None else [str(folder)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(run.stdout.split()[-1])


def add(measurements: list[Measurement], problem: Problem, folder: Path | None) -> None:
    """Fill in the peak memory of measurements of a problem."""
    n, d = problem.X.shape
    for measurement in measurements:
        size = Size(problem.k, d, n)
        measurement.memory = of(measurement.solver, problem.name, size, folder)


if __name__ == "__main__":
    name, dataset, size, *folder = sys.argv[1:]
    given = Path(folder[0]) if folder else None
    print(peak_above_data(name, dataset, Size.parse(size), given))
