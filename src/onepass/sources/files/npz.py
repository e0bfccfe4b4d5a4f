"""NumPy's npz files: one dense array, or a scipy sparse matrix."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.files.chosen import choose_array, split
from onepass.sources.files.npy import read_header, read_into
from onepass.sources.files.rectangular import Fetch, Rectangular
from onepass.sources.files.sparse_npz import SparseNpzTable
from onepass.sources.files.table import Table


def open_npz(path: str) -> Table:
    """Return the table of an npz file, dense or sparse."""
    file, name = split(path)
    headers = {}
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            with archive.open(info) as member:
                headers[info.filename.removesuffix(".npy")] = read_header(member)
    if name is None and {"data", "indptr", "indices", "shape"} <= headers.keys():
        return SparseNpzTable(path)
    shapes = {key: shape for key, (shape, _, _) in headers.items()}
    return NpzTable(path, choose_array(file, name, shapes))


class NpzTable(Rectangular):
    """One array of an npz file, decompressed piece by piece."""

    def __init__(self, path: str, name: str) -> None:
        self._file = split(path)[0]
        self._member = name + ".npy"
        with zipfile.ZipFile(self._file) as archive:
            info = archive.getinfo(self._member)
            with archive.open(info) as member:
                shape, self._fortran, dtype = read_header(member)
                offset = member.tell()
        super().__init__(path, shape, dtype)
        if info.file_size < offset + shape[0] * shape[1] * dtype.itemsize:
            raise SourceError.at("it is cut off: its array does not end in it", file=path)

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the file."""
        with zipfile.ZipFile(self._file) as archive, archive.open(self._member) as member:
            read_header(member)
            offset = member.tell()

            def fetch(row: int, out: NDArray[Any]) -> None:
                # Backwards would start again from the beginning; rows are asked for in order.
                member.seek(offset + row * out.strides[0])
                read_into(member, out)

            yield self._transposed(member) if self._fortran else fetch

    def _transposed(self, member: Any) -> Fetch:
        """Read an array in Fortran order, which a compressed stream gives only as a whole."""
        whole = np.empty((len(self.numeric), self.n_rows or 0), dtype=self.dtype)
        read_into(member, whole)

        def fetch(row: int, out: NDArray[Any]) -> None:
            out[:] = whole[:, row : row + len(out)].T

        return fetch
