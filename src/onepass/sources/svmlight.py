"""Files of the svmlight format: one row per line, ``label index:value index:value ... # note``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from onepass.sources import plain_text
from onepass.sources.paths import open_content
from onepass.sources.plain_text import whole_lines
from onepass.sources.tables import ReadOptions, Table

_MOST_COLUMNS = (1 << 31) - 1  # what indices of four bytes can count
_NUMBER_OR_RANGE = re.compile(r"(?:\d+-)?(\d+)", re.ASCII)  # of columns: 3 or 3-40
_INDEX, _NOTE, _ROW = re.compile(rb"(?<=\s)\d+(?=:)"), re.compile(rb"#[^\n]*"), re.compile(rb"\S")


class SvmlightTable(Table):
    """An svmlight file, plain or compressed, without its labels, as scikit-learn reads it.

    The format says neither how many columns there are nor whether they are counted from 0 or from
    1. The file is read once to find the largest index; columns are counted from 0 if the index 0
    occurs in any of the files.
    """

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path, self.n_rows = path, 0
        self.smallest, self.largest = _MOST_COLUMNS, -1
        for lines, rows in self._pieces():
            self.n_rows += len(rows)
            indices = [*map(int, _INDEX.findall(lines))]
            self.smallest = min(self.smallest, *indices, _MOST_COLUMNS)
            self.largest = max(self.largest, *indices, -1)
        if self.n_rows == 0:
            raise self.error("there are no rows")
        if not 0 <= self.largest < _MOST_COLUMNS:
            found = "no index:value" if self.largest < 0 else f"an index of {self.largest:,}"
            raise self.error(f"there is {found} in it, the limit is {_MOST_COLUMNS:,}")

    def settle(self, tables: Sequence[Table], wanted: Sequence[str | int] | None) -> None:
        """Count the columns as in the other svmlight files, and have as many as are wanted."""
        alike = [table for table in tables if isinstance(table, SvmlightTable)]
        self._base = 0 if min(table.smallest for table in alike) == 0 else 1
        self.width = max(1, max(table.largest for table in alike) + 1 - self._base)
        if self._base == 1:
            note = "columns are counted from 1, since the index 0 is not there"
            self.notes = [f"{self.path}: {note}"]
        for match in filter(None, map(_NUMBER_OR_RANGE.fullmatch, map(str, wanted or ()))):
            self.width = max(self.width, min(int(match[1]) + 1, _MOST_COLUMNS))

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on, as CSR."""
        row = 0
        for lines, rows in self._pieces():
            begin, row = row, row + len(rows)
            if row <= max(start, begin):
                continue
            try:
                block = self._parsed(lines)
            except ValueError:
                texts = lines.split(b"\n")
                for number, at in enumerate(rows, begin + 1):
                    try:
                        self._parsed(texts[at])
                    except ValueError as error:
                        shown = texts[at].decode("utf-8", "replace").strip()[:40]
                        message = f"{shown!r} is not label index:value ... ({error})"
                        raise self.error(message, number) from error
                raise
            yield block[max(start - begin, 0) :]

    def lines(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of the lines that are rows, counted from 1, some at a time."""
        line = 1
        for lines, rows in self._pieces():
            yield line + np.array(rows, dtype=np.int64)
            line += lines.count(b"\n")

    def _pieces(self) -> Iterator[tuple[bytes, list[int]]]:
        """Yield whole lines without notes, some at a time, and which of them are rows, from 0."""
        with open_content(self.path) as file:
            for lines in whole_lines(iter(partial(file.read, plain_text.BLOCK_BYTES), b"")):
                lines = _NOTE.sub(b"", lines) if b"#" in lines else lines
                rows = [at for at, line in enumerate(lines.split(b"\n")) if _ROW.search(line)]
                yield lines, rows

    def _parsed(self, lines: bytes) -> Any:
        """Return lines as a CSR array."""
        block, _ = load_svmlight_file(
            BytesIO(lines), n_features=self.width, multilabel=True, zero_based=self._base == 0
        )
        return scipy.sparse.csr_array(block)
