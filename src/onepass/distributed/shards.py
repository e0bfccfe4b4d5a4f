"""Shards: how data are split into them, and what a worker does with one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from onepass.sources import Position, Source, open_source
from onepass.sources.files import FileSource
from onepass.threads import one_thread

SHARD_ROWS = 1 << 17  # seconds of learning: thousands of times the overhead of a task


class ShardError(ValueError):
    """A shard that cannot be learned from; the message names it, and the place in it."""


@dataclass(frozen=True)
class Shard:
    """Rows that one task learns from: those from `start` to `stop` of one file, by default all."""

    content: Any  # a delayed block or a future of one, a block or table, a source, or a path
    label: str = ""  # its place, and after its number its name, in messages
    path: str = ""  # of the file, where it is known
    file: int | None = None  # number of the file in the source; None for all
    start: int = 0
    stop: int | None = None


def shards_of(data: Any, client: Any, shard_rows: int | None) -> list[Shard]:
    """Return the shards of anything that `onepass.distributed.fit` accepts, in their order."""
    if hasattr(data, "to_delayed"):
        found = list(_of_collection(data))
    elif isinstance(data, str | os.PathLike | Source):
        found = list(_of_items([data], client, shard_rows))
    elif isinstance(data, list | tuple):
        found = list(_of_items(data, client, shard_rows))
    else:
        raise TypeError(
            f"{type(data).__name__} has no shards: pass a dask array or dataframe, or a list of "
            "delayed blocks, sources or paths"
        )
    if not found:
        raise ValueError("There are no shards")
    places = [f" ({shard.label})" if shard.label else "" for shard in found]
    labels = [f"shard {number}{place}" for number, place in enumerate(places)]
    return [replace(shard, label=label) for shard, label in zip(found, labels, strict=True)]


def _of_collection(data: Any) -> Iterator[Shard]:
    """Yield the chunks of rows of a dask array (n, d), or the partitions of a dataframe."""
    if not hasattr(data, "chunks"):
        yield from map(Shard, data.to_delayed())
        return
    if data.ndim != 2:
        raise ValueError(f"The array has {data.ndim} dimensions, expected 2: rows and columns")
    chunks = data.rechunk({1: -1}).to_delayed().ravel()
    starts = np.cumsum([0, *data.chunks[0][:-1]])
    for part, start in zip(chunks, starts, strict=True):
        # Sizes are NaN where only the workers know them.
        yield Shard(part, "" if np.isnan(start) else f"from row {start} of the array")


def _of_items(items: Sequence[Any], client: Any, most: int | None) -> Iterator[Shard]:
    """Yield the items of a list; sources, and files of many rows where workers find them, split."""
    executor = client.get_executor(pure=False) if hasattr(client, "get_executor") else client
    on_workers = map if executor is None else executor.map
    paths = [item for item in items if isinstance(item, str | os.PathLike)]
    of_paths = iter(on_workers(partial(parts, most=most), paths))
    for item in items:
        if isinstance(item, str | os.PathLike):
            yield from next(of_paths)
        elif isinstance(item, Source):
            yield from parts(item, most)
        else:
            yield Shard(item)


def parts(item: Any, most: int | None) -> list[Shard]:
    """Return nearly equal parts of at most so many rows of the files of a path or source."""
    path = "" if isinstance(item, Source) else os.fspath(item)
    whole = [Shard(item, path, path)]
    if most is None:
        return whole
    try:
        source = item if isinstance(item, Source) else open_source(path)
    except Exception:  # learning from it raises the error
        return whole
    if not isinstance(source, FileSource) and source.n_rows is None:
        return whole
    found = []
    for file, (path, rows) in enumerate(getattr(source, "files", [("", source.n_rows)])):
        if rows is None:
            found.append(Shard(item, path, path, file))
            continue
        count = -(-rows // most)
        for part in range(count):
            start, stop = rows * part // count, rows * (part + 1) // count
            label = f"{path} from row {start}".strip() if start else path
            found.append(Shard(item, label, path, file, start, stop))
    return found


def learn(estimator: Any, further: Any, shard: Shard) -> Any:
    """Return a model of a shard, in which no row waits, or None if the shard has no rows.

    If `further` is another pass over all rows, it is returned with those of the shard.
    """
    try:
        with one_thread():
            rows = shard.content
            if hasattr(rows, "__dask_graph__"):  # a collection that no cluster has computed
                rows = rows.compute(scheduler="synchronous")
            if isinstance(rows, str | os.PathLike):
                rows = open_source(rows)
            if shard.file is not None:
                end = (shard.file + 1, 0) if shard.stop is None else (shard.file, shard.stop)
                rows = rows[Position(shard.file, shard.start) : Position(*end)]
            elif getattr(rows, "shape", (1,))[0] == 0:
                return None
            if further is not None:
                taken = further.fresh()
                for block in estimator.checked(rows):
                    taken.push(taken.stream.convert(block), has_gaps=True)
                taken.finish()
                return taken
            model = clone(estimator).partial_fit(rows)
            found = shard.start + int(model.n_samples_seen_)
            if shard.stop is not None and found != shard.stop:
                raise ValueError(
                    f"there are {found} rows, but there were {shard.stop} when the work was planned"
                )
            model.finish()
            return model
    except Exception as error:
        raise ShardError(f"{shard.label}: {str(error) or type(error).__name__}") from error
