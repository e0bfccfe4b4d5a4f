"""Files that hold arrays: npy, npz, HDF5 and Zarr, dense, and sparse matrices in npz files."""

from __future__ import annotations

import math
import os
import zipfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import (
    LIMIT_BYTES,
    Block,
    SourceError,
    check_size,
    check_width,
    float_type,
    rows_per_block,
    sparse_block,
)
from onepass.sources.files.storage import open_file, split
from onepass.sources.files.table import Table

_SPARSE = ("data", "indices", "indptr", "shape")
_SPARSE_BLOCK_ROWS = 4096
_NOT_SPARSE = "its arrays do not make up a sparse matrix"


class ArrayTable(Table):
    """A file that holds one two-dimensional array of one type, maybe stored in chunks."""

    def __init__(self, path: str) -> None:
        self.path = path
        with self.open() as array:
            shape, dtype = array.shape, array.dtype
            # The parts in which it is stored, if there are any.
            chunk = getattr(array, "shards", None) or getattr(array, "chunks", None) or (1, 1)
        if len(shape) != 2 or shape[1] == 0:
            raise self.error(f"an array of shape {shape} has no rows and columns")
        self.n_rows, self.width = shape
        self.dtype = float_type(dtype, path)
        check_width(self.width, path)
        chunk_bytes = math.prod(chunk) * dtype.itemsize
        check_size(f"its chunks of shape {chunk} are too large: each takes", chunk_bytes, path)
        # Chunks are best read whole, if not too many columns are beside them.
        most = max(1, (LIMIT_BYTES >> 3) // (self.width * dtype.itemsize))
        self._rows = max(rows_per_block(self.width), min(chunk[0], most))

    @abstractmethod
    def open(self) -> AbstractContextManager[Any]:
        """Open the array: it has shape, dtype and maybe chunks, and slices of it are its rows."""

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on."""
        assert self.n_rows is not None
        with self.open() as array:
            for begin in range(start, self.n_rows, self._rows):
                rows = array[begin : min(begin + self._rows, self.n_rows)]
                part = rows if self.columns is None else rows[:, self.columns]
                yield np.ascontiguousarray(part, dtype=dtype)


class _NpyArray:
    """An array in the npy format, in an open file; what is asked for is read, and no more."""

    def __init__(self, file: Any, size: int) -> None:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            header = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError(f"npy files of version {version} hold no plain numbers")
        self.shape, self.in_fortran_order, self.dtype = header
        self._file, self._offset = file, file.tell()
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        if size < self._offset + self.nbytes:
            raise ValueError("it is cut off: its array does not end in it")

    def numbers(self, begin: int, end: int) -> NDArray[Any]:
        """Return numbers in the order of the file, shape (end - begin,)."""
        if self.dtype.hasobject:
            raise ValueError(f"contains values of type {self.dtype}, not numbers")
        array = np.empty(end - begin, dtype=self.dtype)
        self._file.seek(self._offset + begin * self.dtype.itemsize)
        if self._file.readinto(array.view(np.uint8)) < array.nbytes:
            raise EOFError("the file ends here")
        return array

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows of two dimensions, shape (end - begin, width)."""
        begin, end, (n, width) = rows.start, rows.stop, self.shape
        if self.in_fortran_order:
            parts = [self.numbers(j * n + begin, j * n + end) for j in range(width)]
            return np.stack(parts, axis=1)
        return self.numbers(begin * width, end * width).reshape(-1, width)


class NpyTable(ArrayTable):
    """An npy file, read piece by piece and never as a whole."""

    @contextmanager
    def open(self) -> Iterator[_NpyArray]:
        """Open the file."""
        with open_file(self.path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            yield _NpyArray(file, size)


class NpzTable(ArrayTable):
    """One array of an npz file, decompressed piece by piece."""

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file."""
        with _members(self.path) as members:
            name = _choose(self.path, {key: array.shape for key, array in members.items()})
            array = members[name]
            if array.in_fortran_order:  # going back in what is compressed takes too long
                what = "its array is in Fortran order and has to be read whole, which takes"
                check_size(what, array.nbytes, self.path)
                yield array.numbers(0, math.prod(array.shape)).reshape(array.shape, order="F")
            else:
                yield array


@contextmanager
def _members(path: str) -> Iterator[dict[str, _NpyArray]]:
    """Open the arrays of an npz file."""
    with open_file(split(path)[0]) as file, zipfile.ZipFile(file) as archive:
        yield {
            info.filename.removesuffix(".npy"): _NpyArray(archive.open(info), info.file_size)
            for info in archive.infolist()
        }


def open_npz(path: str) -> Table:
    """Return the table of an npz file, dense or sparse."""
    with _members(path) as members:
        # All sparse formats of scipy, so that none is taken for a dense array.
        is_sparse = {"data", "shape", "format"} <= members.keys() or set(_SPARSE) <= members.keys()
        is_sparse = is_sparse and split(path)[1] is None
    return SparseNpzTable(path) if is_sparse else NpzTable(path)


class SparseNpzTable(Table):
    """A CSR matrix as ``scipy.sparse.save_npz`` writes it, read piece by piece."""

    def __init__(self, path: str) -> None:
        self.path = path
        with _members(path) as members:
            form = members["format"].numbers(0, 1).item() if "format" in members else "csr"
            if form not in (b"csr", "csr"):
                raise self.error(f"a sparse matrix of format {form!r}, not csr")
            data, indices, indptr, shape = (members[name] for name in _SPARSE)
            if shape.shape != (2,) or shape.dtype.kind not in "iu":
                raise self.error("its shape is not that of a matrix")
            self.n_rows, self.width = shape.numbers(0, 2).tolist()
        if not (
            indptr.shape == (self.n_rows + 1,)
            and len(data.shape) == 1
            and data.shape == indices.shape
            and indptr.dtype.kind in "iu"
            and indices.dtype.kind in "iu"
            and 0 < self.width < 2**31
        ):
            raise self.error(_NOT_SPARSE)
        self.dtype = float_type(data.dtype, path)
        self._n_entries = data.shape[0]

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on, as CSR."""
        assert self.n_rows is not None
        with _members(self.path) as members:
            data, indices, indptr, _ = (members[name] for name in _SPARSE)
            for begin in range(start, self.n_rows, _SPARSE_BLOCK_ROWS):
                end = min(begin + _SPARSE_BLOCK_ROWS, self.n_rows)
                bounds = indptr.numbers(begin, end + 1).astype(np.int64)
                first, last = bounds[[0, -1]].tolist()
                if not (
                    0 <= first <= last <= self._n_entries
                    and (begin > 0 or first == 0)
                    and (end < self.n_rows or last == self._n_entries)
                ):
                    raise self.error(_NOT_SPARSE, row=begin + 1)
                size = (last - first) * (4 + data.dtype.itemsize)
                check_size(f"{end - begin} rows have entries of", size, self.path, begin + 1)
                values = data.numbers(first, last).astype(dtype)
                places = indices.numbers(first, last).astype(np.int64)
                yield sparse_block(values, places, bounds - first, self.width, self.columns)


class Hdf5Table(ArrayTable):
    """A two-dimensional data set of an HDF5 file; ``"file.h5::group/name"`` chooses one."""

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file."""
        import h5py

        shapes: dict[str, tuple[int, ...]] = {}

        def note(key: str, node: Any) -> None:
            # A group has no shape, and that of an empty data set is None.
            if getattr(node, "shape", None) is not None:
                shapes[key] = node.shape

        with open_file(split(self.path)[0]) as file, h5py.File(file, "r") as root:
            root.visititems(note)
            data = root[_choose(self.path, shapes)]
            if data.external or data.is_virtual:
                raise self.error("its numbers lie in other files, which are not read")
            yield data


class ZarrTable(ArrayTable):
    """A two-dimensional Zarr array; ``"folder.zarr::name"`` chooses one of a group."""

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the array."""
        import zarr

        folder, name = split(self.path)
        node: Any = zarr.open(folder, mode="r")
        if not hasattr(node, "shape"):
            shapes = {key: array.shape for key, array in sorted(node.arrays())}
            # A name may lead deeper than the arrays that are listed.
            if name is not None and "/" in name and hasattr(node[name], "shape"):
                shapes[name] = node[name].shape
            node = node[_choose(self.path, shapes)]
        yield node


def _choose(path: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """Return the name of the array to read: that in ``"file::name"``, or the only one it can be.

    Vectors beside it are labels and the like; an array of three dimensions is not passed over.
    """
    path, name = split(path)
    candidates = [key for key, shape in shapes.items() if len(shape) == 2]
    listed = ", ".join(map(repr, candidates)) or "none"
    if name is not None:
        if name in candidates:
            return name
        raise SourceError.at(f"there is no 2-D array {name!r} in it, only {listed}", file=path)
    larger = [key for key, shape in shapes.items() if len(shape) > 2]
    if len(candidates) == 1 and not larger:
        return candidates[0]
    message = f"it is not clear which of its arrays is meant: two dimensions have {listed}"
    if larger:
        message += f", more dimensions have {', '.join(map(repr, larger))}"
    raise SourceError.at(f"{message}. Choose one with '{path}::name'", file=path)
