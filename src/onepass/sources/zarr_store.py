"""A Zarr store whose chunks are looked at before they are expanded."""

from __future__ import annotations

import math
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from zarr.abc.store import RangeByteRequest
from zarr.storage import FsspecStore, LocalStore, WrapperStore

from onepass.sources import base, expansion
from onepass.sources.paths import is_remote

# Filters may make an array larger before it is compressed, float32 to float64 and the like.
_FILTER_RATIO = 8
_LEAST_BYTES = 1 << 20  # that a chunk may take without having to be explained
_NOT_STORED = 2**64 - 1  # as offset in the index of a shard
_CHECKSUM_BYTES = 4  # of the index of a shard, at its end
METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")  # keys that are no chunks


def open_store(path: str) -> CheckedStore:
    """Return the store of a path, local or with a scheme."""
    if is_remote(path):
        return CheckedStore(FsspecStore.from_url(path, read_only=True))
    return CheckedStore(LocalStore(path, read_only=True))


class CheckedStore(WrapperStore[Any]):
    """A store that refuses chunks which expand to much more than is declared."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self._arrays: list[_Chunks] = []

    def check(self, array: Any) -> None:
        """Check the chunks of an array of the store from now on."""
        self._arrays.append(_Chunks(array))

    def check_all(self, node: Any, seen: set[str] | None = None) -> None:
        """Check the chunks of an array, or of all arrays in a group.

        No folder that was seen may come again: links may make more paths than can be followed.
        """
        if hasattr(node, "shape"):
            self.check(node)
            return
        place, seen = node.path, set() if seen is None else seen
        if isinstance(self._store, LocalStore):
            place = os.path.realpath(os.path.join(self._store.root, place))
        if place in seen:
            raise ValueError(f"the group {node.path} is linked more than once")
        seen.add(place)
        for _, array in node.arrays():
            self.check(array)
        for _, group in node.groups():
            self.check_all(group, seen)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return what is stored under a key, or a part of it, as `zarr.abc.store.Store` says."""
        if isinstance(self._store, LocalStore):
            _check_regular(os.path.join(self._store.root, key), key)
        data = await super().get(key, prototype, byte_range)
        if data is not None and key.rpartition("/")[2] not in METADATA:
            for array in self._arrays:
                array.check(key, data, byte_range)
        return data


def _check_regular(path: str, key: str) -> None:
    """Refuse a pipe, which is waited for, and a device, which may never end."""
    with suppress(FileNotFoundError, NotADirectoryError):  # of a chunk that is not stored
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ValueError(f"{key} is not a file, but a pipe or a device")


class _Chunks:
    """How the chunks of an array are stored, and to how much they may expand."""

    def __init__(self, array: Any) -> None:
        self._prefix, self._shape = f"{array.path}/" if array.path else "", array.chunks
        declared = math.prod(array.chunks) * array.dtype.itemsize
        self._limit = max(_LEAST_BYTES, _FILTER_RATIO * declared)
        self._is_text = array.dtype.kind not in "biufc"  # of any length
        self._texts = 0  # bytes of text that were read
        names = [_name(codec) for codec in (*array.filters, *array.compressors)]
        for name in names:
            if name not in _EXPANDED and name not in _FILTERS:
                raise ValueError(f"its chunks are encoded with {name}, which is not read{_REMEDY}")
        known = [name for name in names if name in _EXPANDED]
        if len(known) > 1:
            raise ValueError(f"its chunks are compressed more than once: {', '.join(known)}")
        self._expanded = _EXPANDED[known[0]] if known else None
        self._index: tuple[str, int] | None = None  # where that of a shard is, and how long
        if array.shards is not None:
            (shard,) = array.metadata.to_dict()["codecs"]
            settings = shard["configuration"]
            if [codec["name"] for codec in settings["index_codecs"]] != ["bytes", "crc32c"]:
                raise ValueError("its shards are indexed in a way that is not read")
            count = math.prod(array.shards) // math.prod(array.chunks)
            # An offset and a length of 64 bits for each chunk.
            length = 16 * count + _CHECKSUM_BYTES
            self._index = (settings.get("index_location", "end"), length)

    def check(self, key: str, data: Any, byte_range: Any) -> None:
        """Refuse what is stored under a key of the array if it expands too much."""
        if self._expanded is None or not key.startswith(self._prefix):
            return
        for chunk in self._chunks(data.to_bytes(), byte_range):
            limit = self._limit
            if self._is_text:
                limit = max(base.LIMIT_BYTES - self._texts, base.HONEST_RATIO * len(chunk))
            size = self._expanded(chunk, limit)
            self._texts += size
            if size > limit:
                chunks = f"chunks of shape {self._shape} are declared"
                raise ValueError(f"the chunk {key} expands to {size >> 20:,} MB, and {chunks}")

    def _chunks(self, data: bytes, byte_range: Any) -> Iterator[bytes]:
        """Yield the chunks in a part of the store: one, or those of a shard."""
        if self._index is None:
            yield data
            return
        location, length = self._index
        if byte_range is None:
            index = data[:length] if location == "start" else data[-length:]
            for offset, size in struct.iter_unpack("<QQ", index[:-_CHECKSUM_BYTES]):
                if offset != _NOT_STORED:
                    yield data[offset : offset + size]
        elif isinstance(byte_range, RangeByteRequest) and (location == "end" or byte_range.start):
            yield data


def _name(codec: Any) -> str:
    """Return what a codec is called, one of Zarr or, in stores of version 2, of numcodecs."""
    if hasattr(codec, "codec_id"):
        return str(codec.codec_id)
    return str(codec.to_dict()["name"]).removeprefix("numcodecs.")


# What keeps its size, nearly, and checksums. Others may expand to any size, as bz2 does, or execute
# code, as pickle does.
_FILTERS = (
    *("astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"),
    *("transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
    *("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"),
)
_REMEDY = ": write it with zstd, blosc, lz4, gzip or zlib"
# What a chunk expands to, by compressor: those that Zarr's implementations write by default.
_EXPANDED: dict[str, Callable[[bytes, int], int]] = {
    "zstd": expansion.of_zstd,
    "gzip": expansion.of_deflate,
    "zlib": expansion.of_deflate,
    "blosc": expansion.of_blosc,
    "lz4": expansion.in_front,
}
