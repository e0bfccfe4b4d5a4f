"""The program ``onepass``: the command line in a process of its own."""

from __future__ import annotations

import os

from onepass.cli import main


def run() -> None:
    """Run the command line."""
    # pyarrow's other memory pools keep what is freed; a fit would grow with the file.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    main()
