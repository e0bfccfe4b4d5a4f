"""HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.files.chosen import choose_array, split
from onepass.sources.files.rectangular import Fetch, Rectangular


class Hdf5Table(Rectangular):
    """A two-dimensional data set of an HDF5 file; ``"file.h5::group/name"`` chooses one."""

    def __init__(self, path: str) -> None:
        self._file, name = split(path)
        with _library().File(self._file, "r") as file:
            shapes: dict[str, tuple[int, ...]] = {}
            file.visititems(lambda key, node: _note(shapes, key, node))
            self._name = choose_array(self._file, name, shapes)
            data = file[self._name]
            chunk_rows = data.chunks[0] if data.chunks else 1
            super().__init__(path, data.shape, data.dtype, chunk_rows)

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the file."""
        with _library().File(self._file, "r") as file:
            data = file[self._name]

            def fetch(row: int, out: NDArray[Any]) -> None:
                data.read_direct(out, np.s_[row : row + len(out)])

            yield fetch


def _note(shapes: dict[str, tuple[int, ...]], key: str, node: Any) -> None:
    """Remember the shape of a data set; a group has none, and an empty one is None."""
    if getattr(node, "shape", None) is not None:
        shapes[key] = node.shape


def _library() -> Any:
    """Return h5py."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError("reading HDF5 files needs h5py: pip install 'onepass[files]'") from error
    return h5py
