"""Apply every mutant to a copy of the tree, run its tests there, and say which survive.

``python -m tests.mutants [WORD ...]`` runs all, or those whose name or file has one of the words.
The exit code is 1 if a mutant survives, if its text is not in the file exactly once, or if its
tests fail without it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.mutants.mutant import Mutant
from tests.mutants.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
PROCESSES = 2
PATIENCE = 4.0  # times what all tests took without a mutant: one that never ends is killed
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
    folder: Path, arguments: list[str], seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command inside a copy of the tree, with its sources, for at most some seconds."""
    places = (folder / "tests/mutants/site", folder / "src", folder)
    path = os.pathsep.join(map(str, places))
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, **threads, "PYTHONPATH": path, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def run_tests(
    folder: Path, tests: str, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run some tests until the first that fails."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return run(folder, [sys.executable, "-m", "pytest", *options, *tests.split()], seconds)


def try_mutant(tree: Path, patience: float, mutant: Mutant) -> tuple[str, float]:
    """Return what comes of a mutant of the tree, and the seconds that it took."""
    began = time.perf_counter()
    text = (tree / mutant.file).read_text() if (tree / mutant.file).exists() else ""
    if text.count(mutant.old) != 1 or mutant.old == mutant.new:
        return f"its text is there {text.count(mutant.old)} times", 0.0
    with tempfile.TemporaryDirectory(prefix="onepass-mutant-") as name:
        folder = Path(name)
        copy_tree(tree, folder)
        (folder / mutant.file).write_text(text.replace(mutant.old, mutant.new))
        found = KILLED
        try:
            built = run(folder, BUILD) if mutant.is_compiled else None
            if built is not None and built.returncode:
                found = "does not compile"
            else:
                code = run_tests(folder, mutant.tests, patience).returncode
                if code == PASSED:
                    found = SURVIVED
                elif code > FAILED and code < 128:  # above 127: ended by a signal
                    found = f"pytest could not begin: {code}"
        except subprocess.TimeoutExpired:
            pass
    return found, time.perf_counter() - began


def main(words: list[str]) -> int:
    """Run the mutants that are asked for, print a table, and return the exit code."""
    chosen = [m for m in MUTANTS if not words or any(w in m.name + m.file for w in words)]
    console = Console(width=120)
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
    table = Table("mutant", "file", "result", "seconds")
    for mutant, (found, seconds) in zip(chosen, results, strict=True):
        table.add_row(mutant.name, mutant.file, found, f"{seconds:.0f}")
    console.print(table)
    killed = sum(found == KILLED for found, _ in results)
    console.print(f"{killed} of {len(results)} mutants are killed.")
    return int(killed < len(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
