"""Files of the svmlight format: one row per line, ``label index:value index:value ... # note``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources.base import SourceError
from onepass.sources.buffers import Buffers
from onepass.sources.files.table import Table
from onepass.sources.files.text import number, open_bytes, pieces
from onepass.sources.sparse import canonical

_NOTE = re.compile(rb"#[^\n]*")
_INDEX = re.compile(rb"(?:^|[ \t])(\d+):", re.MULTILINE)
# Lines with nothing special in them, whose numbers can be converted all at once.
_PLAIN = re.compile(rb"(?:[^\s:]++(?:[ \t]++\d++:[^\s:]++)*+[ \t\r]*+(?:\n|\Z))*+")
_MOST_COLUMNS = 1 << 27


class SvmlightTable(Table):
    """An svmlight file, plain or compressed, without its labels.

    The format says neither how many columns there are nor whether they are counted from 0 or from
    1. The file is read once to find the largest index; columns are counted from 0 if the index 0
    occurs in any of the files.
    """

    names = None

    def __init__(self, path: str) -> None:
        self.path = path
        self.n_rows = 0
        self.smallest = _MOST_COLUMNS
        self.largest = -1
        for lines in self._lines():
            self.n_rows += len(lines)
            found = [int(index) for index in _INDEX.findall(b"\n".join(lines))]
            self.smallest = min([self.smallest, *found])
            self.largest = max([self.largest, *found])
        if self.n_rows == 0:
            raise SourceError.at("there are no rows", file=path)
        if self.largest >= _MOST_COLUMNS:
            raise SourceError.at(f"an index of {self.largest} is too large", file=path)

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Count the columns as in the other svmlight files, and have as many as are wanted."""
        alike = [table for table in tables if isinstance(table, SvmlightTable)]
        self._base = 0 if min(table.smallest for table in alike) == 0 else 1
        width = max(1, max(table.largest for table in alike) + 1 - self._base)
        for column in map(str, wanted or ()):
            if column.isascii() and column.isdigit():
                width = max(width, min(int(column) + 1, _MOST_COLUMNS))
        self.numeric = np.ones(width, dtype=np.bool_)
        self.single = np.zeros(width, dtype=np.bool_)

    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[Any]:
        """Yield the rows from number `start` on, as CSR."""
        width = len(self.numeric)
        everything = np.array_equal(columns, np.arange(width))
        row = 0
        for lines in self._lines():
            begin, row = row, row + len(lines)
            if row <= max(start, begin):
                continue
            counts, indices, values = self._parse(lines, begin)
            indptr = np.concatenate([[0], np.cumsum(counts)])
            places = (indices - self._base).astype(np.int32)
            # scipy does not look, and would write outside of its memory.
            if len(places) and not (places.min() >= 0 and places.max() < width):
                raise ValueError(f"an index is not between {self._base} and {self.largest}")
            block = scipy.sparse.csr_array((values, places, indptr), shape=(len(lines), width))
            block = block[max(start - begin, 0) :].astype(buffers.dtype)
            yield canonical(block if everything else block[:, columns])

    def _lines(self) -> Iterator[list[bytes]]:
        """Yield lists of the lines that are rows, without their notes."""
        with open_bytes(self.path) as file:
            for piece in pieces(file, quoted=False):
                text = _NOTE.sub(b"", piece) if b"#" in piece else bytes(piece)
                yield [line for line in text.split(b"\n") if line and not line.isspace()]

    def _parse(
        self, lines: list[bytes], row: int
    ) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
        """Return the number of entries of each line, and all indices and values."""
        text = b"\n".join(lines)
        if not _PLAIN.fullmatch(text) or b"_" in text or not text.isascii():
            return self._parse_slowly(lines, row)
        try:
            numbers = np.array([float(token) for token in text.replace(b":", b" ").split()])
        except ValueError:
            return self._parse_slowly(lines, row)
        counts = [line.count(b":") for line in lines]
        labels = np.cumsum([0, *(2 * count + 1 for count in counts[:-1])])
        entries = np.delete(numbers, labels)
        return counts, entries[::2], entries[1::2]

    def _parse_slowly(
        self, lines: list[bytes], row: int
    ) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
        """Do the same line by line, and name what is wrong."""
        counts, indices, values = [], [], []
        for line in lines:
            row += 1
            tokens = line.decode("utf-8", errors="replace").split()
            # A row begins with a label, if it has one, and may go on with a query number.
            entries = tokens[":" not in tokens[0] :]
            entries = entries[bool(entries) and entries[0].startswith("qid:") :]
            for entry in entries:
                index, _, text = entry.partition(":")
                value = number(text) if text else None
                if not (index.isascii() and index.isdigit()) or value is None:
                    raise SourceError.at(
                        f"{entry[:40]!r} is not index:value", file=self.path, row=row
                    )
                indices.append(float(index))
                values.append(value)
            counts.append(len(entries))
        return counts, np.array(indices), np.array(values)
