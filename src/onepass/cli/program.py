"""The program ``onepass``: the command line in a process of its own."""

from __future__ import annotations

from onepass.cli import main


def run() -> None:
    """Run the command line."""
    main()
