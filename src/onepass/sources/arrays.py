"""Files that hold arrays: npy, npz, HDF5 and Zarr, dense, and sparse matrices in npz files."""

from __future__ import annotations

import math
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources import base
from onepass.sources.base import Block, SourceError, check_size
from onepass.sources.files import ReadOptions, Table
from onepass.sources.paths import is_remote, open_file, remote, split, suffix_of
from onepass.warning import OnepassWarning

_SPARSE = ("data", "indices", "indptr", "shape")
_SPARSE_BLOCK_ROWS = 4096
# No compressor shrinks numbers by more: four bytes are 128 kB of one value in Zstandard.
_LARGEST_RATIO = 1 << 15


class ArrayTable(Table):
    """A file that holds one two-dimensional array of one type, maybe stored in chunks."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        self._open = _OPENED_BY[str(suffix_of(path))]
        with self._open(path) as array:
            shape, dtype = array.shape, array.dtype
            # The parts in which it is stored, if there are any.
            chunk = getattr(array, "shards", None) or getattr(array, "chunks", None) or (1, 1)
            is_sparse = isinstance(array, _SparseArray)
            stored = _stored_parts(path, array)
        if len(shape) != 2 or shape[1] == 0:
            raise self.error(f"an array of shape {shape} has no rows and columns")
        self.n_rows, self.width = shape
        self.dtype = base.float_type(dtype, path)
        self._rows = _SPARSE_BLOCK_ROWS
        if not is_sparse:
            base.check_width(self.width, path)
            chunk_bytes = math.prod(chunk) * dtype.itemsize
            check_size(f"its chunks of shape {chunk} are too large: each takes", chunk_bytes, path)
            if stored is not None:
                self._check_stored(chunk, dtype.itemsize, *stored)
            # Chunks are best read whole, if not too many columns are beside them.
            most = max(1, (base.LIMIT_BYTES >> 3) // (self.width * dtype.itemsize))
            self._rows = max(base.rows_per_block(self.width), min(chunk[0], most))

    def _check_stored(
        self, chunk: tuple[int, ...], itemsize: int, n_parts: int, n_bytes: int
    ) -> None:
        """Refuse far more rows than can be stored, and warn of chunks that are not there."""
        shape = (self.n_rows or 0, self.width)
        declared = math.prod(shape) * itemsize
        if declared > base.LIMIT_BYTES and declared > _LARGEST_RATIO * n_bytes:
            message = f"{shape[0]:,} rows are declared, {declared >> 20:,} MB in all, and only "
            raise self.error(f"{message}{n_bytes:,} bytes are stored")
        total = math.prod(-(-length // part) for length, part in zip(shape, chunk, strict=True))
        if n_parts < total:
            warnings.warn(
                f"{self.path}: {total - n_parts:,} of {total:,} chunks are not stored, and "
                "are read as the array's fill value; they may never have been written, or be lost",
                OnepassWarning,
                stacklevel=6,  # the line that calls open_source
            )

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on."""
        assert self.n_rows is not None
        with self._open(self.path) as array:
            for begin in range(start, self.n_rows, self._rows):
                rows = array[begin : min(begin + self._rows, self.n_rows)]
                yield base.take(rows, self.columns, dtype)


class _NpyArray:
    """An array in the npy format, in an open file; what is asked for is read, and no more."""

    def __init__(self, file: Any, size: int) -> None:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"npy files of version {version} hold no plain numbers")
        read_header = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        self.shape, self.in_fortran_order, self.dtype = read_header(file)
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


class _SparseArray:
    """A CSR matrix as ``scipy.sparse.save_npz`` writes it; what is asked for is read."""

    def __init__(self, path: str, members: dict[str, _NpyArray]) -> None:
        self._path = path
        form = members["format"].numbers(0, 1).item() if "format" in members else "csr"
        form = form.decode() if isinstance(form, bytes) else form
        if form != "csr":
            raise SourceError(f"a sparse matrix of format {form!r}: save it as csr", path)
        self._data, self._indices, self._indptr, shape = (members[name] for name in _SPARSE)
        kinds = [array.dtype.kind in "iu" for array in (self._indices, self._indptr, shape)]
        self._check(all(kinds) and shape.shape == (2,) and len(self._data.shape) == 1)
        self.shape, self.dtype = tuple(shape.numbers(0, 2).tolist()), self._data.dtype
        self._check(self._indptr.shape == (self.shape[0] + 1,) and self.shape[1] < 2**31)
        self._check(self._data.shape == self._indices.shape)
        self._ended = (0, self._indptr.numbers(0, 1))  # the row after the last one read, its bound

    def _check(self, is_sound: bool) -> None:
        """Refuse arrays that do not belong together."""
        if not is_sound:
            raise ValueError("its arrays do not make up a sparse matrix")

    def __getitem__(self, rows: slice) -> Any:
        """Return some rows as CSR."""
        begin, end, (n_entries,) = rows.start, rows.stop, self._data.shape
        # Going back, by a single number, would start a compressed file from its beginning.
        row, bound = self._ended
        if begin == row:
            bounds = np.concatenate([bound, self._indptr.numbers(begin + 1, end + 1)])
        else:
            bounds = self._indptr.numbers(begin, end + 1)
        self._ended = (end, bounds[-1:])
        bounds = bounds.astype(np.int64)
        first, last = bounds[[0, -1]].tolist()
        self._check(0 <= first <= last <= n_entries and (begin > 0 or first == 0))
        self._check(end < self.shape[0] or last == n_entries)
        size = (last - first) * (4 + self.dtype.itemsize)
        check_size(f"{end - begin} rows have entries of", size, self._path, begin + 1)
        places = self._indices.numbers(first, last).astype(np.int64)
        values = self._data.numbers(first, last)
        parts = (values, places, bounds - first)
        return scipy.sparse.csr_array(parts, shape=(end - begin, self.shape[1]))


@contextmanager
def _open_npy(path: str) -> Iterator[_NpyArray]:
    """Open an npy file, which is read piece by piece and never as a whole."""
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield _NpyArray(file, size)


@contextmanager
def _open_npz(path: str) -> Iterator[Any]:
    """Open one array of an npz file, or the sparse matrix that its arrays make up."""
    path, name = split(path)
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        members = {
            info.filename.removesuffix(".npy"): _NpyArray(archive.open(info), info.file_size)
            for info in archive.infolist()
        }
        # All sparse formats of scipy, so that none is taken for a dense array.
        is_sparse = {"data", "shape", "format"} <= members.keys() or set(_SPARSE) <= members.keys()
        if is_sparse and name is None:
            yield _SparseArray(path, members)
            return
        array = members[_choose(path, name, members)]
        if array.in_fortran_order:  # going back in what is compressed takes too long
            what = "its array is in Fortran order and has to be read whole, which takes"
            check_size(what, array.nbytes, path)
            yield array.numbers(0, math.prod(array.shape)).reshape(array.shape, order="F")
        else:
            yield array


@contextmanager
def _open_hdf5(path: str) -> Iterator[Any]:
    """Open a data set of an HDF5 file."""
    import h5py

    path, name = split(path)
    arrays: dict[str, Any] = {}

    def note(key: str, node: Any) -> None:
        # A group has no shape, and that of an empty data set is None.
        if getattr(node, "shape", None) is not None:
            arrays[key] = node

    with open_file(path) as file, h5py.File(file, "r") as root:
        root.visititems(note)
        if name is not None and name not in arrays and root.get(name) is not None:
            arrays[name] = root[name]  # a link within the file, or a path from its root
        data = arrays[_choose(path, name, arrays)]
        if data.external or data.is_virtual:
            raise SourceError("its numbers lie in other files, which are not read", path)
        yield data


@contextmanager
def _open_zarr(path: str) -> Iterator[Any]:
    """Open a Zarr array, or one of a group."""
    import zarr

    from onepass.sources.zarr_store import open_store

    path, name = split(path)
    store = open_store(path)
    node: Any = zarr.open(store, mode="r")
    if not hasattr(node, "shape"):
        arrays = dict(sorted(node.arrays()))
        # A name may lead deeper than the arrays that are listed.
        if name is not None and "/" in name and hasattr(node[name], "shape"):
            arrays[name] = node[name]
        node = arrays[_choose(path, name, arrays)]
    store.check(node)
    yield node


_OPENED_BY = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".h5": _open_hdf5,
    ".hdf5": _open_hdf5,
    ".zarr": _open_zarr,
}


def _stored_parts(path: str, array: Any) -> tuple[int, int] | None:
    """Return how many chunks of an array are stored, and in how many bytes; None if all are."""
    suffix = suffix_of(path)
    if suffix in (".h5", ".hdf5"):
        n_bytes = array.id.get_storage_size()
        # Without chunks, which the caller takes for chunks of one number, there is all or nothing.
        n_parts = array.id.get_num_chunks() if array.chunks else array.size * (n_bytes > 0)
        return n_parts, n_bytes
    if suffix != ".zarr":
        return None
    from onepass.sources.zarr_store import METADATA

    folder = "/".join([split(path)[0].rstrip("/"), *filter(None, [array.path])])
    if is_remote(folder):
        system, place = remote(folder)
        sizes = {name: info["size"] for name, info in system.find(place, detail=True).items()}
    else:
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        sizes = {name: os.path.getsize(name) for name in found}
    n_parts = sum(os.path.basename(name) not in METADATA for name in sizes)
    return (n_parts, sum(sizes.values())) if sizes else None  # not all servers list what they have


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
