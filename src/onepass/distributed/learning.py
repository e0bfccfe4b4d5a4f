"""What the workers do: pure functions from a shard to a model, and from models to one model.

A round begins with the merged iterate, its number of steps and its sum of gradients, so that steps
are as long as in one stream. Moments, averages and scores begin empty and are added to those of
earlier rounds. ERM and the incremental algorithm are sums over the rows and carry no iterate.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy import sparse
from sklearn.base import clone

from onepass.estimators.merging import merge
from onepass.sources import Block, Position, Source, SourceError, open_source
from onepass.threads import one_thread


class ShardError(ValueError):
    """A shard that cannot be learned from; the message names it, and the place in it."""


@dataclass(frozen=True)
class Learned:
    """A model, and the shards that it was fitted on."""

    model: Any  # with no row waiting; None if there was no row
    label: str  # the shards, in messages

    @property
    def rows(self) -> int:
        """How many rows were learned from."""
        return 0 if self.model is None else self.model.n_samples_seen_


class Extent(NamedTuple):
    """Rows of one file of a source: from number `start` up to `stop`, None for its end."""

    file: int
    start: int
    stop: int | None


class Excerpt(Source):
    """The rows of an extent of a source; no others are read."""

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
            raise SourceError(
                f"there are {row} rows, but there were {stop} when the work was planned"
            )


def add_round(model: Any, latest: Any) -> Any:
    """Return the model of earlier rounds and of the latest together."""
    if model is None or latest is None:
        return model or latest
    return merge(model, latest)


def learn(
    estimator: Any, start: Any, content: Any, label: str, extent: Extent | None = None
) -> Learned:
    """Return a model of one shard, which begins from the model of earlier rounds, if any."""
    try:
        with one_thread():
            rows = open_source(content) if isinstance(content, str | os.PathLike) else content
            if extent is not None:
                rows = Excerpt(rows, extent)
            elif not isinstance(rows, Source) and _is_empty(rows):
                return Learned(None, label)
            model = clone(estimator).partial_fit(rows)
            model._learner = model._learner.finished()
    except Exception as error:
        raise ShardError(f"{label}: {error or type(error).__name__}") from error
    return Learned(model, label)


def join(*parts: Learned) -> Learned:
    """Merge the models of shards."""
    some = [part for part in parts if part.model is not None]
    label = f"{parts[0].label} to {parts[-1].label}"
    if not some:
        return Learned(None, label)
    try:
        with one_thread():
            model = merge(*(part.model for part in some))
    except ValueError as error:
        raise ShardError(f"{', '.join(part.label for part in some)}: {error}") from error
    return Learned(model, label)


def _is_empty(rows: Any) -> bool:
    """Return whether a block or table is known to have no rows."""
    if sparse.issparse(rows):
        return rows.shape[0] == 0
    return hasattr(rows, "__len__") and not len(rows)
