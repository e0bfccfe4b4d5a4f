"""The program ``onepass``: the command line in a process of its own, kept small."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
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


def run() -> None:
    """Run the command line."""
    # Where pandas is installed, scikit-learn imports it, though it can do without it. No command
    # needs it, and it would take a quarter of the memory of a fit.
    sys.meta_path.insert(0, Without("pandas"))
    os.environ.setdefault(
        "ARROW_DEFAULT_MEMORY_POOL", "system"
    )  # the other ones keep what is freed
    main()
