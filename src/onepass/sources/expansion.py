"""To how many bytes compressed data expand, found out without holding them.

Zarr and HDF5 expand a chunk to whatever size is in it, and compare that with what is declared only
then. Each function takes the bytes of a chunk and a limit beyond which nobody needs the number.
"""

from __future__ import annotations

import zlib

DEFLATE_RATIO = 1032  # the most by which gzip and zlib expand: 258 bytes take at least two bits
LZF_RATIO = 88  # 264 bytes take three
_EXPANDED_BYTES = 1 << 20  # of what is expanded, held while counting
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def of_deflate(data: bytes, limit: int) -> int:
    """Return the size of gzip or zlib streams, counted; 0 if it cannot reach the limit."""
    if len(data) * DEFLATE_RATIO <= limit:
        return 0
    size = 0
    while data and size <= limit:  # there may be several streams, one after the other
        stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # of either format
        piece = b"begin"
        while piece and size <= limit:
            piece = stream.decompress(data, _EXPANDED_BYTES)
            data = stream.unconsumed_tail
            size += len(piece)
        data = stream.unused_data
    return size


def of_zstd(data: bytes, limit: int) -> int:
    """Return the size that is written in the header of a frame (RFC 8878).

    Without one, or if anything stands before or after the frame, count: all frames are expanded.
    """
    if data[:4] != _ZSTD_MAGIC or len(data) < 5:
        return _counted(data, limit)
    flags = data[4]
    has_window, width = not flags & 32, (0 if not flags & 32 else 1, 2, 4, 8)[flags >> 6]
    at = 5 + has_window + (0, 1, 2, 4)[flags & 3]
    end = _end_of_blocks(data, at + width) + (4 if flags & 4 else 0)  # a checksum
    if width == 0 or end != len(data):
        return _counted(data, limit)
    return int.from_bytes(data[at : at + width], "little") + (256 if width == 2 else 0)


def _end_of_blocks(data: bytes, at: int) -> int:
    """Return where the blocks of a zstd frame end, of which the first begins at a place."""
    is_last = False
    while not is_last and at < len(data):
        head = int.from_bytes(data[at : at + 3], "little")
        is_last, is_repeated = bool(head & 1), head >> 1 & 3 == 1  # a single byte
        at += 3 + (1 if is_repeated else head >> 3)
    return at


def _counted(data: bytes, limit: int) -> int:
    """Return the size of zstd frames, counted up to a limit."""
    import pyarrow as pa

    size = 0
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while size <= limit and (piece := stream.read(_EXPANDED_BYTES)):
            size += len(piece)
    return size


def of_lzf(data: bytes, limit: int) -> int:
    """Return the size of LZF: runs of literals, and references to what came before.

    A byte below 32 is the length of a run; others begin with the length of a reference, which goes
    on in another byte if it is 7, and end with a byte of its distance.
    """
    at = size = 0
    while at < len(data) and size <= limit:
        head = data[at]
        length = head >> 5
        if length == 0:
            size, at = size + head + 1, at + head + 2
        elif length < 7:
            size, at = size + length + 2, at + 2
        else:
            size, at = size + 9 + int.from_bytes(data[at + 1 : at + 2]), at + 3
    return size


def of_blosc(data: bytes, limit: int) -> int:
    """Return the size that is written in the header of Blosc."""
    return int.from_bytes(data[4:8], "little")


def in_front(data: bytes, limit: int) -> int:
    """Return the size that stands in front, as numcodecs' LZ4 and HDF5's szip write it."""
    return int.from_bytes(data[:4], "little")
