"""How much memory the record batches of an Arrow file or stream take, before they are expanded.

pyarrow expands a compressed batch as soon as it is asked for it, to whatever size is written in
front of each buffer. `pyarrow.ipc.Message` gives the bytes of a message, but not where the buffers
in it begin, and pyarrow's memory pools have no limit. Messages are flatbuffers, and the few fields
that are read here are those of Arrow's Message.fbs and File.fbs:
https://arrow.apache.org/docs/format/Columnar.html.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError, check_size

MAGIC = b"ARROW1"
_DICTIONARY, _RECORD_BATCH = 2, 3  # kinds of messages that have buffers
_OLD_COMPRESSION = b"ARROW:experimental_compression"  # in the metadata of messages of Arrow 0.17
_CONTINUES = b"\xff" * 4  # stands before the length of each message since Arrow 0.15


class _Flat:
    """A table of a flatbuffer, whose fields are found by number."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]

    @classmethod
    def root(cls, data: bytes) -> _Flat:
        """Return the outermost table."""
        return cls(data, struct.unpack_from("<I", data)[0])

    def _place(self, field: int) -> int | None:
        """Return where a field is, None if it has its default."""
        if 4 + 2 * field >= struct.unpack_from("<H", self._data, self._fields)[0]:
            return None
        offset = struct.unpack_from("<H", self._data, self._fields + 4 + 2 * field)[0]
        return self._at + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        """Return a field that is a whole number."""
        at = self._place(field)
        return 0 if at is None else int(struct.unpack_from(f"<{kind}", self._data, at)[0])

    def _followed(self, field: int) -> int | None:
        """Return where a field leads to."""
        at = self._place(field)
        return None if at is None else at + struct.unpack_from("<I", self._data, at)[0]

    def table(self, field: int) -> _Flat | None:
        """Return a field that is a table, None if it is not there."""
        at = self._followed(field)
        return None if at is None else _Flat(self._data, at)

    def structs(self, field: int, size: int) -> NDArray[np.int64]:
        """Return a field that is a list of structs of `size` 64-bit words, shape (n, size)."""
        at = self._followed(field)
        count = 0 if at is None else struct.unpack_from("<I", self._data, at)[0]
        words = np.frombuffer(self._data, "<i8", count * size, 0 if at is None else at + 4)
        return words.reshape(count, size)


def message_places(file: Any) -> tuple[list[int], list[int]]:
    """Return where the dictionaries and the record batches of an Arrow file begin."""
    end = file.seek(0, os.SEEK_END) - len(MAGIC) - 4
    file.seek(end)
    length = struct.unpack("<i", file.read(4))[0]
    file.seek(end - length)
    footer = _Flat.root(file.read(length))
    # Each block says where a message begins, and how long its metadata and its body are.
    dictionaries, batches = (footer.structs(field, 3)[:, 0].tolist() for field in (2, 3))
    return dictionaries, batches


def check_next_batch(file: Any, path: str) -> None:
    """Check all messages of a stream up to its next record batch, and go back to where it was."""
    start = at = file.tell()
    kind = None
    while kind != _RECORD_BATCH and at is not None:
        kind, at = check_message(file, at, path)
    file.seek(start)


def check_message(file: Any, at: int, path: str) -> tuple[int | None, int | None]:
    """Refuse a message that expands too much; return its kind, and where the next one begins.

    What is not a message has no kind: it is the end, or pyarrow will say what is wrong with it.
    """
    file.seek(at)
    start = file.read(4)
    if start == _CONTINUES:
        start = file.read(4)
    length = int.from_bytes(start, "little")
    metadata = file.read(length)
    if length == 0 or len(metadata) < length:
        return None, None
    message, body = _Flat.root(metadata), file.tell()
    kind, header, stored = message.number(1, "B"), message.table(2), message.number(3, "q")
    if kind in (_DICTIONARY, _RECORD_BATCH) and _OLD_COMPRESSION in metadata:
        what = "a record batch is compressed as by Arrow 0.17, which is not read: write it again"
        raise SourceError(what, path)
    if kind == _DICTIONARY and header is not None:
        header = header.table(1)
    if kind in (_DICTIONARY, _RECORD_BATCH) and header is not None and header.table(3) is not None:
        expanded = 0
        for offset, size in header.structs(2, 2).tolist():
            if size > 8:  # the size that it expands to comes first, or -1 if it is stored as it is
                file.seek(body + offset)
                expanded += max(struct.unpack("<q", file.read(8))[0], size - 8)
        what = f"a record batch of {stored:,} bytes expands to"
        remedy = "; write smaller batches, with pyarrow write_table(table, max_chunksize=65536)"
        check_size(what, expanded, path, stored, remedy)
    return kind, body + stored
