"""Apply every mutant to a copy of the tree, run its tests there, and say which survive.

``python -m tests.mutants [WORD ...]`` runs all, or those whose name or file has one of the words.
A mutant is killed if a test fails, and the first that does is named. The exit code is 1 if a mutant
survives, if its tests do not begin or end, if its text is not in the file exactly once, or if its
tests fail without it. ``--texts`` only looks for the texts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_CPU, setrlimit

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.mutants.mutant import Mutant
from tests.mutants.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
PROCESSES = 2
PATIENCE = 4.0  # times what all tests took without a mutant, in seconds of the processor
COPIED = ("src", "tests", "benchmarks", "pyproject.toml", "Makefile", "CMakeLists.txt")
BUILD = ["make", "core"]
PASSED, FAILED = 0, 1  # exit codes of pytest; beyond these it could not even begin
KILLED, SURVIVED = "killed", "SURVIVED"


def copy_tree(source: Path, folder: Path) -> None:
    """Copy what tests need; files are few and small."""
    for name in COPIED:
        if (source / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source / name, folder / name, ignore=ignored)
        elif (source / name).exists():
            shutil.copy(source / name, folder / name)


def run(
    folder: Path, arguments: list[str], seconds: float = RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """Run a command inside a copy of the tree, with its sources, for some seconds of CPU time."""
    places = (folder / "tests/mutants/site", folder / "src", folder)
    path = os.pathsep.join(map(str, places))
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "mutants"}
    return subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, **settings, "PYTHONPATH": path, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        preexec_fn=partial(setrlimit, RLIMIT_CPU, (int(seconds), int(seconds))),
        check=False,
    )


def run_tests(
    folder: Path, tests: str, seconds: float = RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """Run some tests until the first that fails."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return run(folder, [sys.executable, "-m", "pytest", *options, *tests.split()], seconds)


def count_text(tree: Path, mutant: Mutant) -> int:
    """Return how often the text of a mutant is in its file."""
    return (tree / mutant.file).read_text().count(mutant.old) if (tree / mutant.file).exists() else 0


def try_mutant(tree: Path, patience: float, mutant: Mutant) -> tuple[str, str, float]:
    """Return what comes of a mutant of the tree, the test that failed, and the seconds it took."""
    began = time.perf_counter()
    if count_text(tree, mutant) != 1 or mutant.old == mutant.new:
        return f"its text is there {count_text(tree, mutant)} times", "", 0.0
    with tempfile.TemporaryDirectory(prefix="onepass-mutant-") as name:
        folder = Path(name)
        copy_tree(tree, folder)
        text = (folder / mutant.file).read_text()
        (folder / mutant.file).write_text(text.replace(mutant.old, mutant.new))
        if mutant.is_compiled and run(folder, BUILD).returncode:
            found, killer = "does not compile", ""
        else:
            found, killer = judge(run_tests(folder, mutant.tests, patience))
    return found, killer, time.perf_counter() - began


def judge(tests: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """Return what tests say about a mutant, and the line about the first that failed."""
    failed = [line for line in tests.stdout.splitlines() if line.startswith("FAILED ")]
    if tests.returncode == PASSED:
        return SURVIVED, ""
    if tests.returncode == FAILED and failed:
        return KILLED, failed[0].removeprefix("FAILED ")
    if tests.returncode < 0:  # the limit of CPU time is one of the signals
        return f"ended by {signal.Signals(-tests.returncode).name}", ""
    return f"no test failed, but pytest ended with {tests.returncode}", ""


def main(words: list[str]) -> int:
    """Run the mutants that are asked for, print a table, and return the exit code."""
    console = Console(width=160)
    if "--texts" in words:
        wrong = [mutant.name for mutant in MUTANTS if count_text(ROOT, mutant) != 1]
        console.print(f"{len(MUTANTS)} mutants; texts not found once: {wrong or 'none'}")
        return int(bool(wrong))
    chosen = [m for m in MUTANTS if not words or any(w in m.name + m.file for w in words)]
    with tempfile.TemporaryDirectory(prefix="onepass-mutant-") as name:
        tree = Path(name)  # as it is now: it may change while this runs
        copy_tree(ROOT, tree)
        home = run(tree, [sys.executable, "-c", "import onepass; print(onepass.__file__)"]).stdout
        if not home.startswith(str(tree)):
            console.print(f"The tests would import {home.strip()}, which no mutant changes.")
            return 1
        began = time.perf_counter()
        unchanged = run_tests(tree, " ".join(sorted({m.tests for m in chosen})))
        patience = 60.0 + PATIENCE * (time.perf_counter() - began)
        if unchanged.returncode != PASSED:
            console.print("The tests fail without any mutant:", markup=False)
            console.print(unchanged.stdout[-3000:], markup=False)
            return 1
        with ThreadPoolExecutor(PROCESSES) as pool:
            results = []
            trying = pool.map(partial(try_mutant, tree, patience), chosen)
            for mutant, result in zip(chosen, trying, strict=True):
                results.append(result)
                console.print(f"{len(results)} of {len(chosen)}: {mutant.name}: {result[0]}")
    table = Table("mutant", "result", "first test that failed", "seconds")
    for mutant, (found, killer, seconds) in zip(chosen, results, strict=True):
        table.add_row(mutant.name, found, escape(killer), f"{seconds:.0f}")
    console.print(table)
    killed = sum(found == KILLED for found, _, _ in results)
    console.print(f"{killed} of {len(results)} mutants are killed.")
    return int(killed < len(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
