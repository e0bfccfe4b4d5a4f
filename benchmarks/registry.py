"""Solvers and data sets register themselves by being in their folder."""

from __future__ import annotations

import importlib
import pkgutil
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any


def discover(package: ModuleType, what: str) -> tuple[dict[str, Any], list[str]]:
    """Collect the lists called `what` in the modules of a package.

    Returns
    -------
    found : dict
        By name, in the order of the files.
    notes : list of str
        The modules that could not be imported because a package is not installed.
    """
    found: dict[str, Any] = {}
    notes: list[str] = []
    for module in pkgutil.iter_modules(package.__path__):
        try:
            home = importlib.import_module(f"{package.__name__}.{module.name}")
        except ImportError as error:
            notes.append(f"{module.name} is left out: {error}")
            continue
        for item in getattr(home, what):
            if item.name in found:
                raise ValueError(f"two {what} are called {item.name}")
            found[item.name] = item
    return found, notes


def choose(found: dict[str, Any], patterns: str) -> list[Any]:
    """Return the items whose names match comma-separated patterns; end where one matches none."""
    chosen: dict[str, Any] = {}
    for pattern in patterns.split(","):
        names = [name for name in found if fnmatchcase(name, pattern.strip())]
        if not names:
            raise SystemExit(f"error: there is no {pattern!r}; there are {', '.join(found)}")
        chosen.update({name: found[name] for name in names})
    return list(chosen.values())
