"""What a benchmark found, with all that is needed to find it again."""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, TypeVar

FOLDER = Path(__file__).parent / "results"
PACKAGES = ("onepass", "numpy", "scipy", "scikit-learn", "statsmodels")
SEEDS = 10**9  # the first seed of a run is drawn below this number

Row = dict[str, Any]


class Named(Protocol):
    """Something with a short name."""

    @property
    def name(self) -> str:
        """As on the command line."""


T = TypeVar("T", bound=Named)


def parser(benchmark: str, what: str | None) -> argparse.ArgumentParser:
    """Return the options that all benchmarks have."""
    parser = argparse.ArgumentParser(
        f"python -m benchmarks.{benchmark}",
        description=what,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", metavar="NAMES", help="comma-separated names or patterns of rows")
    add("--quick", action="store_true", help="as little as shows that everything runs")
    add("--first-seed", type=int, metavar="SEED", help="repeat a run (default: drawn at random)")
    add("--data", type=Path, metavar="DIR", help="a folder with mnist/, covtype/, kdd99/, ...")
    add("--output", type=Path, metavar="FILE", help=f"(default: {benchmark}.json of the results)")
    add("--add", action="store_true", help="keep other rows of the results, to run in parts")
    add("--list", action="store_true", help="list the names of the rows")
    return parser


def chosen(items: list[T], args: argparse.Namespace) -> list[T]:
    """Return the items that were asked for, or print all names and end."""
    if args.list:
        print(*(item.name for item in items), sep="\n")
        raise SystemExit
    if args.only is None:
        return items
    patterns = [pattern.strip() for pattern in args.only.split(",")]
    for pattern in patterns:
        if not any(fnmatchcase(item.name, pattern) for item in items):
            names = ", ".join(item.name for item in items)
            raise SystemExit(f"error: there is no row {pattern!r}; there are {names}")
    return [item for item in items if any(fnmatchcase(item.name, p) for p in patterns)]


class Results:
    """The rows of one run, written after each of them.

    They go into the project's results only if the run is whole: a quick one, or one of a few rows,
    is written where ``--output`` says, or not at all.

    Parameters
    ----------
    benchmark : str
        The name of the command.
    args : argparse.Namespace
        What `parser` returned.
    packages : sequence of str
        What the results depend on.
    """

    def __init__(
        self, benchmark: str, args: argparse.Namespace, packages: Sequence[str] = PACKAGES
    ) -> None:
        whole = args.add or not (args.quick or args.only)
        self.path = args.output or (FOLDER / f"{benchmark}.json" if whole else None)
        self.seed = secrets.randbelow(SEEDS) if args.first_seed is None else args.first_seed
        self.about = {
            "command": f"python -m benchmarks.{benchmark} --first-seed {self.seed}"
            + (" --data DIR" if args.data else ""),
            "commit": commit(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "first_seed": self.seed,
            "machine": machine(),
            "versions": versions(*packages),
        }
        self.rows: list[Row] = []
        if args.add and self.path and self.path.exists():
            self.rows = json.loads(self.path.read_text())["rows"]

    def add(self, row: Row) -> None:
        """Print a row and write all rows so far."""
        names = [one.get("name") for one in self.rows]
        if row.get("name") in names:
            self.rows[names.index(row["name"])] = row
        else:
            self.rows.append(row)
        print(", ".join(f"{key}: {_short(value)}" for key, value in row.items()), flush=True)
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = {**self.about, "rows": self.rows}
            self.path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def _short(value: Any) -> Any:
    """Return a value with as many digits as one reads."""
    if isinstance(value, dict):
        return " ".join(f"{key} {_short(one)}" for key, one in value.items())
    return f"{value:.4g}" if isinstance(value, float) else value


def commit() -> str:
    """Return the commit of the code, with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        run = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return run.stdout.strip()


def machine() -> str:
    """Return processor, cores, system and Python in words."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or "unknown processor"
    system = f"{platform.system()} {platform.machine()}"
    return f"{processor}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}"


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
