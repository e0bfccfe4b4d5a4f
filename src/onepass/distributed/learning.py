"""What the workers do: pure functions from shards to models, and from models to a model.

A round begins where the merged iterate is, with its number of steps and its sum of gradients, so
that steps are as long as if there were one stream. Moments, averages and scores begin empty and
are added to those of earlier rounds. What is a sum over the rows (ERM, the incremental algorithm)
has no iterate to carry.
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
    """A shard that cannot be learned from; the message says which, and where in it."""


@dataclass(frozen=True)
class Learned:
    """A model and the shards that it is from."""

    model: Any  # with no row waiting; None if there was not a single row
    label: str  # what messages call the shards

    @property
    def rows(self) -> int:
        """How many rows were learned from."""
        return 0 if self.model is None else self.model.n_samples_seen_


class Extent(NamedTuple):
    """Rows of one file of a source: from number `start` up to `stop`, or to its end."""

    file: int
    start: int
    stop: int | None


class Excerpt(Source):
    """The rows of an extent of a source, of which only these are read."""

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


def begin(estimator: Any, model: Any) -> Any:
    """Return an estimator without rows, whose iterate is that of a model, if it can be carried."""
    fresh = clone(estimator)
    if model is None or not model._learner.carries:
        return fresh
    fresh._learner = fresh._learner_for(model._learner.stream)
    fresh._learner.continue_from(model._learner)
    fresh._learned_with = fresh.get_params(deep=False)
    fresh.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        fresh.feature_names_in_ = model.feature_names_in_
    return fresh


def leave(model: Any, start: Any) -> None:
    """Take back the steps that a model was given by the one that it began from."""
    if start is not None and start._learner.carries:
        model._learner.leave_out(start._learner)


def add_round(model: Any, latest: Any) -> Any:
    """Return one model for the rows of earlier rounds and of the latest, with its iterate."""
    if model is None or latest is None:
        return model or latest
    total = merge(model, latest)
    if total._learner.carries:
        total._learner.replace_iterate(latest._learner)
    return total


def learn(
    estimator: Any, start: Any, content: Any, label: str, extent: Extent | None = None
) -> Learned:
    """Return a model of one shard, which begins from that of earlier rounds, if there is one."""
    try:
        with one_thread():
            rows = open_source(content) if isinstance(content, str | os.PathLike) else content
            if extent is not None:
                rows = Excerpt(rows, extent)
            elif not isinstance(rows, Source) and _is_empty(rows):
                return Learned(None, label)
            model = begin(estimator, start).partial_fit(rows)
            model._learner = model._learner.settled()
            leave(model, start)
    except Exception as error:
        raise ShardError(f"{label}: {error or type(error).__name__}") from error
    return Learned(model, label)


def join(*parts: Learned) -> Learned:
    """Return one model for the shards of several."""
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
    """Return whether a block or table has no rows, as far as it can be told."""
    if sparse.issparse(rows):
        return rows.shape[0] == 0
    return hasattr(rows, "__len__") and not len(rows)
