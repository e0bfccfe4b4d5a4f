"""HDF5 data sets whose chunks and texts are looked at before they are expanded.

h5py gives the bytes of a chunk as they are stored. Few chunks have to be looked at: only those that
are so large that they could expand beyond the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from onepass.sources import base, expansion

_SLACK_BYTES = 1 << 10  # by which a compressed chunk may be longer than what is in it
_FEW_TEXTS = 32  # that are read at once; each may be as long as the file
_OBJECT = np.dtype(object)  # that leads to a value of any length in memory
_LZF = 32000  # the number of h5py's own filter
_OF_FIXED_SIZE = (h5py.h5z.FILTER_NBIT, h5py.h5z.FILTER_SCALEOFFSET)


class Dataset:
    """A data set of an HDF5 file, from which slices of its first axis are read.

    Chunks are refused that are longer than what they are said to hold, or expand beyond the limit.
    """

    def __init__(self, data: h5py.Dataset, path: str) -> None:
        self._data, self._path = data, path
        self.shape, self.dtype, self.chunks = data.shape, data.dtype, data.chunks
        self._large: list[tuple[int, ...]] = []  # where chunks begin that may expand too much
        self._compressor = _compressor(data)
        # Without filters all chunks have one size. They cannot be listed with an old HDF5.
        if data.id.get_create_plist().get_nfilters() and hasattr(data.id, "chunk_iter"):
            data.id.chunk_iter(self._note)

    def stored(self) -> tuple[int, int]:
        """Return how many chunks are stored, and in how many bytes: at most those of the file."""
        n_bytes = min(self._data.id.get_storage_size(), self._data.file.id.get_filesize())
        # Without chunks, in parts of one number, there is all or nothing.
        n_all = self._data.size * (n_bytes > 0)
        return (self._data.id.get_num_chunks() if self.chunks else n_all), n_bytes

    def __getitem__(self, key: Any) -> Any:
        """Return a slice of the first axis."""
        self.check(*key.indices(self.shape[0])[:2])
        return self._data[key]

    def check(self, begin: int, end: int) -> None:
        """Refuse chunks in a slice of the first axis that expand beyond the limit."""
        for at in list(self._large):
            if at[0] < end and at[0] + self.chunks[0] > begin:
                assert self._compressor is not None
                data, stored = self._data.id.read_direct_chunk(at)[1], self.stored()[1]
                size = self._compressor[2](data, base.limit_of(stored))
                base.check_size(f"its chunk at {at} expands to", size, self._path, stored)
                self._large.remove(at)

    def _note(self, chunk: Any) -> None:
        """Refuse a chunk that is larger than what it is said to hold; note one to look at."""
        declared = math.prod(self.chunks) * self.dtype.itemsize
        if chunk.size > declared + _SLACK_BYTES + declared // 100:
            raise ValueError(
                f"a chunk of {chunk.size:,} bytes is said to hold numbers of {declared:,} bytes"
            )
        if self._compressor is None:
            return
        place, ratio, _ = self._compressor
        is_compressed = not chunk.filter_mask >> place & 1
        if is_compressed and chunk.size * ratio > base.LIMIT_BYTES:
            self._large.append(chunk.chunk_offset)


def _compressor(data: h5py.Dataset) -> tuple[int, float, Callable[[bytes, int], int]] | None:
    """Return the place of a compressor among the filters, and what `_COMPRESSORS` has of it."""
    settings = data.id.get_create_plist()
    found = []
    for place in range(settings.get_nfilters()):
        number, _, values, _ = settings.get_filter(place)
        declared = math.prod(data.chunks) * data.dtype.itemsize
        # The size that a chunk has after these is the third value times the fifth.
        if number in _OF_FIXED_SIZE and (len(values) < 5 or values[2] * values[4] > declared):
            raise ValueError("its chunks are packed to another size than they have")
        if number in _COMPRESSORS:
            found.append((place, *_COMPRESSORS[number]))
    if len(found) > 1:
        raise ValueError("its chunks are compressed more than once")
    return found[0] if found else None


# By how much a chunk can expand, and to how many bytes it does.
_COMPRESSORS: dict[int, tuple[float, Callable[[bytes, int], int]]] = {
    h5py.h5z.FILTER_DEFLATE: (expansion.DEFLATE_RATIO, expansion.of_deflate),
    h5py.h5z.FILTER_SZIP: (math.inf, expansion.in_front),
    _LZF: (expansion.LZF_RATIO, expansion.of_lzf),
}


def check_texts(data: h5py.Dataset, path: str) -> None:
    """Refuse texts that are longer together than can be stored: many may be stored as one.

    Other values of any length, as lists or within records, are refused: nobody writes them there.
    """
    if not data.dtype.hasobject:
        return
    if h5py.check_string_dtype(data.dtype) is None or len(data.shape) > 1:
        raise ValueError(f"{data.name} holds values of any length, not one text each")
    size, what = 0, f"the first texts of {data.name} take"
    for begin in range(0, len(data) if data.shape else 0, _FEW_TEXTS):
        size += sum(map(len, data[begin : begin + _FEW_TEXTS]))
        base.check_size(what, size, path, data.file.id.get_filesize())


def check_attribute(node: h5py.Group | h5py.Dataset, name: str) -> None:
    """Refuse an attribute of more texts than there are parts to name: all may be stored as one.

    An attribute is read whole. One of a table names its columns, and others are single texts.
    """
    values = node.attrs.get_id(name)
    most = max(1, len(node)) if isinstance(node, h5py.Group) else 1
    count = math.prod(values.shape or ()) * values.dtype.itemsize // _OBJECT.itemsize
    if values.dtype.hasobject and count > most:
        what = f"the attribute {name!r} of {node.name} holds"
        raise ValueError(f"{what} {count:,} values of any length, the limit is {most:,}")
