"""Apply every mutant to a copy of the tree, run its tests there, and say which survive.

There are two copies: one for mutants in Python, and one for those that are compiled.

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
PATIENCE = 4.0  # times what all tests took without a mutant, in seconds of the processor
COPIED = ("src", "tests", "benchmarks", "pyproject.toml", "Makefile", "CMakeLists.txt")
BUILD = ["make", "core"]
PASSED, FAILED = 0, 1  # exit codes of pytest; beyond these it could not even begin
KILLED, SURVIVED = "killed", "SURVIVED"


def copy_tree(source: Path, folder: Path) -> None:
    """Copy what tests need; files are few and small."""
    folder.mkdir()
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
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ONEPASS_PLAIN": "1"}
    return subprocess.run(
        arguments,
        cwd=folder,
        env={
            **os.environ,
            **settings,
            "HYPOTHESIS_PROFILE": "mutants",
            "PYTHONPATH": path,
            "PYTHON": sys.executable,
        },
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


def try_mutant(folder: Path, patience: float, mutant: Mutant) -> tuple[str, str, float]:
    """Return what comes of a mutant of a tree, the test that failed, and the seconds it took."""
    began, text = time.perf_counter(), (folder / mutant.file).read_text()
    if text.count(mutant.old) != 1 or mutant.old == mutant.new:
        return f"its text is there {text.count(mutant.old)} times", "", 0.0
    (folder / mutant.file).write_text(text.replace(mutant.old, mutant.new))
    if mutant.is_compiled and run(folder, BUILD).returncode:
        found, killer = "does not compile", ""
    else:
        found, killer = judge(run_tests(folder, mutant.tests, patience))
    (folder / mutant.file).write_text(text)
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


def try_all(folder: Path, mutants: list[Mutant], console: Console) -> list[tuple[str, ...]]:
    """Return the rows of the table: every mutant, tried in a folder that becomes a copy of all."""
    copy_tree(ROOT, folder)
    if any(mutant.is_compiled for mutant in mutants):
        run(folder, BUILD)
    home = run(folder, [sys.executable, "-c", "import onepass; print(onepass.__file__)"]).stdout
    if not home.startswith(str(folder)):
        raise RuntimeError(f"the tests would import {home.strip()}, which no mutant changes")
    began = time.perf_counter()
    unchanged = run_tests(folder, " ".join(sorted({mutant.tests for mutant in mutants})))
    patience = 60.0 + PATIENCE * (time.perf_counter() - began)
    if unchanged.returncode != PASSED:
        raise RuntimeError(f"the tests fail without any mutant:\n{unchanged.stdout[-3000:]}")
    rows = []
    for mutant in mutants:
        found, killer, seconds = try_mutant(folder, patience, mutant)
        rows.append((mutant.name, found, escape(killer), f"{seconds:.0f}"))
        console.print(f"{mutant.name}: {found}", markup=False)
    return rows


def main(words: list[str]) -> int:
    """Run the mutants that are asked for, print a table, and return the exit code."""
    console = Console(width=160)
    if "--texts" in words:
        wrong = [m.name for m in MUTANTS if (ROOT / m.file).read_text().count(m.old) != 1]
        console.print(f"{len(MUTANTS)} mutants; texts not found once: {wrong or 'none'}")
        return int(bool(wrong))
    chosen = [m for m in MUTANTS if not words or any(w in m.name + m.file for w in words)]
    kinds = [[m for m in chosen if m.is_compiled == compiled] for compiled in (False, True)]
    with (
        tempfile.TemporaryDirectory(prefix="onepass-mutant-") as name,
        ThreadPoolExecutor() as pool,
    ):
        trying = [
            pool.submit(try_all, Path(name) / str(number), mutants, console)
            for number, mutants in enumerate(kinds)
            if mutants
        ]
        rows = [row for tried in trying for row in tried.result()]
    table = Table("mutant", "result", "first test that failed", "seconds")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    killed = sum(found == KILLED for _, found, *_ in rows)
    console.print(f"{killed} of {len(rows)} mutants are killed.")
    return int(killed < len(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
