"""How many rows there are: what a source knows, or what a look at the files suggests."""

from __future__ import annotations

import os

from onepass.sources.files.source import FileSource
from onepass.sources.files.storage import open_content

_SAMPLE_BYTES = 1 << 20


def expected_rows(source: FileSource) -> int | None:
    """Return the number of rows, about the number for files of text, None if nobody knows."""
    counts = [_lines(path) if rows is None else rows for path, rows in source.files]
    return None if None in counts else sum(count or 0 for count in counts)


def _lines(path: str) -> int | None:
    """Return about how many lines a file has, from the lengths of the first ones."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file, open_content(path, file) as text:
            sample = text.read(_SAMPLE_BYTES)
            taken = file.tell()
    except Exception:  # of damaged files, which reading is going to name
        return None
    lines = max(sample.count(b"\n"), sample.count(b"\r"))
    return round(lines * os.path.getsize(path) / taken) if lines else None
