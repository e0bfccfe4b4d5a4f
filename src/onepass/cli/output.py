"""Where results go: looked at before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable

from onepass.cli.guarding import Failure


def check_output(path: str, inputs: Iterable[str]) -> None:
    """Refuse a path that cannot be written, or that is one of the files that are read."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise Failure(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: no permission to write in {folder}")
    for read in inputs:
        if os.path.realpath(read.partition("::")[0]) == os.path.realpath(path):
            raise Failure(f"{path}: is read from, and must not be overwritten")
