"""Files of the svmlight format: one row per line, ``label index:value index:value ... # note``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from onepass.sources.base import SourceError
from onepass.sources.files.csv import number
from onepass.sources.files.storage import open_content
from onepass.sources.files.table import Columns, Table
from onepass.sources.sparse import canonical

_PIECE_CHARACTERS = 1 << 21
_ROW_LIMIT_CHARACTERS = 1 << 26
_INDEX_LIMIT = 1 << 31
_INDEX = re.compile(r"(?:^|[ \t])(\d+):", re.MULTILINE | re.ASCII)
# Lines with nothing special in them, whose numbers can be converted all at once.
_PLAIN = re.compile(r"(?:[^\s:]++(?:[ \t]++[0-9]++:[^\s:]++)*+[ \t]*+(?:\n|\Z))*+")


class SvmlightTable(Table):
    """An svmlight file, plain or compressed, without its labels.

    The format says neither how many columns there are nor whether they are counted from 0 or from
    1. The file is read once to find the largest index; columns are counted from 0 if the index 0
    occurs in any of the files.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.not_numeric = {}
        self.n_rows = 0
        self.smallest, self.largest = _INDEX_LIMIT, -1
        for lines in self._lines():
            self.n_rows += len(lines)
            found = [int(index) for index in _INDEX.findall("\n".join(lines))]
            self.smallest = min([self.smallest, *found])
            self.largest = max([self.largest, *found])
        if self.n_rows == 0:
            raise SourceError.at("there are no rows", file=path)
        if self.largest >= _INDEX_LIMIT:
            message = (
                f"an index of {self.largest:,} is too large: the limit is {_INDEX_LIMIT - 1:,}"
            )
            raise SourceError.at(message, file=path)

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Count the columns as in the other svmlight files, and have as many as are wanted."""
        alike = [table for table in tables if isinstance(table, SvmlightTable)]
        self._base = 0 if min(table.smallest for table in alike) == 0 else 1
        self.width = max(1, max(table.largest for table in alike) + 1 - self._base)
        for column in map(str, wanted or ()):
            if column.isascii() and column.isdigit():
                self.width = max(self.width, min(int(column) + 1, _INDEX_LIMIT))

    def float_type(self, columns: Columns) -> np.dtype:
        """Return float64: text does not say."""
        return np.dtype(np.float64)

    def read(self, columns: Columns, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on, as CSR."""
        row = 0
        for lines in self._lines():
            begin, row = row, row + len(lines)
            if row <= max(start, begin):
                continue
            counts, entries = self._parse(lines, begin)
            places = (entries[::2] - self._base).astype(np.int64)
            # scipy does not look, and would write outside of its memory.
            if len(places) and not (places.min() >= 0 and places.max() < self.width):
                raise ValueError(f"an index is not between {self._base} and {self.largest}")
            block = scipy.sparse.csr_array(
                (entries[1::2], places.astype(np.int32), np.concatenate([[0], np.cumsum(counts)])),
                shape=(len(lines), self.width),
            )[max(start - begin, 0) :].astype(dtype)
            yield canonical(block if columns is None else block[:, columns])

    def _lines(self) -> Iterator[list[str]]:
        """Yield lists of the lines that are rows, without their notes."""
        with open_content(self.path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="replace")
            rest = ""
            while piece := text.read(_PIECE_CHARACTERS):
                *lines, rest = (rest + piece).split("\n")
                if len(rest) > _ROW_LIMIT_CHARACTERS:
                    raise ValueError(f"a row of more than {_ROW_LIMIT_CHARACTERS >> 20} MB")
                yield [line for given in lines if (line := given.partition("#")[0].strip())]
            if line := rest.partition("#")[0].strip():
                yield [line]

    def _parse(self, lines: list[str], row: int) -> tuple[list[int], Any]:
        """Return the number of entries of each line, and all indices and values in turn."""
        text = "\n".join(lines)
        if text.isascii() and "_" not in text and _PLAIN.fullmatch(text):
            try:
                numbers = np.array([float(token) for token in text.replace(":", " ").split()])
            except ValueError:
                return self._parse_slowly(lines, row)
            counts = [line.count(":") for line in lines]
            labels = np.cumsum([0, *(2 * count + 1 for count in counts[:-1])])
            return counts, np.delete(numbers, labels)
        return self._parse_slowly(lines, row)

    def _parse_slowly(self, lines: list[str], row: int) -> tuple[list[int], Any]:
        """Do the same line by line, and name what is wrong."""
        counts, entries = [], []
        for line in lines:
            row += 1
            tokens = line.split()
            # A row begins with a label, if it has one, and may go on with a query number.
            tokens = tokens[":" not in tokens[0] :]
            tokens = tokens[bool(tokens) and tokens[0].startswith("qid:") :]
            for token in tokens:
                index, _, text = token.partition(":")
                value = number(text) if text else None
                if not (index.isascii() and index.isdigit()) or value is None:
                    message = f"{token[:40]!r} is not index:value"
                    raise SourceError.at(message, file=self.path, row=row)
                entries += [float(index), value]
            counts.append(len(tokens))
        return counts, np.array(entries)
