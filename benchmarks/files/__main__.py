"""``python -m benchmarks.files``: what onepass reads of the files that real tools write."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections import Counter
from fnmatch import fnmatchcase
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks import files
from benchmarks.files import arrays, cells, columnar, text
from benchmarks.files.case import OUTCOMES, Case
from benchmarks.results import Results, parser

TOOLS = (
    "onepass",
    "pyarrow",
    "pandas",
    "polars",
    "duckdb",
    "fastparquet",
    "numpy",
    "scipy",
    "scikit-learn",
    "h5py",
    "hdf5plugin",
    "zarr",
    "xarray",
    "h5netcdf",
    "netCDF4",
    "anndata",
)
SECONDS = 120  # for a file; what takes longer counts as a crash
FORK = multiprocessing.get_context("fork")  # imports are shared, and a crash ends one file alone


def corpus() -> list[Case]:
    """Return all files."""
    return [*columnar.cases(), *text.cases(), *arrays.cases(), *cells.cases()]


def apart(case: Case) -> tuple[str, str]:
    """Return the outcome of a case in a process of its own."""
    ours, theirs = FORK.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        process = FORK.Process(target=_run, args=(case, Path(folder), theirs))
        process.start()
        theirs.close()
        outcome = ("crashed", f"nothing after {SECONDS} seconds")
        if ours.poll(SECONDS):
            try:
                outcome = ours.recv()
            except EOFError:
                process.join()
                outcome = ("crashed", f"the process ended with {process.exitcode}")
        process.kill()
        process.join()
    return outcome


def _run(case: Case, folder: Path, answer: Connection) -> None:
    """Answer with the outcome of a case, or with the error of the tool that should write it."""
    try:
        answer.send(case.outcome(folder))
    except Exception as error:  # of the tool, which is not counted against a reader
        answer.send(("not written", f"{type(error).__name__}: {error}"))


def main(arguments: list[str] | None = None) -> None:
    """Write, read and compare all files; count what became of them for each tool."""
    args = parser("files", files.__doc__).parse_args(arguments)
    patterns = args.only.split(",") if args.only else ["*"]
    cases = [
        case
        for case in corpus()
        if any(fnmatchcase(f"{case.tool}: {case.name}", f"*{pattern}*") for pattern in patterns)
    ]
    if args.list:
        print(*(f"{case.tool}: {case.name}" for case in cases), sep="\n")
        return
    results = Results("files", args, TOOLS)
    outcomes: dict[str, list[tuple[Case, str, str]]] = {}
    for case in cases[:: 20 if args.quick else 1]:
        kind, seen = apart(case)
        outcomes.setdefault(case.tool, []).append((case, kind, seen))
        if kind not in ("read", "refused"):
            print(f"{kind}: {case.tool}: {case.name}: {seen[:300]}", file=sys.stderr, flush=True)
    for tool, found in outcomes.items():
        counted = Counter(kind for _, kind, _ in found)
        wrong = {
            f"{case.name}": f"{kind}: {seen[:200]}"
            for case, kind, seen in found
            if kind not in ("read", "refused")
        }
        row = {"name": tool, "files": len(found), **{kind: counted[kind] for kind in OUTCOMES}}
        results.add({**row, "wrong": wrong})


if __name__ == "__main__":
    main()
