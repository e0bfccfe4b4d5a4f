"""The page of HTML about a model, and about rows of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.cli.data import prepare_output, progress_over
from onepass.cli.errors import Failure
from onepass.report import model_page, require_report
from onepass.sources import Block, Position
from onepass.sources.excerpt import Excerpt
from onepass.sources.files import FileSource
from onepass.sources.paths import is_remote


def check_page(path: str, others: Iterable[str]) -> None:
    """Refuse a page that cannot be written, before hours of work."""
    require_report()
    if not path.lower().endswith((".html", ".htm")):
        raise Failure(f"{path}: a report is a page of HTML, and its name must end in .html or .htm")
    prepare_output(path, others)


def write_page(
    model: Any, path: str, source: FileSource | None, title: str, command: str | None = None
) -> None:
    """Write a page about a model, and about rows of a source that can still be read."""
    if source is None or source.once:
        data = [] if source is None else source.paths
        model_page(model, path, title=title, data=data, command=command)
        return
    with progress_over("report", source) as progress:

        def blocks(start: Position | None) -> Iterator[tuple[Position, Block]]:
            for position, block in source.blocks(start):
                yield position, block
                progress.advance(block.shape[0])

        rows = Excerpt(source, blocks)
        rows.feature_names = None  # `open_for` has compared the names
        lines = partial(lines_of, source)
        model_page(model, path, rows, title=title, data=source.paths, command=command, lines=lines)


def lines_of(source: FileSource, rows: NDArray[np.int64]) -> list[str] | None:
    """Return the lines of rows, which are counted from 0 over all files, with the names of several.

    Files are read once more, up to the last of the rows. None where a file has no lines, would have
    to be fetched again, or has become shorter.
    """
    if any(table.lines() is None for table in source.tables) or any(map(is_remote, source.paths)):
        return None
    found: dict[int, str] = {}
    before = 0
    for path, table in zip(source.paths, source.tables, strict=True):
        name = f"{path}:" if len(source.paths) > 1 else ""
        for lines in table.lines() or ():
            inside = rows[(rows >= before) & (rows < before + len(lines))]
            found |= {int(row): f"{name}{lines[row - before]}" for row in inside}
            before += len(lines)
    return [found[int(row)] for row in rows] if len(found) == len(rows) else None
