"""Some of the rows of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onepass.sources.base import Block, Position, Source, SourceError


class Excerpt(Source):
    """A source with the columns of another, and some of its blocks.

    Parameters
    ----------
    source : Source
        Whose columns these are.
    read : callable
        Takes a position, or None for the first row, and yields (position after the block, block),
        as `Source.blocks` does.
    n_rows : int or None
        The number of rows, where it is known without reading them.
    first : Position, optional
        Where its first row is in the other source, if its positions are counted from there.
    """

    def __init__(
        self,
        source: Source,
        read: Callable[[Position | None], Iterator[tuple[Position, Block]]],
        n_rows: int | None = None,
        first: Position | None = None,
    ) -> None:
        self.n_features, self.feature_names = source.n_features, source.feature_names
        self.n_rows, self._read = n_rows, read
        self._source, self._first = source, first
        self.na, self.reading, self.is_mapped = source.na, source.reading, source.is_mapped
        self.preparation = getattr(source, "preparation", None)  # of its rows, as for `FileSource`

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        return self._read(start)

    def error(self, message: str, position: Position, column: int | None = None) -> SourceError:
        """Return an error that names a place in the other source."""
        if self._first is not None:
            position = Position(self._first.file, self._first.row + position.row)
        return self._source.error(message, position, column)
