"""Some rows of a source, read without the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from onepass.sources import Block, Position, Source, SourceError, open_source
from onepass.sources.files.source import FileSource


class Extent(NamedTuple):
    """Rows of one file of a source: from number `start` up to `stop`, or to its end."""

    file: int
    start: int
    stop: int | None


class Excerpt(Source):
    """The rows of an extent.

    Parameters
    ----------
    source : Source
        Of which only these rows are read.
    extent : Extent
        Which rows.
    """

    def __init__(self, source: Source, extent: Extent) -> None:
        self.n_features, self.feature_names = source.n_features, source.feature_names
        self.n_rows = None if extent.stop is None else extent.stop - extent.start
        self._source, self._extent = source, extent

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        file, begin, stop = self._extent
        row = begin + self.first_row(start)
        if row == stop:
            return
        reading: Any = self._source.blocks(Position(file, row))
        with closing(reading):
            for position, block in reading:
                if position.file != file:
                    break
                rows = block if stop is None else block[: stop - row]
                row += rows.shape[0]
                yield Position(0, row - begin), rows
                if row == stop:
                    return
        if stop is not None:
            raise SourceError(f"there are {row} rows, and there were {stop} before")


def rows_in(content: Any) -> list[tuple[str, int | None]] | None:
    """Return name and number of rows, where known, of each file of a source or of a path.

    None if it cannot be told: then learning from it says why.
    """
    try:
        source = content if isinstance(content, Source) else open_source(content)
        if not isinstance(source, FileSource):
            return [("", source.n_rows)]
        return source.files
    except Exception:
        return None


def extents(counts: list[int | None], most: int) -> list[Extent]:
    """Return the rows of files in parts, as equal as can be, of at most so many rows."""
    found = []
    for file, count in enumerate(counts):
        if count is None:
            found.append(Extent(file, 0, None))
            continue
        parts = -(-count // most)
        bounds = [count * part // parts for part in range(parts)] + [count]
        found += [Extent(file, bounds[part], bounds[part + 1]) for part in range(parts)]
    return found
