"""A part of a source, so that work can pause between two blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onepass.sources import Block, Position, Source


class Stretch(Source):
    """The next blocks of a source that is being read: at least one, until it is time to pause.

    Learning from a source is all or nothing. Taken stretch by stretch, what was learned and how far
    the source was read always belong together.

    Parameters
    ----------
    source : Source
        Where the blocks come from.
    blocks : iterator of (Position, Block)
        From ``source.blocks(...)``; the next stretch goes on with it.
    pause : callable
        Called with the number of rows of each block that has been worked on; returns whether to
        pause.

    Attributes
    ----------
    position : Position or None
        How far the source was worked on; None before the first block.
    exhausted : bool
        Whether that was all.
    """

    def __init__(
        self,
        source: Source,
        blocks: Iterator[tuple[Position, Block]],
        pause: Callable[[int], bool],
    ) -> None:
        self.n_features, self.feature_names = source.n_features, source.feature_names
        self.n_rows = None
        self._blocks, self._pause = blocks, pause
        self.position: Position | None = None
        self.exhausted = False

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block); there is no other start than where it is."""
        for position, block in self._blocks:
            yield position, block
            self.position = position
            if self._pause(block.shape[0]):
                return
        self.exhausted = True
