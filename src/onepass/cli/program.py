"""The program ``onepass``: the command line in a process of its own."""

from __future__ import annotations

import io
import os
import sys

from onepass.cli import main


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
        elif isinstance(stream, io.TextIOWrapper):  # a terminal may lack characters of names
            stream.reconfigure(errors="backslashreplace")
    main()
