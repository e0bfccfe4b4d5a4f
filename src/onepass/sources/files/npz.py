"""NumPy's npz files: one dense array, or a scipy sparse matrix."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources.base import SourceError, canonical, float_type
from onepass.sources.files.npy import (
    CHUNK_LIMIT_BYTES,
    ArrayTable,
    Fetch,
    read_array,
    read_header,
)
from onepass.sources.files.storage import open_file, split
from onepass.sources.files.table import Columns, Table, choose_array

_BLOCK_ROWS = 4096
_SPARSE = ("data", "indices", "indptr", "shape")


def open_npz(path: str) -> Table:
    """Return the table of an npz file, dense or sparse."""
    file, name = split(path)
    with _archive(file) as archive:
        members = {}
        for info in archive.infolist():
            members[info.filename.removesuffix(".npy")] = _Member(archive, info.filename)
        if name is None and set(_SPARSE) <= members.keys():
            return SparseNpzTable(path, members)
        shapes = {key: member.shape for key, member in members.items()}
        name = choose_array(file, name, shapes)
        return NpzTable(path, name, members[name])


@contextmanager
def _archive(path: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive."""
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        yield archive


class _Member:
    """An array of an archive, whose numbers are read from the first to the last."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._file = archive.open(name)
        self.shape, self.fortran, self.dtype = read_header(self._file)
        self._offset = self._file.tell()
        size = int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
        if archive.getinfo(name).file_size != self._offset + size:
            raise ValueError(f"the array {name.removesuffix('.npy')!r} is cut off")

    def between(self, begin: int, end: int) -> NDArray[Any]:
        """Return the numbers from `begin` to before `end`, shape (end - begin,)."""
        self._file.seek(self._offset + begin * self.dtype.itemsize)
        return read_array(self._file, (end - begin,), self.dtype)


class NpzTable(ArrayTable):
    """One array of an npz file, decompressed piece by piece."""

    def __init__(self, path: str, name: str, member: _Member) -> None:
        super().__init__(path, member.shape, member.dtype)
        self._name, self._fortran = name, member.fortran
        size = self.width * (self.n_rows or 0) * self.dtype.itemsize
        if self._fortran and size > CHUNK_LIMIT_BYTES:
            raise SourceError.at(
                f"its array is in Fortran order and has to be read whole, which takes "
                f"{size >> 20:,} MB; the limit is {CHUNK_LIMIT_BYTES >> 20} MB",
                file=path,
            )

    @contextmanager
    def open(self) -> Iterator[Fetch]:
        """Open the file."""
        with _archive(split(self.path)[0]) as archive:
            member = _Member(archive, f"{self._name}.npy")
            if self._fortran:
                whole = member.between(0, self.width * (self.n_rows or 0)).reshape(self.width, -1)
                yield lambda begin, end: whole[:, begin:end].T
            else:
                yield lambda begin, end: member.between(
                    begin * self.width, end * self.width
                ).reshape(-1, self.width)


class SparseNpzTable(Table):
    """A CSR matrix as ``scipy.sparse.save_npz`` writes it, read piece by piece."""

    def __init__(self, path: str, members: dict[str, _Member]) -> None:
        self.path = path
        if "format" in members:
            form = members["format"].between(0, 1).item()
            if form not in (b"csr", "csr"):
                raise SourceError.at(f"a sparse matrix of format {form!r}, not csr", file=path)
        data, indices, indptr, shape = (members[name] for name in _SPARSE)
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise SourceError.at("its shape is not that of a matrix", file=path)
        self.n_rows, self.width = (int(number) for number in shape.between(0, 2))
        if not (
            indptr.shape == (self.n_rows + 1,)
            and len(data.shape) == 1
            and data.shape == indices.shape
            and indptr.dtype.kind in "iu"
            and indices.dtype.kind in "iu"
            and 0 < self.width < 2**31
        ):
            raise SourceError.at("its arrays do not make up a sparse matrix", file=path)
        if data.dtype.kind not in "biuf":
            raise SourceError.at(f"contains values of type {data.dtype}, not numbers", file=path)
        self._entries, self._dtype = data.shape[0], data.dtype

    def float_type(self, columns: Columns) -> np.dtype:
        """Return float32 if the matrix is, or float64."""
        return float_type(self._dtype)

    def read(self, columns: Columns, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on, as CSR."""
        assert self.n_rows is not None
        with _archive(self.path) as archive:
            data, indices, indptr = (_Member(archive, f"{name}.npy") for name in _SPARSE[:3])
            for begin in range(start, self.n_rows, _BLOCK_ROWS):
                end = min(begin + _BLOCK_ROWS, self.n_rows)
                bounds = indptr.between(begin, end + 1).astype(np.int64)
                self._check(bounds, begin, end)
                places = indices.between(int(bounds[0]), int(bounds[-1]))
                if len(places) and not (places.min() >= 0 and places.max() < self.width):
                    raise ValueError(f"there is an index outside of 0 to {self.width - 1}")
                values = data.between(int(bounds[0]), int(bounds[-1])).astype(dtype)
                block = scipy.sparse.csr_array(
                    (values, places.astype(np.int32), bounds - bounds[0]),
                    shape=(end - begin, self.width),
                )
                yield canonical(block, columns)

    def _check(self, bounds: NDArray[np.int64], begin: int, end: int) -> None:
        """Refuse bounds of rows that do not fit the entries, or to too many entries."""
        sound = bounds[0] >= 0 and bounds[-1] <= self._entries and (np.diff(bounds) >= 0).all()
        sound = sound and (begin > 0 or bounds[0] == 0)
        if not sound or (end == self.n_rows and bounds[-1] != self._entries):
            raise SourceError.at("its arrays do not make up a sparse matrix", file=self.path)
        size = int(bounds[-1] - bounds[0]) * (4 + self._dtype.itemsize)
        if size > CHUNK_LIMIT_BYTES:
            raise SourceError.at(
                f"{end - begin} rows have entries of {size >> 20:,} MB, the limit is "
                f"{CHUNK_LIMIT_BYTES >> 20} MB",
                file=self.path,
                row=begin + 1,
            )
