"""Files that hold arrays: npy, npz, HDF5 and Zarr, dense, and sparse matrices in npz files."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources import base
from onepass.sources.base import Block, SourceError, check_size
from onepass.sources.paths import open_file, split, stored_bytes, suffix_of
from onepass.sources.tables import ReadOptions, Table

_SPARSE = ("data", "indices", "indptr", "shape")
_SPARSE_BLOCK_ROWS = 4096
_SPARSE_BLOCK_BYTES = 1 << 24  # four times as many as of dense rows, of which most are zeros
_SPARSE_ENTRY_BYTES = 12  # an index and a number
# Of a block: 48 bytes each while they are sorted and checked, an index of eight bytes, a number,
# and copies of both. Four times as many as of an average block: rows may be uneven.
_SPARSE_LIMIT_ENTRIES = 4 * _SPARSE_BLOCK_BYTES // _SPARSE_ENTRY_BYTES
_PARTS_AT_ONCE = 1 << 14  # chunks that Zarr opens, each of which takes a few kilobytes
_ZIPPED_BY = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # others expand without a limit


class ArrayTable(Table):
    """A file that holds one two-dimensional array of one type, maybe stored in chunks."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        with self.opened() as array:
            self.measure(array)

    def opened(self) -> AbstractContextManager[Any]:
        """Open the array: it has a shape and a type, and gives rows as an array or as CSR."""
        return _OPENED_BY[str(suffix_of(self.path))](self.path)

    def measure(self, array: Any) -> None:
        """Note size and type of an array, after checking that it can be read in parts."""
        if len(array.shape) != 2 or array.shape[1] == 0:
            raise self.error(f"an array of shape {array.shape} has no rows and columns")
        self.n_rows, self.width = map(int, array.shape)
        self.dtype = base.float_type(array.dtype, self.path)
        if getattr(array, "format", "dense") == "csr":
            self._rows, self.column_bytes = array.rows_per_block, base.SPARSE_COLUMN_BYTES
            return
        base.check_width(self.width, self.path)
        # The parts in which it is stored, if there are any, are best read whole, if not too many
        # columns are beside them.
        chunk = stored_in(array)
        most = max(1, (base.LIMIT_BYTES >> 3) // (self.width * self.dtype.itemsize))
        self._rows = max(base.rows_per_block(self.width), min(chunk[0], most))
        if hasattr(array, "metadata"):  # of Zarr, which opens all parts at once
            beside = -(-self.width // chunk[1])
            if beside > _PARTS_AT_ONCE:
                raise self.error(f"a row is in {beside:,} chunks of shape {chunk}, which are small")
            self._rows = min(self._rows, chunk[0] * (_PARTS_AT_ONCE // beside))

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on."""
        for _, rows in self.rows(start):
            yield base.take(rows, self.columns, dtype)

    def rows(self, start: int) -> Iterator[tuple[int, Any]]:
        """Yield the number of the first one of some rows, and all columns of these rows."""
        assert self.n_rows is not None
        with self.opened() as array:
            for begin in range(start, self.n_rows, self._rows):
                yield begin, array[begin : min(begin + self._rows, self.n_rows)]


def stored_in(array: Any) -> tuple[int, ...]:
    """Return the shape of the parts in which an array is stored, single numbers if there are none.

    Parts are shards or chunks of Zarr, or chunks of HDF5.
    """
    return (
        getattr(array, "shards", None) or getattr(array, "chunks", None) or (1,) * len(array.shape)
    )


class NpyArray:
    """An array in the npy format, in an open file; what is asked for is read, and no more."""

    def __init__(self, file: Any, size: int) -> None:
        # Later versions are for headers of more than 64 kB, which may be of any length.
        if (version := np.lib.format.read_magic(file)) != (1, 0):
            raise ValueError(f"npy files of version {version} hold no plain numbers")
        header = np.lib.format.read_array_header_1_0(file)
        self.shape, self.in_fortran_order, self.dtype = header
        if min(self.shape, default=0) < 0:
            raise ValueError(f"its header is damaged: a shape of {self.shape}")
        self._file, self._offset = file, file.tell()
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        if size < self._offset + self.nbytes:
            raise ValueError("it is cut off: its array does not end in it")

    def _numbers(self, begin: int, end: int) -> NDArray[Any]:
        """Return numbers in the order of the file, shape (end - begin,)."""
        if self.dtype.hasobject:
            raise ValueError(f"contains values of type {self.dtype}, not numbers")
        array = np.empty(end - begin, dtype=self.dtype)
        self._file.seek(self._offset + begin * self.dtype.itemsize)
        if self._file.readinto(array.view(np.uint8)) < array.nbytes:
            raise EOFError("the file ends here")
        return array

    def whole(self) -> NDArray[Any]:
        """Return all of it."""
        order: Any = "F" if self.in_fortran_order else "C"
        return self._numbers(0, math.prod(self.shape)).reshape(self.shape, order=order)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows of two dimensions, shape (end - begin, width), or some of one."""
        begin, end = rows.start, rows.stop
        if len(self.shape) < 2:
            return self._numbers(begin, end)
        n, width = self.shape
        if self.in_fortran_order:
            parts = [self._numbers(j * n + begin, j * n + end) for j in range(width)]
            return np.stack(parts, axis=1)
        return self._numbers(begin * width, end * width).reshape(-1, width)


class SparseArray:
    """A CSR matrix that is stored as three arrays, of which only slices are read."""

    format = "csr"

    def __init__(
        self, path: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]
    ) -> None:
        self._path = path
        self._data, self._indices, self._indptr = self.parts = (data, indices, indptr)
        self._check(indices.dtype.kind in "iu" and indptr.dtype.kind in "iu" and len(shape) == 2)
        self._check(len(data.shape) == 1 and data.shape == indices.shape and shape[1] < 2**31)
        self._check(indptr.shape == (shape[0] + 1,) and min(shape) >= 0)
        self.shape, self.dtype = shape, data.dtype
        self._ended = (0, indptr[0:1])  # the row after the last one read, and its bound

    def _check(self, is_sound: bool) -> None:
        """Refuse arrays that do not belong together."""
        if not is_sound:
            raise ValueError("its arrays do not make up a sparse matrix")

    @property
    def rows_per_block(self) -> int:
        """A few thousand rows, fewer if they have very many entries."""
        each = _SPARSE_ENTRY_BYTES * max(1, self._data.shape[0] // max(1, self.shape[0]))
        return max(1, min(_SPARSE_BLOCK_ROWS, _SPARSE_BLOCK_BYTES // each))

    def __getitem__(self, rows: slice) -> Any:
        """Return some rows as CSR."""
        begin, end, (n_entries,) = rows.start, rows.stop, self._data.shape
        # Going back, by a single number, would start a compressed file from its beginning.
        row, bound = self._ended
        if begin == row:
            bounds = np.concatenate([bound, self._indptr[begin + 1 : end + 1]])
        else:
            bounds = self._indptr[begin : end + 1]
        self._ended = (end, bounds[-1:])
        bounds = bounds.astype(np.int64)
        first, last = bounds[[0, -1]].tolist()
        self._check(0 <= first <= last <= n_entries and (begin > 0 or first == 0))
        self._check(end < self.shape[0] or last == n_entries)
        if last - first > _SPARSE_LIMIT_ENTRIES:
            message = f"{end - begin} rows have {last - first:,} entries, the limit is "
            raise SourceError(f"{message}{_SPARSE_LIMIT_ENTRIES:,}", self._path, begin + 1)
        places = self._indices[first:last].astype(np.int64)
        parts = (self._data[first:last], places, bounds - first)
        return scipy.sparse.csr_array(parts, shape=(end - begin, self.shape[1]))


@contextmanager
def _open_npy(path: str) -> Iterator[NpyArray]:
    """Open an npy file, which is read piece by piece and never as a whole."""
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield NpyArray(file, size)


@contextmanager
def _open_npz(path: str) -> Iterator[Any]:
    """Open one array of an npz file, or the sparse matrix that its arrays make up."""
    path, name = split(path)
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        if {info.compress_type for info in archive.infolist()} - _ZIPPED_BY:
            raise ValueError("it is compressed in a way that NumPy does not write")
        members = {
            info.filename.removesuffix(".npy"): NpyArray(archive.open(info), info.file_size)
            for info in archive.infolist()
        }
        # All sparse formats of scipy, so that none is taken for a dense array.
        is_sparse = {"data", "shape", "format"} <= members.keys() or set(_SPARSE) <= members.keys()
        if is_sparse and name is None:
            yield _sparse_of(path, members)
            return
        array = members[_choose(path, name, members)]
        if array.in_fortran_order:  # going back in what is compressed takes too long
            what = "its array is in Fortran order and has to be read whole, which takes"
            remedy = "; save it in C order (numpy.ascontiguousarray)"
            check_size(what, array.nbytes, path, stored_bytes(path) or 0, remedy)
            yield array.whole()
        else:
            yield array


def _sparse_of(path: str, members: dict[str, NpyArray]) -> SparseArray:
    """Return the matrix of a file that ``scipy.sparse.save_npz`` has written, if it is CSR."""
    form: Any = "csr"
    if "format" in members:
        check_size("the name of its format takes", members["format"].nbytes, path)
        form = members["format"].whole().item()
    form = form.decode() if isinstance(form, bytes) else form
    if form != "csr":
        raise SourceError(f"a sparse matrix of format {form!r}: save it as csr", path)
    data, indices, indptr, shape = (members[name] for name in _SPARSE)
    if shape.dtype.kind not in "iu" or shape.shape != (2,):
        raise ValueError("its arrays do not make up a sparse matrix")
    return SparseArray(path, data, indices, indptr, tuple(shape.whole().tolist()))


@contextmanager
def opened_root(path: str) -> Iterator[Any]:
    """Open an HDF5 file or a Zarr store."""
    path, _ = split(path)
    if suffix_of(path) == ".zarr":
        import zarr

        yield zarr.open(path, mode="r")
    else:
        import h5py

        with open_file(path) as file, h5py.File(file, "r") as root:
            yield root


@contextmanager
def _open_hdf5(path: str) -> Iterator[Any]:
    """Open a data set of an HDF5 file."""
    path, name = split(path)
    arrays: dict[str, Any] = {}

    def note(key: str, node: Any) -> None:
        # A group has no shape, and that of an empty data set is None.
        if getattr(node, "shape", None) is not None:
            arrays[key] = node

    with opened_root(path) as root:
        root.visititems(note)
        if name is not None and name not in arrays and root.get(name) is not None:
            arrays[name] = root[name]  # a link within the file, or a path from its root
        yield arrays[_choose(path, name, arrays)]


@contextmanager
def _open_zarr(path: str) -> Iterator[Any]:
    """Open a Zarr array, or one of a group."""
    path, name = split(path)
    with opened_root(path) as node:
        if not hasattr(node, "shape"):
            arrays = dict(sorted(node.arrays()))
            # A name may lead deeper than the arrays that are listed.
            if name is not None and "/" in name and hasattr(node[name], "shape"):
                arrays[name] = node[name]
            node = arrays[_choose(path, name, arrays)]
        yield node


_OPENED_BY = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".h5": _open_hdf5,
    ".hdf5": _open_hdf5,
    ".zarr": _open_zarr,
}


def _choose(path: str, name: str | None, arrays: dict[str, Any]) -> str:
    """Return the name of the array to read: that in ``"file::name"``, or the only one it can be.

    Vectors beside it are labels and the like; an array of three dimensions is not passed over.
    """
    dimensions = {key: len(getattr(array, "shape", ())) for key, array in arrays.items()}
    candidates = [key for key, count in dimensions.items() if count == 2]
    larger = [key for key, count in dimensions.items() if count > 2]
    if name in candidates:
        return str(name)
    if name is None and len(candidates) == 1 and not larger:
        return candidates[0]
    listed = ", ".join(map(repr, candidates)) or "none"
    if name is not None:
        raise SourceError(f"there is no 2-D array {name!r} in it, only {listed}", path)
    if not candidates and not larger:
        raise SourceError("there is no array of two dimensions in it", path)
    message = f"it is not clear which of its arrays is meant: two dimensions have {listed}"
    if larger:
        message += f", more dimensions have {', '.join(map(repr, larger))}"
    raise SourceError(f"{message}. Choose one with '{path}::name'", path)
