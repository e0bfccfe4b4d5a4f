"""Anything that lies in pieces -> shards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.sources import Source


@dataclass(frozen=True)
class Shard:
    """Rows that one task learns from.

    Attributes
    ----------
    label : str
        What messages call it.
    content : object
        A delayed block or a future of one, a block or table, a source, or the path of a file.
    """

    label: str
    content: Any


def shards_of(data: Any) -> list[Shard]:
    """Return the shards of data as `onepass.distributed.fit` takes them, in their order."""
    if isinstance(data, str | os.PathLike | Source):
        data = [data]
    if isinstance(data, list | tuple):
        found = [Shard(f"shard {number}{_called(item)}", item) for number, item in enumerate(data)]
    elif hasattr(data, "to_delayed") and hasattr(data, "chunks"):
        found = list(_of_array(data))
    elif hasattr(data, "to_delayed"):
        parts = data.to_delayed()
        found = [Shard(f"shard {number}", part) for number, part in enumerate(parts)]
    else:
        raise TypeError(
            f"{type(data).__name__} is not in shards: give a dask array or dataframe, or a list of "
            "delayed blocks, sources or paths"
        )
    if not found:
        raise ValueError("There is not a single shard")
    return found


def _called(item: Any) -> str:
    """Return the name of a shard that has one, to be put behind its number."""
    return f" ({os.fspath(item)})" if isinstance(item, str | os.PathLike) else ""


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
