"""Files of the svmlight format: one row per line, ``label index:value index:value ... # note``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onepass.sources.base import Block, take
from onepass.sources.paths import open_content
from onepass.sources.tables import ReadOptions, Table

_PIECE_CHARACTERS = 1 << 20
_ROW_LIMIT_CHARACTERS = 1 << 22  # as Python's objects a row takes forty times as many bytes
_INDEX_LIMIT = 1 << 31
_NUMBER_OR_RANGE = re.compile(r"(?:\d+-)?(\d+)", re.ASCII)  # of columns: 3 or 3-40
_INDEX = re.compile(r"(?:^|\s)(\d+):", re.ASCII)


class SvmlightTable(Table):
    """An svmlight file, plain or compressed, without its labels.

    The format says neither how many columns there are nor whether they are counted from 0 or from
    1. The file is read once to find the largest index; columns are counted from 0 if the index 0
    occurs in any of the files.
    """

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        self.n_rows = 0
        self.smallest, self.largest = _INDEX_LIMIT, -1
        for _, lines in self._lines():
            self.n_rows += len(lines)
            for line in lines:
                for index in map(int, _INDEX.findall(line)):
                    self.smallest = min(self.smallest, index)
                    self.largest = max(self.largest, index)
        if self.n_rows == 0:
            raise self.error("there are no rows")
        if self.largest < 0:
            raise self.error("there is no index:value in it")
        if self.largest >= _INDEX_LIMIT:
            limit = f"the limit is {_INDEX_LIMIT - 1:,}"
            raise self.error(f"an index of {self.largest:,} is too large, {limit}")

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Count the columns as in the other svmlight files, and have as many as are wanted."""
        alike = [table for table in tables if isinstance(table, SvmlightTable)]
        self._base = 0 if min(table.smallest for table in alike) == 0 else 1
        self.width = max(1, max(table.largest for table in alike) + 1 - self._base)
        if self._base == 1:
            self.notes = [
                f"{self.path}: columns are counted from 1, since the index 0 is not there"
            ]
        for column in map(str, wanted or ()):
            if match := _NUMBER_OR_RANGE.fullmatch(column):
                self.width = max(self.width, min(int(match[1]) + 1, _INDEX_LIMIT))

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on, as CSR."""
        row = 0
        for _, lines in self._lines():
            rest = lines[max(start - row, 0) :]
            row += len(lines)
            if rest:
                yield take(self._parse(rest, row - len(rest)), self.columns, dtype)

    def lines(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of the lines that are rows, counted from 1, some at a time."""
        for numbers, _ in self._lines():
            yield np.array(numbers, dtype=np.int64)

    def _lines(self) -> Iterator[tuple[list[int], list[str]]]:
        """Yield numbers and content of the lines that are rows, without their notes."""
        with open_content(self.path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="replace")
            rest, number = "", 1
            while piece := text.read(_PIECE_CHARACTERS):
                if not rest and not piece.strip("\n"):  # which are read a hundred times as fast
                    number += len(piece)
                    continue
                *lines, rest = (rest + piece).split("\n")
                if max(map(len, [*lines, rest])) > _ROW_LIMIT_CHARACTERS:
                    raise ValueError(f"a row of more than {_ROW_LIMIT_CHARACTERS >> 20} MB")
                rows = [given.partition("#")[0].strip() for given in lines]
                yield (
                    [number + i for i, row in enumerate(rows) if row],
                    [row for row in rows if row],
                )
                number += len(lines)
            if row := rest.partition("#")[0].strip():
                yield [number], [row]

    def _parse(self, lines: list[str], row: int) -> Any:
        """Return lines as a CSR matrix; `row` rows came before."""
        bounds, indices, values = [0], [], []
        for number, line in enumerate(lines, row + 1):
            tokens = line.split()
            # A row begins with a label, if it has one, and may go on with a query number.
            first = int(":" not in tokens[0])
            first += len(tokens) > first and tokens[first].startswith("qid:")
            for token in tokens[first:]:
                index, _, text = token.partition(":")
                try:
                    # Python would also take digits of other scripts, and underscores.
                    if not (line.isascii() and index.isdigit()) or "_" in text:
                        raise ValueError
                    values.append(float(text))
                except ValueError as error:
                    raise self.error(f"{token[:40]!r} is not index:value", row=number) from error
                indices.append(int(index) - self._base)
            if len(set(indices[bounds[-1] :])) < len(indices) - bounds[-1]:
                raise self.error("an index comes twice", row=number)
            bounds.append(len(indices))
        parts = (np.array(values, dtype=float), np.array(indices, dtype=np.int64), bounds)
        return scipy.sparse.csr_array(parts, shape=(len(lines), self.width))
