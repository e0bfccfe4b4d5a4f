"""HDF5 data sets whose chunks and texts are looked at before they are expanded.

HDF5 expands a chunk to whatever size is in it, and compares it with the declared size of chunks
only then. h5py gives the bytes of a chunk as they are stored. Few chunks have to be looked at:
only those that are so large that they could expand beyond the limit.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import h5py

from onepass.sources import base

_SLACK_BYTES = 1 << 10  # by which a compressed chunk may be longer than what is in it
_PIECE_BYTES = 1 << 20  # of an expanded chunk that are held while counting them
_FEW_TEXTS = 32  # that are read at once; each may be as long as the file
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
        # Chunks cannot be listed with an old HDF5.
        if self._compressor is not None and hasattr(data.id, "chunk_iter"):
            data.id.chunk_iter(partial(self._note, *self._compressor[:2]))

    def stored(self) -> tuple[int, int]:
        """Return how many chunks are stored, and in how many bytes."""
        n_bytes = self._data.id.get_storage_size()
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
                size = self._compressor[2](self._data.id.read_direct_chunk(at)[1])
                base.check_size(f"its chunk at {at} expands to", size, self._path)
                self._large.remove(at)

    def _note(self, place: int, ratio: float, chunk: Any) -> None:
        """Refuse a chunk that is larger than what it is said to hold; note one to look at."""
        declared = math.prod(self.chunks) * self.dtype.itemsize
        if chunk.size > declared + _SLACK_BYTES + declared // 100:
            raise ValueError(
                f"a chunk of {chunk.size:,} bytes is said to hold numbers of {declared:,} bytes"
            )
        is_compressed = not chunk.filter_mask >> place & 1
        if is_compressed and chunk.size * ratio > base.LIMIT_BYTES:
            self._large.append(chunk.chunk_offset)


def _compressor(data: h5py.Dataset) -> tuple[int, float, Callable[[bytes], int]] | None:
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


def _by_inflating(data: bytes) -> int:
    """Return how many bytes a zlib stream expands to, counted up to the limit."""
    size, stream = 0, zlib.decompressobj()
    while size <= base.LIMIT_BYTES and (piece := stream.decompress(data, _PIECE_BYTES)):
        size, data = size + len(piece), stream.unconsumed_tail
    return size


def _by_lzf(data: bytes) -> int:
    """Return how many bytes LZF expands to: runs of literals, and references to what came before.

    A byte below 32 is the length of a run; others begin with the length of a reference, which goes
    on in another byte if it is 7, and end with a byte of its distance.
    """
    at = size = 0
    while at < len(data):
        head = data[at]
        length = head >> 5
        if length == 0:
            size, at = size + head + 1, at + head + 2
        elif length < 7:
            size, at = size + length + 2, at + 2
        else:
            size, at = size + 9 + int.from_bytes(data[at + 1 : at + 2]), at + 3
    return size


# By how much a chunk can expand, and to how many bytes it does. gzip: a match of 258 bytes takes at
# least two bits. LZF: 264 bytes take three. szip writes the size in front.
_COMPRESSORS: dict[int, tuple[float, Callable[[bytes], int]]] = {
    h5py.h5z.FILTER_DEFLATE: (1032, _by_inflating),
    h5py.h5z.FILTER_SZIP: (math.inf, lambda data: int.from_bytes(data[:4], "little")),
    _LZF: (88, _by_lzf),
}


def check_texts(data: h5py.Dataset, path: str) -> None:
    """Refuse texts that are longer together than can be stored: many may be stored as one."""
    if h5py.check_string_dtype(data.dtype) is None or data.dtype.kind != "O":
        return
    size, limit = 0, max(base.LIMIT_BYTES, base.HONEST_RATIO * data.file.id.get_filesize())
    for begin in range(0, len(data) if data.shape else 0, _FEW_TEXTS):
        size += sum(map(len, data[begin : begin + _FEW_TEXTS]))
        if size > limit:
            raise base.SourceError(
                f"the texts of {data.name} take more than {size >> 20:,} MB", path
            )
