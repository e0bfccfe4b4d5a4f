"""Shards: how data are split into them, and what workers do with them.

Workers run pure functions, from a shard to a model, and from models to one model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from onepass.estimators.merging import merge
from onepass.sources import Block, Position, Source, SourceError, open_source
from onepass.sources.excerpt import Excerpt
from onepass.sources.files import FileSource
from onepass.threads import one_thread

SHARD_ROWS = 1 << 17  # seconds of learning: thousands of times the overhead of a task


class ShardError(ValueError):
    """A shard that cannot be learned from; the message names it, and the place in it."""


class Extent(NamedTuple):
    """Rows of one file of a source: from number `start` up to `stop`, None for its end."""

    file: int
    start: int
    stop: int | None


@dataclass(frozen=True)
class Shard:
    """Rows that one task learns from."""

    label: str  # its name in messages
    content: Any  # a delayed block or a future of one, a block or table, a source, or a path
    extent: Extent | None = None  # which rows of the source or file; None for all
    path: str | None = None  # the file that the rows are in, if it is known here


@dataclass(frozen=True)
class Learned:
    """A model, and the shards that it was fitted on."""

    model: Any  # with no row waiting; None if there was no row
    label: str  # the shards, in messages

    @property
    def rows(self) -> int:
        """How many rows were learned from."""
        return 0 if self.model is None else self.model.n_samples_seen_


def shards_of(
    data: Any, executor: Executor | None = None, shard_rows: int | None = SHARD_ROWS
) -> list[Shard]:
    """Return the shards of anything that `onepass.distributed.fit` accepts, in their order.

    The executor counts the rows of paths, which may be paths on its workers; None is this process.
    """
    if isinstance(data, str | os.PathLike | Source):
        data = [data]
    if isinstance(data, list | tuple):
        found = list(_of_items(list(data), executor, shard_rows))
    elif hasattr(data, "to_delayed") and hasattr(data, "chunks"):
        found = list(_of_array(data))
    elif hasattr(data, "to_delayed"):
        parts = data.to_delayed()
        found = [Shard(f"shard {number}", part) for number, part in enumerate(parts)]
    else:
        raise TypeError(
            f"{type(data).__name__} has no shards: pass a dask array or dataframe, or a list of "
            "delayed blocks, sources or paths"
        )
    if not found:
        raise ValueError("There are no shards")
    return found


def _of_items(
    items: list[Any], executor: Executor | None, shard_rows: int | None
) -> Iterator[Shard]:
    """Yield the items of a list; sources and files of many rows are split."""
    count = map if executor is None else executor.map
    paths = [item for item in items if isinstance(item, str | os.PathLike)]
    counted = iter(count(file_lengths, paths) if shard_rows is not None else ())
    number = 0
    for item in items:
        is_path = isinstance(item, str | os.PathLike)
        files: list[tuple[str, int | None]] = []
        if shard_rows is not None and (is_path or isinstance(item, Source)):
            files = next(counted) if is_path else file_lengths(item)
        parts: list[Any] = extents([count for _, count in files], shard_rows or 1)
        if len(parts) <= 1:
            parts = [None]
            files = files or [(os.fspath(item) if is_path else "", None)]
        for extent in parts:
            path, rows = files[extent.file if extent else 0]
            words = [path] if path else []
            if extent and (extent.start, extent.stop) != (0, rows):
                words.append(f"from row {extent.start}")
            place = f" ({' '.join(words)})" if words else ""
            yield Shard(f"shard {number}{place}", item, extent, path or None)
            number += 1


def _of_array(array: Any) -> Iterator[Shard]:
    """Yield the chunks of rows of a dask array of shape (n, d)."""
    if array.ndim != 2:
        raise ValueError(f"The array has {array.ndim} dimensions, expected 2: rows and columns")
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    stops = np.cumsum(array.chunks[0])
    parts = zip(array.to_delayed().ravel(), array.chunks[0], stops, strict=True)
    for number, (part, size, stop) in enumerate(parts):
        # Sizes are NaN where only the workers know them.
        rows = "" if np.isnan(stop) else f" (from row {stop - size} of the array)"
        yield Shard(f"shard {number}{rows}", part)


def file_lengths(content: Any) -> list[tuple[str, int | None]]:
    """Return name and number of rows, if known, of each file of a source or a path.

    Nothing if it cannot be opened: learning from it then raises the error.
    """
    try:
        source = content if isinstance(content, Source) else open_source(content)
        if not isinstance(source, FileSource):
            return [("", source.n_rows)]
        return source.files
    except Exception:
        return []


def extents(counts: list[int | None], most: int) -> list[Extent]:
    """Return the rows of files in nearly equal parts of at most so many rows."""
    found = []
    for file, count in enumerate(counts):
        if count is None:
            found.append(Extent(file, 0, None))
            continue
        parts = -(-count // most)
        bounds = [count * part // parts for part in range(parts)] + [count]
        found += [Extent(file, bounds[part], bounds[part + 1]) for part in range(parts)]
    return found


def learn(estimator: Any, content: Any, label: str, extent: Extent | None = None) -> Learned:
    """Return a model of one shard, in which no row waits."""
    try:
        with one_thread():
            rows = content
            if hasattr(rows, "__dask_graph__"):  # a collection that no cluster has computed
                rows = rows.compute(scheduler="synchronous")
            if isinstance(rows, str | os.PathLike):
                rows = open_source(rows)
            if extent is not None:
                rows = excerpt(rows, extent)
            elif not isinstance(rows, Source) and _is_empty(rows):
                return Learned(None, label)
            model = clone(estimator).partial_fit(rows)
            model.finish()
            return Learned(model, label)
    except Exception as error:
        raise ShardError(f"{label}: {str(error) or type(error).__name__}") from error


def join(*parts: Learned) -> Learned:
    """Merge the models of shards."""
    if len(parts) == 1:
        return parts[0]
    some = [part for part in parts if part.model is not None]
    label = f"{parts[0].label} to {parts[-1].label}"
    if not some:
        return Learned(None, label)
    try:
        with one_thread():
            return Learned(merge(*(part.model for part in some)), label)
    except ValueError as error:
        raise ShardError(f"{', '.join(part.label for part in some)}: {error}") from error


def excerpt(source: Source, extent: Extent) -> Excerpt:
    """Return the rows of an extent of a source; no others are read."""
    file, begin, stop = extent

    def read(start: Position | None) -> Iterator[tuple[Position, Block]]:
        row = begin + found.first_row(start)
        if row == stop:
            return
        reading: Any = source.blocks(Position(file, row))
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
            message = f"there are {row} rows, but there were {stop} when the work was planned"
            raise SourceError(message)

    n_rows = None if stop is None else stop - begin
    found = Excerpt(source, read, n_rows, Position(file, begin))
    return found


def _is_empty(rows: Any) -> bool:
    """Return whether a block or table is known to have no rows."""
    if sparse.issparse(rows):
        return rows.shape[0] == 0
    return hasattr(rows, "__len__") and not len(rows)
