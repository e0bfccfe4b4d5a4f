"""Solvers by name, and an environment for each library that needs its own."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import benchmarks.rivals.solvers
from benchmarks.rivals.solver import Solver

ROOT = Path(__file__).parents[2]
HOME = ROOT / "build" / "rivals"


@dataclass(frozen=True)
class Library:
    """A file of solvers.

    Attributes
    ----------
    name : str
        Of the file.
    requires : list of str
        What pip installs for it; nothing if it runs in the environment of the benchmark.
    solvers : list of Solver
        What it offers.
    """

    name: str
    requires: list[str]
    solvers: list[Solver]

    def python(self) -> Path:
        """Return the interpreter that has the library; install it where that was not done.

        Raises
        ------
        RuntimeError
            If pip cannot install it.
        """
        if not self.requires:
            return Path(sys.executable)
        home = HOME / self.name
        python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        done = home / "installed"
        wanted = "\n".join(self.requires)
        if not done.exists() or done.read_text() != wanted:
            print(f"installing {self.name} into {home.relative_to(ROOT)}", file=sys.stderr)
            if not python.exists():
                venv.create(home, with_pip=True, symlinks=os.name != "nt")
            command = [str(python), "-m", "pip", "install", "--quiet", *self.requires]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                raise RuntimeError(f"{self.name} does not install: {last_line(run.stderr)}")
            done.write_text(wanted)
        return python


def libraries() -> list[Library]:
    """Return all libraries, onepass first."""
    found = []
    for module in pkgutil.iter_modules(benchmarks.rivals.solvers.__path__):
        home = importlib.import_module(f"benchmarks.rivals.solvers.{module.name}")
        found.append(Library(module.name, home.REQUIRES, home.SOLVERS))
    return sorted(found, key=lambda library: library.name != "onepass")


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "without a message"
