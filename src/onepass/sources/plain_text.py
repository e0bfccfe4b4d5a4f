"""A file of text, or standard input, as UTF-8 without what is no row."""

from __future__ import annotations

import codecs
import itertools
import os
import re
import select
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from onepass.sources.tables import ReadOptions

BLOCK_BYTES = 1 << 20  # of text that pyarrow takes at once; more is slower
LONGEST_LINE_BYTES = 1 << 26  # that is held to look for its end: longer rows are never read
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ")  # how such files begin
_ENCODINGS = {  # UTF-16 begins as UTF-32 does, and so comes last
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BLANKS = re.compile(rb"[ \t]*\t[ \t]*|  +")
_OUTER_BLANKS = re.compile(rb"(?:\A|(?<=[\r\n])) | (?=[\r\n]|\Z)")
_EXCEL_SEPARATOR = re.compile(rb'"?sep=([!-~\t ])"?(?:\r|\n)', re.IGNORECASE)


class StandardInput:
    """Standard input; another thread can end a wait for what never comes by setting `stopped`."""

    def __init__(self) -> None:
        # Not buffered: a thread that is left in a buffered file keeps the program from ending.
        self._file = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        self._can_wait = os.name != "nt" and self._file is not sys.stdin.buffer
        self.stopped = threading.Event()

    def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end or when it was stopped."""
        while not self.stopped.is_set():
            if not self._can_wait or select.select([self._file], [], [], 0.1)[0]:
                return bytes(self._file.read(size))
        return b""


class Text:
    """A file as UTF-8 without byte order mark and lines that are no rows; pyarrow reads from it.

    Comments are empty lines in it, so that lines have the numbers that an editor shows.
    """

    closed = False

    def __init__(self, file: Any, options: ReadOptions) -> None:
        self._ready = b""
        self.chunks = iter(partial(file.read, BLOCK_BYTES), b"")
        start = self.peek(5)
        if start.startswith(_COMPRESSED):
            message = "it is compressed, and its name does not end in .gz, .bz2, .xz or .zst"
            raise ValueError(message)
        marked = [name for mark, name in _ENCODINGS.items() if start.startswith(mark)]
        encoding = marked[0] if marked else options.encoding
        if start.startswith(codecs.BOM_UTF8):
            self.read(len(codecs.BOM_UTF8))
        elif encoding is not None:
            text = codecs.iterdecode(self._rest(), encoding)
            self.chunks = codecs.iterencode(text, "utf-8")
        if options.skip_lines:
            self._drop_lines(options.skip_lines)
        self.first_line = 1 + options.skip_lines
        self.separator: str | None = None
        if match := _EXCEL_SEPARATOR.match(self.peek(10)):
            self.separator = match[1].decode()
            self._drop_lines(1)
            self.first_line += 1
        if options.comment is not None:
            mark = re.escape(options.comment.encode())
            comment = re.compile(rb"(?:\A|(?<=[\r\n]))[ \t]*" + mark + rb"[^\r\n]*")
            self.chunks = (comment.sub(b"", lines) for lines in whole_lines(self._rest()))

    def _rest(self) -> Iterator[bytes]:
        """Return the bytes that are not read yet, to be replaced by others."""
        rest, self._ready = itertools.chain([self._ready], self.chunks), b""
        return rest

    def squeeze_blanks(self) -> None:
        """Make one blank of several, and none of those at either end of a line."""
        self.chunks = map(squeezed, whole_lines(self._rest()))

    def _drop_lines(self, count: int) -> None:
        """Read the next lines, which are not used."""
        chunks = whole_lines(self._rest())
        for chunk in chunks:
            lines = chunk.splitlines(keepends=True)
            if len(lines) > count:
                self.chunks = itertools.chain([b"".join(lines[count:])], chunks)
                return
            count -= len(lines)

    def peek(self, size: int) -> bytes:
        """Return the next bytes, fewer only at the end, and leave them there."""
        while len(self._ready) < size and (chunk := next(self.chunks, b"")):
            self._ready += chunk
        return self._ready[:size]

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer only at the end: pyarrow wants whole blocks."""
        taken = self.peek(size)
        self._ready = self._ready[size:]
        return taken


def whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield chunks that end where a line does; refuse a line that is far too long to be a row."""
    rest = b""
    for chunk in chunks:
        rest += chunk
        if len(rest) > LONGEST_LINE_BYTES:
            raise ValueError(f"a line of more than {LONGEST_LINE_BYTES >> 20} MB")
        # A \r at the end may go on with \n.
        end = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def squeezed(lines: bytes) -> bytes:
    """Return whole lines with one blank between values, and none around them."""
    return _OUTER_BLANKS.sub(b"", _BLANKS.sub(b" ", lines))
