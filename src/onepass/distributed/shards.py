"""Split data into shards."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.distributed.learning import Extent
from onepass.distributed.running import compute
from onepass.sources import Source, open_source
from onepass.sources.files import FileSource

SHARD_ROWS = 1 << 17  # seconds of learning: thousands of times the overhead of a task


@dataclass(frozen=True)
class Shard:
    """Rows that one task learns from."""

    label: str  # its name in messages
    content: Any  # a delayed block or a future of one, a block or table, a source, or a path
    extent: Extent | None = None  # which rows of the source or file; None for all
    path: str | None = None  # the file that the rows are in, if it is known here


def shards_of(data: Any, client: Any = None, shard_rows: int | None = SHARD_ROWS) -> list[Shard]:
    """Return the shards of anything that `onepass.distributed.fit` accepts, in their order."""
    if isinstance(data, str | os.PathLike | Source):
        data = [data]
    if isinstance(data, list | tuple):
        found = list(_of_items(list(data), client, shard_rows))
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


def _of_items(items: list[Any], client: Any, shard_rows: int | None) -> Iterator[Shard]:
    """Yield the items of a list; sources and files of many rows are split."""
    from dask import delayed

    paths = [item for item in items if isinstance(item, str | os.PathLike)]
    looked: Iterator[Any] = iter([])
    if shard_rows is not None and paths:  # paths are paths on the workers
        looks = [delayed(rows_in, pure=False)(path) for path in paths]
        looked = iter(compute(delayed(list, pure=False)(looks), client))
    number = 0
    for item in items:
        is_path, is_source = isinstance(item, str | os.PathLike), isinstance(item, Source)
        files: list[tuple[str, int | None]] = []
        if shard_rows is not None and (is_path or is_source):
            files = next(looked) if is_path else rows_in(item)
        parts: list[Any] = extents([count for _, count in files], shard_rows or 1)
        content = item
        if len(parts) <= 1:
            parts = [None]
            files = files or [(os.fspath(item) if is_path else "", None)]
        elif is_source:  # sent once for all parts: it may be large
            content = delayed(item, name=f"onepass-source-{uuid.uuid4().hex}", traverse=False)
        for extent in parts:
            path, count = files[extent.file if extent else 0]
            words = [path] if path else []
            if extent and (extent.start, extent.stop) != (0, count):
                words.append(f"from row {extent.start}")
            place = f" ({' '.join(words)})" if words else ""
            yield Shard(f"shard {number}{place}", content, extent, path or None)
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


def rows_in(content: Any) -> list[tuple[str, int | None]]:
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
