"""Text files in pieces of whole rows."""

from __future__ import annotations

import gzip
import io
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

_PIECE = 1 << 21
_LONGEST_ROW = 1 << 26


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Open a file, a compressed one, or standard input, which is called "-"."""
    if path == "-":
        yield sys.stdin.buffer
    elif path.lower().endswith(".gz"):
        with gzip.open(path, "rb") as compressed:
            yield cast(BinaryIO, compressed)
    else:
        with open(path, "rb") as file:
            yield file


def pieces(file: BinaryIO, first: bytes = b"", *, quoted: bool = True) -> Iterator[bytes]:
    """Yield the text in pieces that end where a row ends.

    Parameters
    ----------
    file : binary file
        The text.
    first : bytes
        Text that comes before it.
    quoted : bool
        Whether a line break between quotation marks does not end a row.
    """
    rest = first
    while more := file.read(_PIECE):
        rest += more
        if end := _end_of_last_row(rest) if quoted else rest.rfind(b"\n") + 1:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > _LONGEST_ROW:
            raise ValueError("a row of more than 64 MB (is a quotation mark never closed?)")
    if rest:
        yield rest


def end_of_first_row(text: bytes) -> int:
    """Return the index after the first row that is not empty, or 0 if it does not end."""
    end = 0
    while (line_break := text.find(b"\n", end)) >= 0:
        end = line_break + 1
        if text[:end].count(b'"') % 2 == 0 and text[:end].strip():
            return end
    return 0


def count_lines(piece: bytes) -> int | None:
    """Return the number of rows in a piece, if each line surely is one."""
    if b'"' in piece or b"\n\n" in piece or b"\n\r" in piece or piece[:1] in (b"\n", b"\r"):
        return None
    return piece.count(b"\n") + (not piece.endswith(b"\n"))


def _end_of_last_row(text: bytes) -> int:
    """Return the index after the last line break outside of quotation marks, or 0."""
    marks = text.count(b'"')
    end = len(text)
    while (line_break := text.rfind(b"\n", 0, end)) >= 0:
        marks -= text.count(b'"', line_break, end)
        if marks % 2 == 0:
            return line_break + 1
        end = line_break
    return 0


def as_text(piece: bytes) -> io.StringIO:
    """Return a piece as lines of text."""
    return io.StringIO(piece.decode("utf-8", errors="replace"), newline="")


def number(text: str) -> float | None:
    """Return the number that a text is, NaN if it is empty, and None if it is no number."""
    text = text.strip()
    if not text:
        return math.nan
    # Python would also take digits of other scripts, and underscores.
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None
