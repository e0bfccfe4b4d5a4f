"""Files that hold arrays: npy, npz, HDF5 and Zarr, dense, and sparse matrices in npz files."""

from __future__ import annotations

import base64
import importlib
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources import base
from onepass.sources.base import SourceError
from onepass.sources.paths import is_remote, open_file, split, suffix_of
from onepass.sources.tables import ReadOptions, Table

_SPARSE_BLOCK_ROWS = 4096
_SPARSE_BLOCK_BYTES = 1 << 24  # Sorting and checking a block takes about four times as much.
_CHUNKS_AT_ONCE = 1 << 14  # Zarr opens all chunks of a slice at once, at a few kilobytes each.
_DEPTH = 8  # of groups in a file; links may lead in circles
_SPARSE = ("data", "indices", "indptr", "shape")
# The attributes that change the meaning of numbers.
_ATTRIBUTES = (
    *("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "MATLAB_class"),
)


class ArrayTable(Table):
    """A file that holds one two-dimensional array of one type, maybe stored in chunks."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        with self.opened() as array:
            if len(array.shape) != 2 or array.shape[1] == 0:
                raise self.error(f"an array of shape {array.shape} has no rows and columns")
            self.n_rows, self.width = map(int, array.shape)
            self.dtype = base.float_type(array.dtype, path)
            self.notes = [f"{path}: {note}" for note in getattr(array, "notes", ())]

    def opened(self) -> AbstractContextManager[Any]:
        """Open the array: it has a shape and a type, and gives rows as an array or as CSR."""
        opens = {".npy": _open_npy, ".npz": _open_npz}
        return opens.get(str(suffix_of(self.path)), _open_stored)(self.path)

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield all columns of the rows from number `start` on."""
        with self.opened() as array:
            if hasattr(array, "pieces"):
                yield from array.pieces(start)
                return
            step = _rows_at_once(array)
            for begin in range(start - start % step, array.shape[0], step):
                yield array[max(begin, start) : min(begin + step, array.shape[0])]


def _rows_at_once(array: Any) -> int:
    """Return how many rows to read at once: whole chunks, so that none is expanded twice."""
    n, width = array.shape
    rows = max(1, base.READ_BYTES // (width * array.dtype.itemsize))
    chunk = getattr(array, "chunks", None)
    if chunk is None:
        return rows
    rows = min(rows, chunk[0] * max(1, _CHUNKS_AT_ONCE // -(-width // chunk[1])))
    return max(min(chunk[0], n), rows - rows % chunk[0])


class NpyArray:
    """An array in the npy format, in an open file; what is asked for is read, and no more."""

    def __init__(self, file: Any, size: int) -> None:
        reads = np.lib.format.read_array_header_2_0  # Version 3 differs in names of fields.
        if np.lib.format.read_magic(file) == (1, 0):
            reads = np.lib.format.read_array_header_1_0
        self.shape, self.in_fortran_order, self.dtype = reads(file)
        self._file, self._offset = file, file.tell()
        n_bytes = math.prod(self.shape) * self.dtype.itemsize
        if min(self.shape, default=0) < 0 or size < self._offset + n_bytes:
            raise ValueError(f"it is damaged or cut off: no array of shape {self.shape}")
        if self.dtype.hasobject:
            raise ValueError(f"contains values of type {self.dtype}, not numbers")

    def _numbers(self, begin: int, end: int) -> NDArray[Any]:
        """Return numbers in the order of the file, shape (end - begin,)."""
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


class _Forward:
    """A one-dimensional array of which slices are read from front to back, in whole chunks."""

    def __init__(self, array: Any) -> None:
        self._array, self._chunk = array, (getattr(array, "chunks", None) or (1,))[0]
        self._begin, self._held = 0, np.empty(0, array.dtype)

    def __getitem__(self, entries: slice) -> NDArray[Any]:
        """Return a slice that begins where the one before began, or later."""
        begin, end = entries.start, entries.stop
        known = self._begin + len(self._held)
        if not self._begin <= begin <= known:
            self._begin, self._held, known = begin, self._held[:0], begin
        if end > known:
            stop = min(-(-end // self._chunk) * self._chunk, self._array.shape[0])
            parts = (self._held[begin - self._begin :], self._array[known:stop])
            self._begin, self._held = begin, np.concatenate(parts)
        return self._held[begin - self._begin : end - self._begin]


class SparseArray:
    """A CSR matrix that is stored as three arrays, of which only slices are read."""

    def __init__(self, shape: tuple[int, ...], data: Any, indices: Any, indptr: Any) -> None:
        self._data, self._indices, self._indptr = data, indices, indptr
        _check(indices.dtype.kind in "iu" and indptr.dtype.kind in "iu" and len(shape) == 2)
        _check(len(data.shape) == 1 and data.shape == indices.shape and shape[1] < 2**31)
        _check(min(shape) >= 0 and indptr.shape == (shape[0] + 1,))
        self.shape, self.dtype = shape, data.dtype

    def pieces(self, start: int) -> Iterator[Any]:
        """Yield rows from a number on as CSR, not too many entries at once."""
        data, indices, indptr = map(_Forward, (self._data, self._indices, self._indptr))
        most = _SPARSE_BLOCK_BYTES // (self.dtype.itemsize + self._indices.dtype.itemsize)
        n, n_entries, row = self.shape[0], self._data.shape[0], start
        while row < n:
            bounds = indptr[row : min(row + _SPARSE_BLOCK_ROWS, n) + 1].astype(np.int64)
            fitting = int(np.searchsorted(bounds, bounds[0] + most, side="right")) - 1
            bounds = bounds[: max(1, fitting) + 1]
            end = row + len(bounds) - 1
            first, last = bounds[[0, -1]].tolist()
            _check(0 <= first <= last <= n_entries and (row > 0 or first == 0))
            _check(end < n or last == n_entries)
            places = indices[first:last].astype(np.int64)
            parts = (data[first:last], places, bounds - first)
            yield scipy.sparse.csr_array(parts, shape=(end - row, self.shape[1]))
            row = end


def _check(is_sound: bool) -> None:
    """Refuse arrays that do not belong together."""
    if not is_sound:
        raise ValueError("its arrays do not make up a sparse matrix")


class StoredArray:
    """An array of HDF5 or Zarr in the meaning that its attributes give to its numbers.

    netCDF and xarray write ``scale_factor``, ``add_offset``, and what stands for missing entries,
    which may also be the number that stands where nothing was written; MATLAB writes arrays
    transposed. `chunks` is the shape of the parts that are expanded as a whole.
    """

    def __init__(self, array: Any, attributes: Mapping[str, Any], missing: Any, chunks: Any):
        self._array, self.dtype, self.shape, self.chunks = array, array.dtype, array.shape, chunks
        self.notes: list[str] = []
        self._is_transposed = "MATLAB_class" in attributes and len(self.shape) == 2
        if self._is_transposed:
            self.shape, self.chunks = self.shape[::-1], chunks and chunks[::-1]
            self.notes.append("read transposed, as MATLAB shows it")
        self._is_unsigned = self.dtype.kind == "i" and str(attributes.get("_Unsigned")) == "true"
        if self._is_unsigned:
            self.dtype = np.dtype(f"u{self.dtype.itemsize}")
        self._missing = np.array([] if missing is None else [missing], array.dtype)
        for name in {"_FillValue", "missing_value"} & {*attributes}:
            found = _numbers(name, attributes[name], array.dtype)
            self._missing = np.append(self._missing, found)
        factor = _numbers("scale_factor", attributes.get("scale_factor", 1), np.dtype(float))
        offset = _numbers("add_offset", attributes.get("add_offset", 0), np.dtype(float))
        self._packed = float(factor[0]), float(offset[0])
        if self._packed != (1, 0) or (len(self._missing) and self.dtype.kind in "iu"):
            self.dtype = np.dtype(np.float64)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows, missing entries as NaN."""
        values = self._array[:, rows].T if self._is_transposed else self._array[rows]
        gaps = np.isin(values, self._missing) if len(self._missing) else np.False_
        if self._is_unsigned:
            values = values.view(f"u{values.dtype.itemsize}")
        values = values.astype(self.dtype, copy=False)
        if self._packed != (1, 0):
            values = values * self._packed[0] + self._packed[1]
        return np.where(gaps, self.dtype.type(np.nan), values) if gaps.any() else values


def _numbers(name: str, value: Any, dtype: np.dtype) -> NDArray[Any]:
    """Return an attribute as numbers of a type, or refuse it by name."""
    try:
        if isinstance(value, str) and dtype.kind == "f" and len(value) % 4 == 0:
            # xarray writes numbers into Zarr as base64 of a float64.
            value = np.frombuffer(base64.b64decode(value, validate=True), "<f8")
        return np.atleast_1d(np.asarray(value)).astype(dtype).reshape(-1)[:]
    except (ValueError, TypeError, OverflowError) as error:
        raise SourceError(f"its attribute {name}={value!r} cannot be applied") from error


@contextmanager
def _open_npy(path: str) -> Iterator[NpyArray]:
    """Open an npy file, which is read piece by piece and never as a whole."""
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield NpyArray(file, size)


@contextmanager
def _open_npz(path: str) -> Iterator[Any]:
    """Open one array of an npz file, or the CSR matrix that `scipy.sparse.save_npz` has written."""
    path, name = split(path)
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        members = {
            info.filename.removesuffix(".npy"): NpyArray(archive.open(info), info.file_size)
            for info in archive.infolist()
        }
        # All sparse formats of scipy, so that none is taken for a dense array.
        is_sparse = {"data", "shape", "format"} <= members.keys() or set(_SPARSE) <= members.keys()
        if name is not None or not is_sparse:
            array = members[_choose(path, name, members)]
            # Going back in what is compressed takes too long.
            yield array.whole() if array.in_fortran_order else array
            return
        form = str(members["format"].whole().astype("U")) if "format" in members else "csr"
        if form != "csr":
            raise SourceError(
                f"a sparse matrix of format {form!r}: save it as csr, "
                f"scipy.sparse.save_npz('csr.npz', scipy.sparse.load_npz({path!r}).tocsr())",
                path,
            )
        data, indices, indptr, shape = (members[name] for name in _SPARSE)
        _check(shape.dtype.kind in "iu" and shape.shape == (2,))
        yield SparseArray(tuple(shape.whole().tolist()), data, indices, indptr)


@contextmanager
def opened_root(path: str) -> Iterator[Any]:
    """Open an HDF5 file or a Zarr store."""
    path, _ = split(path)
    if suffix_of(path) == ".zarr":
        import zarr

        store = zarr.storage.FsspecStore.from_url(path, read_only=True) if is_remote(path) else path
        yield zarr.open(store, mode="r")
        return
    import h5py

    # A local file by name, so that HDF5 finds the files that it refers to.
    opened = open_file(path) if is_remote(path) else nullcontext(path)
    with opened as file, h5py.File(file, "r") as root:
        yield root


@contextmanager
def _open_stored(path: str) -> Iterator[StoredArray]:
    """Open an array of an HDF5 file or a Zarr store."""
    file, name = split(path)
    with opened_root(path) as root:
        if hasattr(root, "shape"):
            yield stored(root, file)
            return
        named = None if name is None else root.get(name)
        arrays = {str(name): named} if hasattr(named, "shape") else _arrays(root, file)
        yield stored(arrays[_choose(file, name, arrays)], file)


def _arrays(group: Any, path: str, above: str = "", depth: int = _DEPTH) -> dict[str, Any]:
    """Return the arrays in a group and in those below it, each by its first name."""
    if "pandas_type" in group.attrs:
        key = above.strip("/")
        raise SourceError(
            f"{key!r} is a table of pandas; convert it once: "
            f"pandas.read_hdf({path!r}, {key!r}).to_parquet('table.parquet')",
            path,
        )
    found: dict[str, Any] = {}
    for name in group:
        node = group.get(name)  # None for a link that leads nowhere
        if hasattr(node, "shape"):
            # MATLAB stores text as numbers. The shape of an empty data set is None.
            if node.shape is not None and _text(node.attrs.get("MATLAB_class")) != "char":
                found[f"{above}{name}"] = node
        elif node is not None and depth and not name.startswith("#"):  # MATLAB's parts of cells
            found |= _arrays(node, path, f"{above}{name}/", depth - 1)
    # Links of HDF5 lead to the same array.
    first = {getattr(node, "id", key): key for key, node in reversed(found.items())}
    return {key: found[key] for key in reversed(first.values())}


def stored(array: Any, path: str) -> StoredArray:
    """Return a data set of HDF5 or an array of Zarr as its attributes say."""
    if hasattr(array, "metadata"):
        refuse_pickles(array)
        # Of xarray; shards are read by the chunks in them.
        is_marked = array.metadata.zarr_format == 2 and "_ARRAY_DIMENSIONS" in array.attrs
        missing = array.fill_value if is_marked else None
        return StoredArray(array, array.attrs, missing, array.chunks)
    for _, file, *_ in array.virtual_sources() if array.is_virtual else ():
        found = os.path.join(os.path.dirname(path), file)
        if file != "." and "%" not in file and not (os.path.exists(file) or os.path.exists(found)):
            raise SourceError(f"its rows lie in {file!r}, which is not there", path)
    filters = _filters(array, path)
    attributes = {name: _text(array.attrs[name]) for name in _ATTRIBUTES if name in array.attrs}
    is_number = array.dtype.kind in "iuf" and array.dtype.itemsize > 1
    # What netCDF writes where nothing was written; others leave it 0.
    missing = array.fillvalue or None if "_NCProperties" in array.file.attrs and is_number else None
    # Parts of chunks that no filter has changed can be read by themselves.
    return StoredArray(array, attributes, missing, array.chunks if filters else None)


def _filters(data: Any, path: str) -> list[int]:
    """Return the numbers of the filters of a data set, after loading the plug-ins that it needs."""
    from h5py.h5z import filter_avail

    settings = data.id.get_create_plist()
    filters = [settings.get_filter(number) for number in range(settings.get_nfilters())]
    if not all(filter_avail(number) for number, *_ in filters):
        with suppress(ImportError):
            importlib.import_module("hdf5plugin")
    for number, _, _, label in filters:
        if not filter_avail(number):
            called = label.decode(errors="replace") or "a filter without a name"
            message = f"its chunks are compressed with {called} (number {number}), which HDF5 does "
            raise SourceError(f"{message}not have: pip install hdf5plugin", path)
    return [number for number, *_ in filters]


def _text(value: Any) -> Any:
    """Return an attribute with bytes as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def refuse_pickles(node: Any) -> None:
    """Refuse arrays that are pickled, which older versions of numcodecs would execute."""
    nodes = [node] if hasattr(node, "shape") else [part for _, part in node.members(_DEPTH)]
    for array in nodes:
        codecs = (*array.filters, *array.compressors) if hasattr(array, "shape") else ()
        if any("pickle" in str(codec).lower() for codec in codecs):
            raise ValueError(f"{array.name} is pickled, and reading it could execute code")


def _choose(path: str, name: str | None, arrays: dict[str, Any]) -> str:
    """Return the name of the array to read: that in ``"file::name"``, or the only one it can be.

    Vectors beside it are labels and the like; an array of three dimensions is not passed over.
    """
    dimensions = {key: len(getattr(array, "shape", ())) for key, array in arrays.items()}
    matrices = [key for key, count in dimensions.items() if count == 2]
    larger = [key for key, count in dimensions.items() if count > 2]
    if name in matrices:
        return str(name)
    if name is None and len(matrices) == 1 and not larger:
        return matrices[0]
    listed = ", ".join(map(repr, sorted(matrices))) or "none"
    if name is not None:
        raise SourceError(f"there is no 2-D array {name!r} in it, only {listed}", path)
    message = f"it is not clear which of its arrays is meant: two dimensions have {listed}"
    if larger:
        message += f", more dimensions have {', '.join(map(repr, larger))}"
    raise SourceError(f"{message}. Choose one with '{path}::name'", path)
