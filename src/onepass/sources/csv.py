"""Rows of text: csv, tsv and txt files, plain or compressed, and standard input.

pyarrow reads the rows. What it does not do is done here: to find delimiter, header and encoding in
the first rows, and to notice a quotation mark that is never closed.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import math
import os
import re
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from onepass.sources.base import Block, SourceError
from onepass.sources.files import ReadOptions, Table
from onepass.sources.paths import open_content, suffix_of

_BLOCK_BYTES = 1 << 20  # of text that pyarrow takes at once; more is slower
_SAMPLE_BYTES = 1 << 16
_ROW_LIMIT_BYTES = 1 << 24
_MOST_COLUMNS = 1 << 18  # pyarrow takes about 5 kB for each
_MISSING = {"", "-", "?", "na", "n/a", "#n/a", "nan", "nil", "null", "none"}  # in small letters
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd")  # how gz, bz2 and zst files begin
_DELIMITERS = ",\t;| "  # in the order of preference, if there is nothing else to tell them apart
_ENCODINGS = {  # UTF-16 begins as UTF-32 does, and so comes last
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Added as a last row: it is missing at the end if a quotation mark before it is never closed.
_LAST = -7.291935e-297
# What pyarrow says of rows, which it counts from 1.
_OTHER_LENGTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*?invalid value '(.*)'", re.DOTALL)


class CsvTable(Table):
    """A csv file, or "-"; `header` "auto" and `delimiter` None are to be found out.

    A column is numeric if all its values in the first rows are numbers; a later text in it is an
    error. An empty value is a missing one, which is an error, too.
    """

    takes = ("header", "delimiter")

    def __init__(self, path: str, options: ReadOptions) -> None:
        header, delimiter = options.header, options.delimiter
        self.path = "standard input" if path == "-" else path
        self._input = _StandardInput() if path == "-" else None
        self._input_text = None if self._input is None else _Text(self._input)
        self._is_used_up = False
        expected = "\t" if suffix_of(path) == ".tsv" else ","
        with self._text() as text:
            rows, header_bytes, self.delimiter = _sample(text, delimiter, expected)
        if delimiter is None and self.delimiter != expected:
            self.notes = [f"{self.path}: values are separated by {self.delimiter!r}"]
        if not rows:
            raise self.error("there are no rows")
        is_header = self._is_header(rows) if header == "auto" else header
        self._header_bytes = header_bytes if is_header else 0
        if is_header:
            self.names = rows.pop(0)
            if any(0xD800 <= ord(mark) < 0xE000 for mark in "".join(self.names)):
                raise self.error("the names of its columns are not UTF-8")
        if not rows:
            raise self.error("there is a header but there are no rows")
        self.width = len(rows[0])
        if self.width > _MOST_COLUMNS:
            message = f"{self.width:,} columns are too many for a file of text, the limit is "
            raise self.error(f"{message}{_MOST_COLUMNS:,}: write it as npy or parquet")
        if self.names is not None and len(self.names) != self.width:
            message = f"there are {self.width} values, and {len(self.names)} names in the header"
            raise self.error(message, row=1)
        if self.names is not None and self.width > 1 and "" not in self.names[1:]:
            self.index = [0] if self.names[0] == "" else []
        texts = {j: _first_text(rows, j, is_header) for j in range(self.width)}
        self.not_numeric = {j: found for j, found in texts.items() if found is not None}
        if delimiter is not None and self.width == 1 and self.not_numeric:
            raise self.error(f"the delimiter {delimiter!r} separates nothing in its first rows")
        self._last = "\n" + self.delimiter.join([repr(_LAST)] * self.width) + "\n"
        longest = max(sum(map(len, row)) + 3 * len(row) for row in rows)  # with quotation marks
        self._block_bytes = max(_BLOCK_BYTES, 4 * longest, 2 * len(self._last))

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on, in full blocks, which cost learning less."""
        if self._is_used_up:
            raise self.error("it can be read only once")
        self._is_used_up = self._input is not None
        waiting = np.empty((0, len(self.chosen())))
        row, closed = 0, False
        try:
            for batch in self._batches([str(j) for j in self.chosen()]):
                if batch.num_rows == 0:
                    continue
                rows = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
                closed = bool((rows[-1] == _LAST).all())
                rows = rows[:-1] if closed else rows
                waiting = np.concatenate([waiting, rows[max(start - row, 0) :]])
                row += len(rows)
                full = len(waiting) // block_rows * block_rows
                if full:
                    yield waiting[:full]
                    waiting = waiting[full:]
        except pa.ArrowInvalid as error:
            raise self._located(error, row) from error
        if not closed:
            raise self.error("a quotation mark is never closed", row=row)
        if len(waiting):
            yield waiting

    def _batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of columns, which are called by their numbers; a row is added."""
        names = [str(j) for j in range(self.width)]
        # One thread: then pyarrow counts the rows.
        reading = pa.csv.ReadOptions(
            use_threads=False, block_size=self._block_bytes, column_names=names
        )
        parsing = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        converting = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.float64()),
            include_columns=wanted,
            null_values=[""],
            check_utf8=False,
        )
        with self._text() as text:
            text.read(self._header_bytes)
            text.chunks = itertools.chain(text.chunks, [self._last.encode()])
            yield from pa.csv.open_csv(text, reading, parsing, converting)

    @contextmanager
    def _text(self) -> Iterator[_Text]:
        """Open the text, or go on with standard input."""
        if self._input_text is not None:
            yield self._input_text
        else:
            with open_content(self.path) as file:
                yield _Text(file)

    def stop(self) -> None:
        """Stop waiting for standard input."""
        if self._input is not None:
            self._input.stopped.set()

    def _located(self, error: Exception, row: int) -> SourceError:
        """Return the error that says where pyarrow failed, after `row` rows."""
        if match := _OTHER_LENGTH.search(str(error)):
            number, expected, found = match.groups()
            message = f"{found} values, not {expected}"
            return self.error(message, row=int(number))
        if match := _NOT_A_NUMBER.search(str(error)):
            index, number, text = match.groups()
            message = f"{text[:40]!r} is not a number{_remedy(text)}"
            if repr(_LAST) in text:
                message = "a quotation mark is never closed"
            return self.error(message, row=int(number), column=self.column(int(index)))
        message = f"cannot be read on: {error}"
        if "straddl" in message:
            size = self._block_bytes >> 20
            message = f"a row of more than {size} MB, or a quotation mark that is never closed"
        return self.error(message, row=row + 1)

    def _is_header(self, rows: list[list[str]]) -> bool:
        """Return whether the first row is a header; refuse one that may be, and may not."""
        first, below = rows[0], rows[1:]
        is_missing = all(text.casefold() in _MISSING for text in first)
        if not is_missing and all(_value(text) is None for text in first):
            return True
        counted = bool(below) and all(row[0] == str(i) for i, row in enumerate(below))
        if counted and first[0] == "" and "" not in first[1:]:
            return True  # pandas' index has no name, and everything else does
        if is_missing or _may_be_names(first, below):
            shown = self.delimiter.join(first)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
            message = f"the first row may be names or data: {shown!r}. Say which: "
            raise self.error(message + "header=True (--header) or header=False (--no-header)")
        return False


class _StandardInput:
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


class _Text:
    """A file as UTF-8 without byte order mark; pyarrow reads from it."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._ready = b""
        self.chunks = iter(partial(file.read, _BLOCK_BYTES), b"")
        start = self.peek(4)
        if start.startswith(_COMPRESSED):
            raise ValueError("it is compressed, and its name does not end in .gz, .bz2 or .zst")
        for mark, encoding in _ENCODINGS.items():
            if start.startswith(mark):
                raw, self._ready = itertools.chain([self._ready], self.chunks), b""
                self.chunks = codecs.iterencode(codecs.iterdecode(raw, encoding), "utf-8")
                return
        if start.startswith(codecs.BOM_UTF8):
            self.read(len(codecs.BOM_UTF8))

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


def _sample(text: _Text, delimiter: str | None, expected: str) -> tuple[list[list[str]], int, str]:
    """Return the first rows, two at least or all; the bytes of the first one; the delimiter."""
    size = _SAMPLE_BYTES
    while True:
        head = text.peek(size)
        sample, whole = head.decode("utf-8", "surrogateescape"), len(head) < size
        first = sample[:_SAMPLE_BYTES]
        if max(first.count("\n"), first.count("\r")) < 2:  # rows are long
            first = sample
        found = delimiter or _sniff(first, whole and len(first) == len(sample), expected)
        rows, end = _rows(sample, found, whole)
        if whole and size > _SAMPLE_BYTES:
            longer, _ = _rows(f"{sample}\n0", found, whole)
            if len(longer) == len(rows):  # the new line is within quotation marks
                raise ValueError("a quotation mark is never closed")
        if whole or len(rows) >= 2:
            return rows, len(sample[:end].encode("utf-8", "surrogateescape")), found
        if size > _ROW_LIMIT_BYTES:
            limit = f"{_ROW_LIMIT_BYTES >> 20} MB"
            raise ValueError(
                f"its first rows have more than {limit}, or a quotation mark is never closed"
            )
        size *= 4


def _number(text: str) -> float | None:
    """Return the number that a text is, NaN if it is empty, and None if it is no number."""
    text = text.strip()
    # Python would also take digits of other scripts, and underscores.
    if text.isascii() and "_" not in text:
        with suppress(ValueError):
            return float(text or "nan")
    return None


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
        cut = bool(rows) and len(rows[0]) > 1
        if rows and (cut or delimiter == expected):  # others have to separate something
            # Without a delimiter 1,5 may as well be two numbers.
            value = _value if cut else _number
            cells = [value(cell) is not None for row in rows[1:] or rows for cell in row]
            alike = [len(row) == len(rows[0]) for row in rows]
            score = (sum(cells) / len(cells) * sum(alike) / len(alike), cut)
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _value(text: str) -> float | None:
    """Return the number that people read in a text: 1,5 is one, although it is refused later."""
    return _number(text.replace(",", ".", 1)) if text else None


def _may_be_names(first: list[str], below: list[list[str]]) -> bool:
    """Return whether a first row that has numbers may be a header.

    So it is if there is text above numbers, if its numbers are whole and all different, if they
    increase or decrease, or if they are unlike those below: whole above fractions, or far away.
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
    steps = np.diff(row)
    # Two numbers always increase or decrease: they count only if they increase.
    ordered = (len(steps) > 0 and (steps > 0).all()) or (len(steps) > 1 and (steps < 0).all())
    if distinct and (whole or ordered):
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


def _first_text(rows: list[list[str]], j: int, below_header: bool) -> str | None:
    """Return what column j holds that is no number, and a remedy; None if all are numbers."""
    places = (i for i, row in enumerate(rows) if len(row) == len(rows[0]))
    texts = [i for i in places if _number(rows[i][j]) is None]
    if not texts:
        return None
    first = rows[texts[0]][j]
    remedy = _remedy(first)
    if texts == [0] and not below_header and len(rows) > 1:
        remedy = "; if that is the name of the column, pass header=True (--header)"
    return f"text ({first[:40]!r} in row {texts[0] + 1}){remedy}"


def _remedy(text: str) -> str:
    """Return what to do about a comma in a number."""
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", text):
        return (
            "; commas in numbers are not read: pandas.read_csv(thousands=',') can, or decimal=','"
        )
    if _number(text) is None and _value(text) is not None:
        return "; decimal commas are not read: write points, as pandas.read_csv(decimal=',') can"
    return ""
