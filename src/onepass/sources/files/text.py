"""Text files in pieces of whole rows."""

from __future__ import annotations

import gzip
import io
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias, cast

Text: TypeAlias = bytes | bytearray

_PIECE = 1 << 21
_LONGEST_ROW = 1 << 26


@contextmanager
def open_bytes(path: str) -> Iterator[io.BufferedIOBase]:
    """Open a file, a compressed one, or standard input, which is called "-"."""
    if path == "-":
        yield cast(io.BufferedIOBase, sys.stdin.buffer)
    elif path.lower().endswith(".gz"):
        with gzip.open(path, "rb") as compressed:
            yield compressed
    else:
        with open(path, "rb") as file:
            yield file


def pieces(
    file: io.BufferedIOBase, first: bytes = b"", *, quoted: bool = True
) -> Iterator[bytearray]:
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
    rest = bytearray(first)
    while True:
        # Read where it stays: a copy would keep other threads waiting.
        piece = bytearray(len(rest) + _PIECE)
        piece[: len(rest)] = rest
        with memoryview(piece) as whole, whole[len(rest) :] as room:
            more = file.readinto(room)
        del piece[len(rest) + more :]
        if not more:
            break
        if end := _end_of_last_row(piece) if quoted else piece.rfind(b"\n") + 1:
            rest = piece[end:]
            del piece[end:]
            yield piece
        elif len(piece) > _LONGEST_ROW:
            raise ValueError("a row of more than 64 MB (is a quotation mark never closed?)")
        else:
            rest = piece
    if rest:
        yield rest


def end_of_first_row(text: Text) -> int:
    """Return the index after the first row that is not empty, or 0 if it does not end."""
    end = 0
    while (line_break := text.find(b"\n", end)) >= 0:
        end = line_break + 1
        if text[:end].count(b'"') % 2 == 0 and text[:end].strip():
            return end
    return 0


def count_lines(piece: Text) -> int | None:
    """Return the number of rows in a piece, if each line surely is one."""
    if b'"' in piece or b"\n\n" in piece or b"\n\r" in piece or piece[:1] in (b"\n", b"\r"):
        return None
    return piece.count(b"\n") + (not piece.endswith(b"\n"))


def _end_of_last_row(text: Text) -> int:
    """Return the index after the last line break outside of quotation marks, or 0."""
    if b'"' not in text:  # many times quicker than counting
        return text.rfind(b"\n") + 1
    marks = text.count(b'"')
    end = len(text)
    while (line_break := text.rfind(b"\n", 0, end)) >= 0:
        marks -= text.count(b'"', line_break, end)
        if marks % 2 == 0:
            return line_break + 1
        end = line_break
    return 0


def as_text(piece: Text) -> io.StringIO:
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
