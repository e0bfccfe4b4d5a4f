"""One run of one solver, in a process of its own: ``python -m benchmarks.rivals.worker REQUEST``.

The request is JSON; so is what it prints. It needs nothing but NumPy and the library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import importlib
import json
import os
import statistics
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.solver import Solver, read

WARM_UP = 500  # rows of the first fit, which imports and compiles
ENOUGH = 4.0  # seconds after which no fit is repeated: all solvers take twenty minutes
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Fit to a few rows, then to all in turns, and return what a turn took."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: request["threads"]])
    library = importlib.import_module(f"benchmarks.rivals.solvers.{request['library']}")
    solver = next(solver for solver in library.SOLVERS if solver.name == request["solver"])
    k, path = request["k"], Path(request["rows"])
    if request["from_file"]:
        solver.fit_file(Path(request["few_rows"]), k)
    else:
        solver.fit(read(Path(request["few_rows"])), k)
    found = timed(solver, path, k, from_file=request["from_file"], turns=request["turns"])
    np.save(request["components"], np.asarray(found.pop("components"), dtype=np.float64))
    return {**found, "version": version_of(library.REQUIRES)}


def timed(solver: Solver, path: Path, k: int, *, from_file: bool, turns: int = 1) -> dict[str, Any]:
    """Return the median times of fits, the memory of the first, and the result."""
    X = None if from_file else read(path)
    before = settled_memory()
    memory, walls, cpus = None, [], []
    while len(walls) < turns and sum(walls) < ENOUGH:
        wall, cpu = time.perf_counter(), time.process_time()
        components, variances = solver.fit_file(path, k) if from_file else solver.fit(X, k)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        if before is not None and memory is None:
            memory = (peak_memory() - before) / 1e6
    return {
        "wall": statistics.median(walls),
        "cpu": statistics.median(cpus),
        "memory": memory,
        "variance": None if variances is None else float(np.asarray(variances)[0]),
        "components": components,
    }


def settled_memory() -> int | None:
    """Return free memory to the system, forget the peak, and return what is resident, in bytes."""
    gc.collect()
    if not RESET.exists():
        return None
    ctypes.CDLL(ctypes.util.find_library("c")).malloc_trim(0)
    RESET.write_text("5")
    return peak_memory()


def peak_memory() -> int:
    """Return the largest resident memory since `settled_memory`, in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def version_of(requires: list[str]) -> str:
    """Return the name and version of a library that pip has installed."""
    try:
        return f"{requires[0]} {version(requires[0])}" if requires else ""
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(run(json.loads(sys.argv[1]))))
