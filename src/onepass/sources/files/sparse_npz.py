"""Sparse matrices in npz files, as ``scipy.sparse.save_npz`` writes them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.buffers import Buffers
from onepass.sources.files.npy import read_header, read_into
from onepass.sources.files.table import Table
from onepass.sources.sparse import BLOCK_ROWS, canonical


class SparseNpzTable(Table):
    """A CSR matrix: its row pointers are kept in memory, its entries are read piece by piece."""

    names = None

    def __init__(self, path: str) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            if "format.npy" in archive.namelist():
                form = _whole(archive, "format").item()
                if form not in (b"csr", "csr"):
                    raise SourceError.at(f"a sparse matrix of format {form!r}, not csr", file=path)
            shape = np.asarray(_whole(archive, "shape")).tolist()
            self._indptr = np.asarray(_whole(archive, "indptr"), dtype=np.int64)
            headers = [_header(archive, name) for name in ("data", "indices")]
        (entries, _, dtype), (places, _, index_type) = headers
        self.n_rows, width = (int(number) for number in shape)
        steps = np.diff(self._indptr)
        if not (
            self._indptr.shape == (self.n_rows + 1,)
            and self._indptr[0] == 0
            and (steps >= 0).all()
            and entries == places == (self._indptr[-1],)
            and index_type.kind in "iu"
            and 0 < width < 2**31
        ):
            raise SourceError.at("its arrays do not make up a sparse matrix", file=path)
        self._dtype = dtype
        self.numeric = np.full(width, dtype.kind in "biuf")
        self.single = np.full(width, dtype.newbyteorder("=") == np.float32)

    def why_not_numeric(self, index: int) -> str:
        """Return what a column that is not numeric holds."""
        return f"values of type {self._dtype}"

    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[Any]:
        """Yield the rows from number `start` on, as CSR."""
        width = len(self.numeric)
        everything = np.array_equal(columns, np.arange(width))
        rows = min(block_rows, BLOCK_ROWS)
        with (
            zipfile.ZipFile(self.path) as archive,
            archive.open("data.npy") as data,
            archive.open("indices.npy") as indices,
        ):
            streams = [_Entries(data), _Entries(indices)]
            for begin in range(start, len(self._indptr) - 1, rows):
                indptr = self._indptr[begin : begin + rows + 1]
                values, places = (stream.between(indptr[0], indptr[-1]) for stream in streams)
                if len(places) and not (places.min() >= 0 and places.max() < width):
                    raise ValueError(f"there is an index outside of 0 to {width - 1}")
                block = scipy.sparse.csr_array(
                    (values.astype(buffers.dtype), places.astype(np.int32), indptr - indptr[0]),
                    shape=(len(indptr) - 1, width),
                )
                yield canonical(block if everything else block[:, columns])


class _Entries:
    """The numbers of an npy member, read from the beginning to the end."""

    def __init__(self, member: Any) -> None:
        _, _, self._dtype = read_header(member)
        self._member = member
        self._offset = member.tell()

    def between(self, begin: int, end: int) -> NDArray[Any]:
        """Return the numbers from `begin` to before `end`."""
        numbers = np.empty(int(end - begin), dtype=self._dtype)
        self._member.seek(int(self._offset + begin * self._dtype.itemsize))
        if len(numbers):
            read_into(self._member, numbers)
        return numbers


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, order and type of an array of the archive, checked against its size."""
    info = archive.getinfo(name + ".npy")
    with archive.open(info) as member:
        shape, fortran, dtype = read_header(member)
        if info.file_size - member.tell() != np.prod(shape, dtype=object) * dtype.itemsize:
            raise ValueError(f"the array {name!r} is cut off")
    return shape, fortran, dtype


def _whole(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return a small array of the archive."""
    _header(archive, name)
    with archive.open(name + ".npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)
