"""Rows of text: csv, tsv and txt files, plain or compressed, and standard input.

pyarrow reads the rows. What it does not do is done here: to find delimiter, header and encoding in
the first rows, to notice a quotation mark that is never closed, and to say which value is not a
number.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np

from onepass.sources.base import SourceError
from onepass.sources.files.storage import StandardInput, open_content
from onepass.sources.files.table import Columns, Table

_BLOCK_BYTES = 1 << 20  # of text that pyarrow takes at once; more is slower
_SAMPLE_BYTES = 1 << 16
_ROW_LIMIT_BYTES = 1 << 26
_DELIMITERS = ",\t;| "  # in the order of preference, if there is nothing else to tell them apart
_ENCODINGS = {  # UTF-16 begins as UTF-32 does, and so comes last
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Added as a last row: it is missing at the end if a quotation mark before it is never closed.
_LAST = -7.291935e-297
_OTHER_LENGTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


class CsvTable(Table):
    """A csv file, or "-"; `header` "auto" and `delimiter` None are to be found out.

    A column is numeric if all its values in the first rows are numbers; a later text in it is an
    error. An empty value is a missing one, which is an error, too.
    """

    def __init__(self, path: str, header: bool | Literal["auto"], delimiter: str | None) -> None:
        self.one_use = path == "-"
        self.path = "standard input" if self.one_use else path
        self._input = StandardInput() if self.one_use else None
        self._rest: Iterator[bytes] | None = None
        expected = "\t" if ".tsv" in path.lower() else ","
        with self._content() as chunks:
            text, whole, self.delimiter = _sample(chunks, delimiter, expected)
            if self.one_use:
                self._rest = itertools.chain([_as_bytes(text)], chunks)
        if delimiter is None and self.delimiter != expected:
            self.notes = [f"{self.path}: values are separated by {self.delimiter!r}"]
        rows, end = _rows(text, self.delimiter, whole)
        if not rows:
            raise SourceError.at("there are no rows", file=self.path)
        is_header = self._is_header(rows) if header == "auto" else header
        self._offset = len(_as_bytes(text[:end])) if is_header else 0
        if is_header:
            self.names = rows.pop(0)
            if any(0xD800 <= ord(mark) < 0xE000 for mark in "".join(self.names)):
                raise SourceError.at("the names of its columns are not UTF-8", file=self.path)
        if not rows:
            raise SourceError.at("there is a header but there are no rows", file=self.path)
        self.width = len(rows[0])
        if self.names is not None and len(self.names) != self.width:
            raise SourceError.at(
                f"there are {self.width} values, and {len(self.names)} names in the header",
                file=self.path,
                row=1,
            )
        if self.names is not None and self.width > 1 and "" not in self.names[1:]:
            self.index = [0] if self.names[0] == "" else []
        self.not_numeric = {
            j: found for j in range(self.width) if (found := _first_text(rows, j)) is not None
        }
        last = self.delimiter.join([repr(_LAST)] * self.width)
        self._last = f"\n{last}\n".encode()
        self._block_bytes = max(_BLOCK_BYTES, 4 * len(text) // len(rows), 2 * len(self._last))

    def read(self, columns: Columns, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on."""
        import pyarrow as pa

        chosen = list(range(self.width)) if columns is None else columns.tolist()
        row, closed = 0, False
        try:
            for batch in self._batches(chosen, pa.float64()):
                if batch.num_rows == 0:
                    continue
                block = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
                closed = bool((block[-1] == _LAST).all())
                block = block[:-1] if closed else block
                begin, row = row, row + len(block)
                if row > max(start, begin):
                    yield block[max(start - begin, 0) :]
        except pa.ArrowInvalid as error:
            raise self._located(chosen, row, error) from error
        if not closed:
            raise SourceError.at("a quotation mark is never closed", file=self.path, row=row)

    def _batches(self, chosen: list[int], kind: Any) -> Iterator[Any]:
        """Yield record batches of the chosen columns, all of one type; a last row is added."""
        import pyarrow.csv

        names = [str(j) for j in range(self.width)]
        wanted = [names[j] for j in chosen]
        with self._content() as chunks:
            text = _Joined(itertools.chain(chunks, [self._last]), self._offset)
            # One thread: then pyarrow counts the rows.
            yield from pyarrow.csv.open_csv(
                text,
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=self._block_bytes, column_names=names
                ),
                pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, kind),
                    include_columns=wanted,
                    null_values=[""],
                    check_utf8=False,
                ),
            )

    @contextmanager
    def _content(self) -> Iterator[Iterator[bytes]]:
        """Open the text, as UTF-8."""
        if self._input is not None:
            yield self._rest or _chunks(self._input)
        else:
            with open_content(self.path) as file:
                yield _chunks(file)

    def stop(self) -> None:
        """Stop waiting for standard input."""
        if self._input is not None:
            self._input.stop()

    def _located(self, chosen: list[int], row: int, error: Exception) -> SourceError:
        """Return the error that names the first value that is no number, from `row` rows on."""
        import pyarrow as pa

        if match := _OTHER_LENGTH.search(str(error)):
            number, expected, found = match.groups()
            message = f"{found} values, not {expected}"
            return SourceError.at(message, file=self.path, row=int(number))
        if self.one_use:
            message = f"cannot be read on: {error}"
            return SourceError.at(message, file=self.path, row=row + 1)
        begin = 0
        try:
            for batch in self._batches(chosen, pa.binary()):
                begin, end = begin + batch.num_rows, begin
                if begin > row:
                    found = _first_not_number([column.to_pylist() for column in batch.columns])
                    if found is not None:
                        i, j, text = found
                        column = self.column(chosen[j])
                        return SourceError.at(text, file=self.path, row=end + i + 1, column=column)
        except pa.ArrowInvalid as problem:
            error = problem
        message = f"cannot be read on: {error}"
        if "straddl" in message:
            size = self._block_bytes >> 20
            message = f"a row of more than {size} MB, or a quotation mark that is never closed"
        return SourceError.at(message, file=self.path, row=row + 1)

    def _is_header(self, rows: list[list[str]]) -> bool:
        """Return whether the first row is a header; refuse one that may be, and may not."""
        first, below = rows[0], rows[1:]
        if all(_value(text) is None for text in first):
            return True
        counted = bool(below) and all(row[0] == str(i) for i, row in enumerate(below))
        if counted and first[0] == "" and "" not in first[1:]:
            return True  # pandas' index has no name, and everything else does
        if _may_be_names(first, below):
            shown = self.delimiter.join(first)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
            raise SourceError.at(
                f"the first row may be names or data: {shown!r}. Say which: header=True (--header) "
                "or header=False (--no-header)",
                file=self.path,
            )
        return False


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


def _first_not_number(columns: list[list[bytes]]) -> tuple[int, int, str] | None:
    """Return row and column of the first value that is no number, and what is wrong with it."""
    for i, values in enumerate(zip(*columns, strict=True)):
        for j, value in enumerate(values):
            text = value.decode("utf-8", "replace")
            if repr(_LAST) in text and text != repr(_LAST):
                return i, j, "a quotation mark is never closed"
            if number(text) is None:
                return i, j, f"{text[:40]!r} is not a number"
    return None


class _Joined(io.RawIOBase):
    """Chunks of bytes as a file, without the first bytes."""

    def __init__(self, chunks: Iterable[bytes], skip: int) -> None:
        self._chunks, self._left, self._skip = iter(chunks), memoryview(b""), skip

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as pyarrow wants whole blocks; return the number of bytes."""
        filled = 0
        while filled < len(buffer):
            if not self._left:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._left = memoryview(chunk)[self._skip :]
                self._skip = max(0, self._skip - len(chunk))
            count = min(len(buffer) - filled, len(self._left))
            buffer[filled : filled + count], self._left = self._left[:count], self._left[count:]
            filled += count
        return filled


def _chunks(file: Any) -> Iterator[bytes]:
    """Return the content of a file, as UTF-8 without byte order mark."""
    first = _filled(file, _SAMPLE_BYTES)
    raw = itertools.chain([first], iter(partial(_filled, file, _BLOCK_BYTES), b""))
    for mark, encoding in _ENCODINGS.items():
        if first.startswith(mark):
            # Bytes that are no UTF-8 are carried along, and refused in names only.
            errors = "surrogateescape" if mark == codecs.BOM_UTF8 else "strict"
            return map(_as_bytes, codecs.iterdecode(raw, encoding, errors))
    return raw


def _filled(file: Any, size: int) -> bytes:
    """Return the next bytes of a file, fewer only at its end."""
    pieces = []
    while size > 0 and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _as_bytes(text: str) -> bytes:
    """Return text as the bytes that it was read from."""
    return text.encode("utf-8", "surrogateescape")


def _sample(chunks: Iterator[bytes], delimiter: str | None, expected: str) -> tuple[str, bool, str]:
    """Return the text of the first rows, of two at least; whether that is all; the delimiter."""
    head, looked = b"", 0
    for chunk in chunks:
        head += chunk
        if len(head) < max(_SAMPLE_BYTES, 2 * looked):
            continue
        looked = len(head)
        text = head.decode("utf-8", "surrogateescape")
        found = delimiter or _sniff(text, False, expected)
        if len(_rows(text, found, False)[0]) >= 2:
            return text, False, found
        if len(head) > _ROW_LIMIT_BYTES:
            raise ValueError(
                f"its first rows have more than {_ROW_LIMIT_BYTES >> 20} MB, or a quotation mark "
                "is never closed"
            )
    text = head.decode("utf-8", "surrogateescape")
    return text, True, delimiter or _sniff(text, True, expected)


def _rows(text: str, delimiter: str, whole: bool) -> tuple[list[list[str]], int]:
    """Return the rows of a text, the last one only if it is whole, and where the first one ends."""
    lines = io.StringIO(text, newline="")
    rows, end = [], 0
    limit = csv.field_size_limit(len(text) + 1)
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                end = end or lines.tell()
                rows.append([field.strip() for field in row])
    finally:
        csv.field_size_limit(limit)
    return (rows if whole else rows[:-1]), end


def _sniff(text: str, whole: bool, expected: str) -> str:
    """Return the delimiter that makes most rows as long as the first, and most values numbers."""
    best, best_score = expected, (0.0, False)
    for delimiter in (expected, *_DELIMITERS.replace(expected, "")):
        rows, _ = _rows(text, delimiter, whole)
        if rows:
            cut = len(rows[0]) > 1
            # Without a delimiter 1,5 may as well be two numbers.
            value = _value if cut else number
            cells = [value(cell) is not None for row in rows[1:] or rows for cell in row]
            alike = [len(row) == len(rows[0]) for row in rows]
            score = (sum(cells) / len(cells) * sum(alike) / len(alike), cut)
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _value(text: str) -> float | None:
    """Return the number that a text is to a reader, to whom 1,5 is one, though it is not read."""
    return number(text.replace(",", ".", 1)) if text else None


def _may_be_names(first: list[str], below: list[list[str]]) -> bool:
    """Return whether a first row that has numbers may be a header.

    So it is if there is text above numbers, if its numbers are whole and all different, if they
    increase, or if they are unlike those below: whole above fractions, or far away from them.
    """

    def values(row: list[str]) -> list[float]:
        return [math.nan if (value := _value(text)) is None else value for text in row]

    row, is_text = np.array(values(first)), np.array([text != "" for text in first])
    others = np.array([values(each) for each in below if len(each) == len(first)])
    others = others.reshape(-1, len(first))
    is_number = ~np.isnan(row)
    if (is_text & ~is_number & ~np.isnan(others).all(axis=0)).any():
        return True
    row, others = row[is_number], others[:, is_number]
    row, others = np.clip(row, -1e300, 1e300), np.clip(others, -1e300, 1e300)
    whole, distinct = bool((row % 1 == 0).all()), len(set(row)) == len(row)
    if distinct and (whole or (len(row) > 1 and (np.diff(row) > 0).all())):
        return True
    if len(row) > 1 and len(set(row)) == 1:
        return False  # names would differ
    if whole and (others % 1 > 0).any():
        return True
    if len(others) < 3:
        return False
    low, high = np.fmin.reduce(others), np.fmax.reduce(others)
    reach = high - low + np.maximum(abs(low), abs(high))  # finite, as all are clipped
    return bool(((row < low - reach) | (row > high + reach)).all())


def _first_text(rows: list[list[str]], j: int) -> str | None:
    """Return what column j holds that is no number; None if there is nothing of the kind."""
    for i, row in enumerate(rows):
        if len(row) == len(rows[0]) and number(row[j]) is None:
            return f"text ({row[j][:40]!r} in row {i + 1})"
    return None
