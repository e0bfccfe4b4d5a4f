"""How many rows there are: what a source knows, or what a look at the files suggests."""

from __future__ import annotations

import gzip
import os
import zlib

from onepass.sources.files.source import FileSource

_SAMPLE = 1 << 20


def expected_rows(source: FileSource) -> int | None:
    """Return the number of rows, about the number for files of text, None if nobody knows."""
    if source.n_rows is not None:
        return source.n_rows
    counts = [_lines(path) for path in source.paths]
    return None if None in counts else sum(count or 0 for count in counts)


def _lines(path: str) -> int | None:
    """Return about how many lines a file has, from the lengths of the first ones."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        if path.lower().endswith(".gz"):
            try:
                with gzip.GzipFile(fileobj=file) as text:
                    lines = text.read(_SAMPLE).count(b"\n")
            except (OSError, EOFError, zlib.error):  # reading is going to say where
                return None
        else:
            lines = file.read(_SAMPLE).count(b"\n")
        taken = file.tell()
    return round(lines * os.path.getsize(path) / taken) if lines and taken else None
