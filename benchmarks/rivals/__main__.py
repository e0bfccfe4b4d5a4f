"""``python -m benchmarks.rivals``: PCA of other libraries on the same rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rivals
from benchmarks.floor.target import Effort
from benchmarks.results import Results, Row, chosen, parser
from benchmarks.rivals.environments import ROOT, Library, last_line, libraries
from benchmarks.rivals.problems import PROBLEMS, Exact, Problem
from benchmarks.rivals.solver import Solver

TURNS = 3  # fits of a process, of which the median counts
TIMEOUT = 120  # seconds after which a run is ended, and reported as such
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TBB_NUM_THREADS")


def measure(problem: Problem, contenders: list[tuple[Library, Solver]], effort: Effort) -> Row:
    """Return the row of a problem: what each solver took and lost, the fastest first."""
    X = problem.rows(effort)
    exact = Exact(X, problem.k)
    solvers: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = problem.write(X, Path(folder))
        for library, solver in contenders:
            try:
                found = once(library, solver, problem, files, 1 if effort.quick else TURNS)
            except RuntimeError as error:
                failed[solver.name] = str(error)
                print(f"note: {solver.name}: {error}", file=sys.stderr)
            else:
                solvers.append(summary(solver.name, found, exact))
    # The time of the processor says more where the machine is shared, but not of two cores.
    clock = "cpu" if problem.threads == 1 else "wall"
    return {
        "name": problem.name,
        "title": problem.title,
        "clock": clock,
        "solvers": sorted(solvers, key=lambda solver: solver[clock]),
        "failed": failed,
    }


def once(
    library: Library, solver: Solver, problem: Problem, files: tuple[Path, Path], turns: int = 1
) -> dict[str, Any]:
    """Run a solver in a process of its own; raise RuntimeError where it fails or takes too long."""
    components = files[0].with_name("components.npy")
    request = {
        "library": library.name,
        "solver": solver.name,
        "k": problem.k,
        "rows": str(files[0]),
        "few_rows": str(files[1]),
        "from_file": problem.from_file,
        "threads": problem.threads,
        "turns": turns,
        "components": str(components),
    }
    environment = {**os.environ, **dict.fromkeys(THREADS, str(problem.threads))}
    if library.requires:
        environment.pop("PYTHONPATH", None)  # an environment of its own sees its own packages
    command = [str(library.python()), "-m", "benchmarks.rivals.worker", json.dumps(request)]
    how = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    try:
        run = subprocess.run(command, timeout=TIMEOUT, check=False, **how)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"over {TIMEOUT} s") from None
    if run.returncode:
        raise RuntimeError(last_line(run.stderr))
    return {**json.loads(run.stdout.splitlines()[-1]), "components": np.load(components)}


def summary(name: str, found: dict[str, Any], exact: Exact) -> dict[str, Any]:
    """Return what a run took, with its losses in place of its directions."""
    variance = found["variance"]
    return {
        "solver": name,
        **{key: found[key] for key in ("version", "wall", "cpu", "memory")},
        "lost": exact.lost(found["components"]),
        "variance_error": None if variance is None else abs(variance / exact.first - 1.0),
    }


def main(arguments: list[str] | None = None) -> None:
    """Run all solvers on all problems; libraries that do not install are left out with a note."""
    options = parser("rivals", rivals.__doc__)
    options.add_argument("--solvers", default="*", help="comma-separated names or patterns")
    args = options.parse_args(arguments)
    problems = chosen(PROBLEMS, args)
    patterns = [pattern.strip() for pattern in args.solvers.split(",")]
    contenders = []
    for library in libraries():
        wanted = [s for s in library.solvers if any(fnmatchcase(s.name, p) for p in patterns)]
        try:
            if wanted:
                library.python()
        except RuntimeError as error:
            print(f"note: {error}", file=sys.stderr)
            continue
        contenders += [(library, solver) for solver in wanted]
    results = Results("rivals", args)
    effort = Effort(args.quick, results.seed, args.data)
    for problem in problems:
        able = [
            (library, solver)
            for library, solver in contenders
            if (solver.sparse if problem.sparse else solver.dense)
        ]
        results.add(measure(problem, able, effort))


if __name__ == "__main__":
    main()
