"""Files of comma-separated values, plain, compressed, or from standard input."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.buffers import Buffers
from onepass.sources.files import csv_parsing
from onepass.sources.files.table import Table
from onepass.sources.files.text import (
    Text,
    as_text,
    count_lines,
    end_of_first_row,
    number,
    open_bytes,
    pieces,
)

_SAMPLE = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class CsvTable(Table):
    """A csv file; the separator is a comma, a semicolon or a tab, whichever the first line has.

    The first line is a header if none of it is a number. A column is numeric if its first value is
    a number; a later text in it is an error.
    """

    n_rows = None

    def __init__(self, path: str) -> None:
        self.path = "standard input" if path == "-" else path
        self._file = path
        self.one_use = path == "-"
        with open_bytes(path) as file:
            self._head = _sample(file)
        text = self._head.removeprefix(_BYTE_ORDER_MARK)
        end = end_of_first_row(text) or len(text)
        self.separator = max(",;\t", key=lambda mark: text[:end].count(mark.encode()))
        rows = [row for row in csv.reader(as_text(text), delimiter=self.separator) if row]
        if not rows:
            raise SourceError.at("there are no rows", file=self.path)
        self.names = self._header(rows)
        self._offset = len(self._head) - len(text) + (0 if self.names is None else end)
        rows = rows if self.names is None else rows[1:]
        if not rows:
            raise SourceError.at("there is a header but there are no rows", file=self.path)
        self._examples = [_first(rows, j) for j in range(len(rows[0]))]
        self.numeric = np.array([number(text) is not None for text in self._examples])
        self.single = np.zeros(len(self.numeric), dtype=np.bool_)
        if self.names is not None and len(self.names) != len(self.numeric):
            raise SourceError.at(
                f"there are {len(self.numeric)} values, and {len(self.names)} names in the header",
                file=self.path,
                row=1,
            )
        if not self.one_use:
            self._head = b""

    def why_not_numeric(self, index: int) -> str:
        """Return what a column that is not numeric holds."""
        return f"text such as {self._examples[index][:40]!r}"

    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        with open_bytes(self._file) as file:
            if self.one_use:
                text = pieces(file, self._head[self._offset :])
            else:
                file.read(self._offset)
                text = pieces(file)
            row = 0
            for piece in text:
                begin = row
                if start > begin:
                    row += self._count(piece)
                    if row <= start:
                        continue
                block = csv_parsing.parse(piece, self, columns, begin)
                row = begin + len(block)
                if row > max(start, begin):
                    yield block[max(start - begin, 0) :]

    def _header(self, rows: list[list[str]]) -> list[str] | None:
        """Return the names in the first line, if it is a header."""
        kinds = [_kind(text) for text in rows[0]]
        if "text" not in kinds:
            return None
        if "number" not in kinds:
            return [text.strip() for text in rows[0]]
        below = rows[1] if len(rows) > 1 else []
        for text, kind, next_text in zip(rows[0], kinds, below, strict=False):
            if kind == "text" and _kind(next_text) == "number":
                raise SourceError.at(
                    f"the first line is neither a header nor a row: it has numbers, and "
                    f"{text[:40]!r} where the next line has {next_text[:40]!r}",
                    file=self.path,
                )
        return None

    def _count(self, piece: Text) -> int:
        """Return the number of rows in a piece."""
        lines = count_lines(piece)
        if lines is not None:
            return lines
        return sum(bool(row) for row in csv.reader(as_text(piece), delimiter=self.separator))


def _sample(file: io.BufferedIOBase) -> bytes:
    """Return the beginning of a file, with at least two rows if there are two."""
    head = b""
    while more := file.read(_SAMPLE):
        head += more
        first = end_of_first_row(head)
        if first and end_of_first_row(head[first:]):
            break
    return head


def _kind(text: str) -> str:
    """Return whether a value is a number, text or nothing."""
    if not text.strip():
        return "nothing"
    return "text" if number(text) is None else "number"


def _first(rows: list[list[str]], j: int) -> str:
    """Return the first value of a column that is not empty."""
    return next((row[j] for row in rows if j < len(row) and row[j].strip()), "")
