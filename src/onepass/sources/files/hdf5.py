"""HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onepass.sources.base import SourceError
from onepass.sources.files.npy import ArrayTable, Fetch
from onepass.sources.files.storage import open_file, split
from onepass.sources.files.table import choose_array


class Hdf5Table(ArrayTable):
    """A two-dimensional data set of an HDF5 file; ``"file.h5::group/name"`` chooses one."""

    def __init__(self, path: str) -> None:
        file, name = split(path)
        with _opened(file) as root:
            shapes: dict[str, tuple[int, ...]] = {}

            def note(key: str, node: Any) -> None:
                # A group has no shape, and that of an empty data set is None.
                if getattr(node, "shape", None) is not None:
                    shapes[key] = node.shape

            root.visititems(note)
            self._name = choose_array(file, name, shapes)
            data = root[self._name]
            if data.external or data.is_virtual:
                message = "its numbers lie in other files, which are not read"
                raise SourceError.at(message, file=file)
            super().__init__(path, data.shape, data.dtype, data.chunks or (1, 1))

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the file."""
        with _opened(split(self.path)[0]) as root:
            data = root[self._name]
            yield lambda begin, end: data[begin:end]


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file."""
    import h5py

    with open_file(path) as file, h5py.File(file, "r") as root:
        yield root
