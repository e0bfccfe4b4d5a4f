"""The program ``onepass``: the command line in a process of its own, kept small."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

from onepass.cli import main


class Without(MetaPathFinder):
    """Makes a package look as if it were not installed.

    Parameters
    ----------
    package : str
        Its name.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse the package; leave others to those who find them."""
        if name == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


class Lazily(MetaPathFinder):
    """Loads a package when something in it is asked for, not when it is imported.

    Parameters
    ----------
    package : str
        Its name.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the package; leave others to those who find them."""
        if name != self._package:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def run() -> None:
    """Run the command line."""
    # Where pandas is installed, scikit-learn imports it, though it can do without it. No command
    # needs it, and it would take a quarter of the memory of a fit.
    sys.meta_path.insert(0, Without("pandas"))
    # scikit-learn imports it for something that no command calls, and it is nearly as large.
    sys.meta_path.insert(0, Lazily("scipy.stats"))
    os.environ.setdefault(
        "ARROW_DEFAULT_MEMORY_POOL", "system"
    )  # the other ones keep what is freed
    main()
