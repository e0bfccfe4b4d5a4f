"""The page of HTML about a model, and about rows of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.cli.cells import table_of_cells
from onepass.cli.data import prepare_output, progress_over
from onepass.cli.errors import Failure
from onepass.report import model_page, require_report
from onepass.report.rows import RowTexts
from onepass.sources import Block, Position
from onepass.sources.base import Excerpt
from onepass.sources.files import FileSource
from onepass.sources.paths import is_remote


def check_page(path: str, others: Iterable[str]) -> None:
    """Refuse a page that cannot be written, before hours of work."""
    require_report()
    if not path.lower().endswith((".html", ".htm")):
        raise Failure(f"{path}: a report is a page of HTML, and its name must end in .html or .htm")
    prepare_output(path, others)


class Points:
    """The columns of files, of any type, that colour and label points.

    A column that is not there is refused at once.
    """

    def __init__(self, source: FileSource | None, color: str | None, label: str | None) -> None:
        self._source, self._color, self._label = source, color, label
        wanted = [name for name in (color, label) if name is not None]
        if wanted and (source is None or source.once):
            raise Failure("--color and --label need files, which are read once more")
        self._cells: Any = None if source is None or not wanted else table_of_cells(source)
        for name in wanted:
            if not self._in_cells(name):
                source.tables[0].find(name)  # type: ignore[union-attr]

    def _in_cells(self, name: str) -> bool:
        """Return whether a name is that of a column of `obs` of AnnData files."""
        return self._cells is not None and name in self._cells

    def texts(self, numbers: NDArray[np.int64]) -> RowTexts:
        """Return what is beside rows, which are counted from 0 over all files.

        Files are read once more, up to the last of the rows.
        """
        labels = self._values(self._label, numbers)
        texts = None if labels is None else [str(label) for label in labels]
        colors = self._values(self._color, numbers)
        return RowTexts(self._lines(numbers), texts, colors, self._label or "", self._color or "")

    def _values(self, name: str | None, numbers: NDArray[np.int64]) -> list[Any] | None:
        """Return the values of a column."""
        if name is None or self._source is None:
            return None
        if self._in_cells(name):
            return self._cells[name].iloc[numbers].tolist()
        pieces = (
            (cells[0], lambda value: value.as_py())
            for table in self._source.tables
            for cells in table.cells([table.find(name)])
        )
        return picked(pieces, numbers)

    def _lines(self, numbers: NDArray[np.int64]) -> list[str] | None:
        """Return the lines of rows, with the names of the files if there are several.

        None where a file has no lines, would have to be fetched again, or has become shorter.
        """
        source = self._source
        if source is None or any(map(is_remote, source.paths)):
            return None
        if any(table.lines() is None for table in source.tables):
            return None
        several = len(source.paths) > 1
        found = picked(
            (
                (lines, lambda line, path=path: f"{path}:{line}" if several else str(line))
                for path, table in zip(source.paths, source.tables, strict=True)
                for lines in table.lines() or ()
            ),
            numbers,
        )
        return None if None in found else found


def picked(
    pieces: Iterable[tuple[Any, Callable[..., Any]]], numbers: NDArray[np.int64]
) -> list[Any]:
    """Return the items at numbers, from 0, of arrays that follow each other, each converted.

    None where they are too short.
    """
    found: dict[int, Any] = {}
    before = 0
    for piece, convert in pieces:
        inside = numbers[(numbers >= before) & (numbers < before + len(piece))]
        found |= {number: convert(piece[number - before]) for number in inside.tolist()}
        before += len(piece)
    return [found.get(number) for number in numbers.tolist()]


def write_page(
    model: Any, path: str, source: FileSource | None, points: Points, **shown: Any
) -> None:
    """Write a page about a model, and about rows of a source that can still be read."""
    if source is None or source.once:
        model_page(model, path, data=[] if source is None else source.paths, **shown)
        return
    with progress_over("report", source) as progress:

        def blocks(start: Position | None) -> Iterator[tuple[Position, Block]]:
            for position, block in source.blocks(start):
                yield position, block
                progress.advance(block.shape[0])

        rows = Excerpt(source, blocks)
        rows.feature_names = None  # `open_for` has compared the names
        model_page(model, path, rows, data=source.paths, beside=points.texts, **shown)
