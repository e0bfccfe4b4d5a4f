"""Zarr arrays and groups, which are folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onepass.sources.files.npy import ArrayTable, Fetch
from onepass.sources.files.storage import split
from onepass.sources.files.table import choose_array


class ZarrTable(ArrayTable):
    """A two-dimensional Zarr array; ``"folder.zarr::name"`` chooses one of a group."""

    def __init__(self, path: str) -> None:
        import zarr

        folder, name = split(path)
        node: Any = zarr.open(folder, mode="r")
        self._name = None
        if not hasattr(node, "shape"):
            shapes = {key: array.shape for key, array in sorted(node.arrays())}
            # A name may lead deeper than the arrays that are listed.
            if name is not None and "/" in name and hasattr(node[name], "shape"):
                shapes[name] = node[name].shape
            self._name = choose_array(folder, name, shapes)
            node = node[self._name]
        super().__init__(path, node.shape, node.dtype, node.shards or node.chunks)

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the array."""
        import zarr

        data: Any = zarr.open(split(self.path)[0], mode="r")
        if self._name is not None:
            data = data[self._name]
        yield lambda begin, end: data[begin:end]
