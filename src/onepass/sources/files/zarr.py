"""Zarr arrays and groups, which are folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from onepass.sources.files.chosen import choose_array, split
from onepass.sources.files.rectangular import Fetch, Rectangular


class ZarrTable(Rectangular):
    """A two-dimensional Zarr array; ``"folder.zarr::name"`` chooses one of a group."""

    def __init__(self, path: str) -> None:
        self._folder, name = split(path)
        node = _library().open(self._folder, mode="r")
        self._name = None
        if not hasattr(node, "shape"):
            shapes = {
                key: array.shape for key, array in sorted(node.arrays(), key=lambda item: item[0])
            }
            # A name may lead deeper than the arrays that are listed.
            if name is not None and "/" in name and hasattr(node[name], "shape"):
                shapes[name] = node[name].shape
            self._name = choose_array(self._folder, name, shapes)
            node = node[self._name]
        chunk_rows = (node.shards or node.chunks)[0]
        super().__init__(path, node.shape, node.dtype, chunk_rows)

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the array."""
        data = _library().open(self._folder, mode="r")
        if self._name is not None:
            data = data[self._name]

        def fetch(row: int, out: NDArray[Any]) -> None:
            out[:] = data[row : row + len(out)]

        yield fetch


def _library() -> Any:
    """Return zarr."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError("reading Zarr arrays needs zarr: pip install 'onepass[files]'") from error
    return zarr
