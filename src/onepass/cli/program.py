"""The program ``onepass``: the command line in a process of its own."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command line, whatever the standard streams are."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file would be taken for it
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")

    from onepass.cli import main, memory

    memory.limit()

    try:
        main()
    finally:
        _flush()


def _flush() -> None:
    """Write what waits; that a reader has left is no error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
