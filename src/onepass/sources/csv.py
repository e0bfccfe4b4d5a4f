"""Rows of text: csv, tsv and txt files, plain or compressed, and standard input.

pyarrow reads the rows. What it does not do is done here: to find delimiter, header, encoding and
the kind of each column in the first rows, to leave out lines that are no rows, to notice a
quotation mark that is never closed, and to say in which line a row is.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from onepass.sources import plain_text
from onepass.sources.base import Block, SourceError
from onepass.sources.paths import open_content, suffix_of
from onepass.sources.plain_text import StandardInput, Text, whole_lines
from onepass.sources.tables import (
    BOOLEANS,
    LONGEST_COMMENT,
    ReadOptions,
    Table,
    numbered_names,
)

_SAMPLE_BYTES = 1 << 16  # that show delimiter and kinds of columns: some hundreds of rows
_FIRST_ROWS_LIMIT_BYTES = 1 << 22  # of the first two rows, all of which is parsed in Python
_MOST_COLUMNS = 1 << 16  # whose conversion takes pyarrow a gigabyte
_LESS = f", the limit is {_MOST_COLUMNS:,}: write it as npy or parquet"
# What stands for a missing value in a column of numbers: what pandas and pyarrow take for one by
# default, and a dash.
_MISSING = (
    *("", "-", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "null", "NULL", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# Blanks before or after a missing value, which pyarrow compares, too. It takes 400 bytes for each
# column and each text that is missing.
_PADDING, _MISSING_BYTES, _ALL_MISSING_BYTES = 8, 400, 1 << 26
_DELIMITERS = ",\t;| "  # in the order of preference, if there is nothing else to tell them apart
# Added as a last row: it is missing at the end if a quotation mark before it is never closed.
_LAST = -7.291935e-297
# Numbers as people write them, which are not read: other signs than the minus of keyboards, and
# groups of three digits.
_OTHER_MINUS = ("\u2212", "\u2013", "\u2012", "\ufe63", "\uff0d")
_THOUSANDS = re.compile(
    r"[+-]?[1-9]\d{0,2}(?P<mark>[.,'\u2019 \u00a0\u202f])\d{3}((?P=mark)\d{3})*([.,]\d*)?", re.ASCII
)
# Numbers that many programs write where there is none.
_SENTINELS = (-999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0)
_TITLE_ROWS = 8  # below the first one, among which are the names if that is a title
_TOTALS = ("total", "totals", "grand total", "subtotal", "sum")  # in a last row that is none
_FOOTER_ROWS = 3  # after the last number of a column, at most: totals, sources, a date
# What pyarrow says of rows, which it counts from 1.
_OTHER_LENGTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*?invalid value '(.*)'", re.DOTALL)


class CsvTable(Table):
    """A csv file, or "-"; `header` "auto" and `delimiter` None are to be found out.

    The first rows decide whether a column holds numbers, True and False, or text; a later text in
    a column of numbers is an error.
    """

    takes = ("header", "delimiter", "decimal", "encoding", "skip_lines", "comment", "na")

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = "standard input" if path == "-" else path
        self._options = options
        self._input = StandardInput() if path == "-" else None
        self._input_text = None if self._input is None else Text(self._input, options)
        self.once, self._is_used_up = path == "-", False
        self._missing = {*_MISSING, *(text for text in options.na if isinstance(text, str))}
        expected = "\t" if suffix_of(path) == ".tsv" else "," if options.decimal == "." else ";"
        with self._text() as text:
            self._first_line = text.first_line
            given = options.delimiter or text.separator
            sample = self._sample(text, given, expected)
        rows, lines, header_bytes, header_lines, self.delimiter, is_padded, _ = sample
        if given is None and self.delimiter != expected:
            self.notes = [f"{self.path}: values are separated by {self.delimiter!r}"]
        if not rows:
            raise self.error("there are no rows")
        is_header = bool(options.header)
        if options.header == "auto":
            is_header = self._is_header(rows, is_alone=given is None)
        self._header_bytes = header_bytes if is_header else 0
        self._header_lines = header_lines if is_header else 0
        if is_header:
            lines.pop(0)
            self.names = self._names(rows.pop(0), rows, lines)
        self.width = len(rows[0])
        if self.width > _MOST_COLUMNS:
            raise self.error(f"{self.width:,} columns are too many for a file of text{_LESS}")
        if self.delimiter == " " and any(not any(column) for column in zip(*rows, strict=False)):
            raise self.error(
                "values are separated by several blanks, which is not read: "
                "pandas.read_csv(sep=r'\\s+') can"
            )
        self._sort_columns(rows, lines, is_header, sample.is_whole)
        if given is not None and self.width == 1 and (self.not_numeric or self.damaged):
            raise self.error(f"the delimiter {given!r} separates nothing in its first rows")
        self._missing_texts = self._with_blanks(_PADDING if is_padded else 0)
        last = repr(_LAST).replace(".", options.decimal)
        self._last = "\n" + self.delimiter.join([last] * self.width) + "\n"
        longest = max(sum(map(len, row)) + 3 * len(row) for row in rows)  # with quotation marks
        self._block_bytes = max(plain_text.BLOCK_BYTES, 4 * longest, 2 * len(self._last))

    def _names(self, names: list[str], below: list[list[str]], lines: list[int]) -> list[str]:
        """Return the names of the columns, all different; decide which columns are no data."""
        if any(0xD800 <= ord(mark) < 0xE000 for mark in "".join(names)):
            raise self.error(
                "the names of its columns are not UTF-8: pass encoding='latin-1' (--encoding), or "
                "the encoding that it has"
            )
        if not below:
            raise self.error("there is a header but there are no rows")
        width = len(below[0])
        ends_empty = all(row[-1] == "" for row in below)
        labels = [row[0] for row in below]
        are_labels = len(set(labels)) == len(labels) and all(
            label.isdigit() or _value(label) is None for label in labels
        )
        if len(names) == width - 1 and are_labels and not ends_empty:
            names = ["", *names]  # R's write.table gives no name to the names of rows
        if len(names) != width:
            message = f"there are {width} values, and {len(names)} names in the header"
            if len(names) == width - 1 and ends_empty:
                message += f"; rows end with {self.delimiter!r}: add one to the header, too, and "
                message += "the empty column is left out"
            elif not self.once:
                self.names = names
                message += self._hint(self._line_of_names(below, lines))
            raise self.error(message, row=1)
        if width > 1 and names[-1] == "" and ends_empty:  # each line ends with a delimiter
            self.left_out = [width - 1]
            self.notes = [*self.notes, f"{self.path}: left out the last column, which is empty"]
        if width > 1 and "" not in names[1 : width - len(self.left_out)]:
            self.index = [0] if names[0] == "" else []
        different = numbered_names(names)
        if different != names:
            twice = [name for name, count in Counter(names).items() if count > 1]
            self.notes = [
                *self.notes,
                f"{self.path}: names that come twice are numbered: {', '.join(map(repr, twice))}",
            ]
        return different

    def _sort_columns(
        self, rows: list[list[str]], lines: list[int], below_header: bool, is_whole: bool
    ) -> None:
        """Find out which columns hold numbers, True and False, text, or numbers and text."""
        whole = [
            (line, row) for line, row in zip(lines, rows, strict=True) if len(row) == self.width
        ]
        self.not_numeric, self.damaged, self._booleans = {}, {}, set()
        self._has_dashes = any("-" in row for row in rows)
        sentinels: dict[int, float] = {}
        names_at, is_padded = None, self._is_padded_title()
        if below_header and len(lines) > 1 and not self.once:
            names_at = self._line_of_names(rows, lines)
            self.header_hint = self._hint(names_at)
        for j in range(self.width):
            cells = [(line, row[j]) for line, row in whole if row[j] not in self._missing]
            texts = [(line, cell) for line, cell in cells if self._is_text(cell)]
            if not texts:
                if sentinel := self._sentinel([self._number(cell) for _, cell in cells]):
                    sentinels[j] = sentinel
                continue
            if all(cell in BOOLEANS for _, cell in cells):
                self._booleans.add(j)
                continue
            line, first = texts[0]
            place = f"line {self._first_line + line}"
            if self.once:
                place = f"row {lines.index(line) + 1}"
            found = f"text ({first[:40]!r} in {place})"
            hint = self.header_hint if line <= (names_at or lines[0]) else ""
            # What people read as numbers is no text, and neither are a few words among numbers.
            words = sum(_is_word(cell) for _, cell in cells)
            is_first = len(texts) == 1 and line == lines[0]
            if 2 * words > len(cells):
                self.not_numeric[j] = found + hint
            elif is_first and not below_header:
                remedy = "if that is the name of the column, pass header=True (--header)"
                self.damaged[j] = f"{found}; {remedy}"
            elif is_first and all(map(_is_word, rows[0])) and not (hint and is_padded):
                self.damaged[j] = f"{found}{hint}; if that line has units, remove it from the file"
            else:
                numbers = [at for at, cell in cells if not self._is_text(cell)]
                is_footer = is_whole and bool(numbers) and line > numbers[-1]
                is_footer &= len(lines) - lines.index(line) <= _FOOTER_ROWS
                footer = self._first_line + line if is_footer else None
                self.damaged[j] = found + (hint or self._remedy(first, footer))
        self.sentinels = sentinels
        if is_whole and not self.once:
            self.doubts = [
                f"{self.path}, line {line}: {cell!r}{self._remedy(cell, line)}"
                for line, cell in sorted(self._sums(whole).items())
            ]

    def _sums(self, rows: list[tuple[int, list[str]]]) -> dict[int, str]:
        """Return the last lines that may be sums or means, and the word that says so.

        It is a word for sums, or it stands where all rows before have digits: in a column of
        numbers, dates or numbered names.
        """
        rows = [(self._first_line + line, row) for line, row in rows if {*row} - self._missing]
        found: dict[int, str] = {}
        for j, cell in enumerate(rows[-1][1] if rows else ()):
            if not self._is_label(cell):
                continue
            if cell.casefold() in _TOTALS:
                found[rows[-1][0]] = cell
            labels = [self._is_label(row[j]) for _, row in rows]
            first = len(rows) - sum(labels)  # of the last lines, if all labels are there
            are_numbered = all(any(map(str.isdigit, row[j])) for _, row in rows[:first])
            if are_numbered and sum(labels) <= _FOOTER_ROWS and sum(labels) < first:
                found |= {line: row[j] for line, row in rows[first:]}
        return found

    def _is_label(self, cell: str) -> bool:
        """Return whether a cell has a word without digits."""
        is_text = cell not in self._missing and _is_word(cell)
        return is_text and any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))

    def _sentinel(self, values: Sequence[float | None]) -> float | None:
        """Return a number that may stand for missing entries: it recurs, far from all others.

        Far is beyond twice the largest of them.
        """
        for sentinel in {*_SENTINELS}.intersection(values).difference(self._options.na_values()):
            others = [abs(value) for value in values if value != sentinel and value is not None]
            recurs = len(values) - len(others) > 1
            if recurs and others and 2.0 * max(others) < abs(sentinel):
                return sentinel
        return None

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Block]:
        """Yield the rows from number `start` on, in full blocks, which cost learning less."""
        if self._is_used_up:
            raise self.error("it can be read only once")
        self._is_used_up = self._input is not None
        waiting = np.empty((0, len(self.chosen())))
        row, closed = 0, False
        try:
            for batch in self._batches():
                if batch.num_rows == 0:
                    continue
                rows = self._as_rows(batch, row)
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

    def cells(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Yield some columns as text."""
        if self.once:
            raise self.error(
                "it can be read only once: write it to a file first, to keep other columns"
            )
        waiting: list[Any] = []
        try:
            for batch in self._batches({str(j): pa.string() for j in columns}, as_text=True):
                if waiting and batch.num_rows:
                    yield waiting
                if batch.num_rows:
                    waiting = [batch.column(str(j)) for j in columns]
        except pa.ArrowInvalid as error:
            if "UTF8" not in str(error):
                raise self._located(error, 0) from error
            remedy = "pass encoding='latin-1' (--encoding), or the encoding that it has"
            raise self.error(f"its text is not UTF-8: {remedy}") from error
        yield [column[:-1] for column in waiting]  # a row was added

    def _batches(
        self, kinds: dict[str, pa.DataType] | None = None, *, as_text: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield record batches of columns, which are called by their numbers; a row is added.

        By default they are the chosen ones, as numbers.
        """
        names = [str(j) for j in range(self.width)]
        # One thread: then pyarrow counts the rows.
        reading = pa.csv.ReadOptions(
            use_threads=False, block_size=self._block_bytes, column_names=names
        )
        parsing = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        kinds = kinds or {
            str(j): pa.string() if j in self._booleans else pa.float64() for j in self.chosen()
        }
        converting = pa.csv.ConvertOptions(
            column_types=kinds,
            include_columns=list(kinds),
            null_values=self._missing_texts,
            strings_can_be_null=not as_text,
            check_utf8=as_text,
            decimal_point=self._options.decimal,
        )
        with self._text() as text:
            text.read(self._header_bytes)
            text.chunks = itertools.chain(text.chunks, [self._last.encode()])
            yield from pa.csv.open_csv(text, reading, parsing, converting)

    def _as_rows(self, batch: pa.RecordBatch, row: int) -> NDArray[np.float64]:
        """Return a batch as rows, missing values as NaN; `row` rows came before."""
        for place, j in enumerate(self.chosen()):
            if j in self._booleans:
                column = self._as_numbers(batch.column(place), j, row)
                batch = batch.set_column(place, batch.schema.names[place], column)
        return batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()

    def _as_numbers(self, column: pa.Array, j: int, row: int) -> pa.Array:
        """Return a column of True and False as ones and zeros; `row` rows came before."""
        words = pc.utf8_trim_whitespace(column)
        last = repr(_LAST).replace(".", self._options.decimal)
        known = pc.index_in(words, value_set=pa.array([*BOOLEANS, last]))
        values = pa.array([*BOOLEANS.values(), _LAST])
        wrong = pc.and_(pc.is_null(known), pc.is_valid(words)).index(True).as_py()
        if wrong >= 0:
            message = f"{words[wrong].as_py()[:40]!r} is neither True nor False"
            raise self.error(message, row=row + wrong + 1, column=self.column(j))
        return values.take(known)

    @contextmanager
    def _text(self) -> Iterator[Text]:
        """Open the text, or go on with standard input."""
        if self._input_text is not None:
            yield self._input_text
        else:
            with open_content(self.path) as file:
                yield Text(file, self._options)

    def stop(self) -> None:
        """Stop waiting for standard input."""
        if self._input is not None:
            self._input.stopped.set()

    def lines(self) -> Iterator[NDArray[np.int64]] | None:
        """Return the numbers of the lines in which rows begin; None of standard input."""
        return None if self.once else self._lines()

    def _lines(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of the lines in which rows begin, some at a time."""
        with self._text() as text:
            text.read(self._header_bytes)
            yield from _lines_of_rows(text, self._first_line + self._header_lines, self.delimiter)

    def _located(self, error: Exception, row: int) -> SourceError:
        """Return the error that says where pyarrow failed, after `row` rows."""
        if match := _OTHER_LENGTH.search(str(error)):
            number, expected, found = match.groups()
            message = f"{found} values, not {expected}"
            return self.error(message, row=int(number))
        if match := _NOT_A_NUMBER.search(str(error)):
            index, number, text = match.groups()
            footer = self._line(int(number)) if self._is_footer(int(number)) else None
            message = f"{text[:40]!r} is not a number{self._remedy(text, footer)}"
            if repr(_LAST).replace(".", self._options.decimal) in text:
                message = "a quotation mark is never closed"
            return self.error(message, row=int(number), column=self.column(int(index)))
        message = f"cannot be read on: {error}"
        if "straddl" in message:
            size = self._block_bytes >> 20
            message = f"a row of more than {size} MB, or a quotation mark that is never closed"
        return self.error(message, row=row + 1)

    def _is_footer(self, row: int) -> bool:
        """Return whether a row, counted from 1, is one of the last."""
        count = 0
        with suppress(Exception):  # of a damaged file
            for lines in self.lines() or ():
                count += len(lines)
                if count >= row + _FOOTER_ROWS:  # a long file is not read to its end
                    break
        return row <= count < row + _FOOTER_ROWS

    def _with_blanks(self, most: int) -> list[str]:
        """Return what stands for a missing value, with up to so many blanks before or after it."""
        each = 2 * len(self._missing) * _MISSING_BYTES * self.width
        blanks = [" " * count for count in range(min(most, _ALL_MISSING_BYTES // each) + 1)]
        return sorted({text for m in self._missing for b in blanks for text in (b + m, m + b)})

    def _number(self, text: str) -> float | None:
        """Return the number that a text is in this file, and None if it is no number."""
        if self._options.decimal != ".":
            text = text.replace(".", "_").replace(self._options.decimal, ".")
        return _number(text)

    def _is_text(self, text: str) -> bool:
        """Return whether a text is no number in this file."""
        return self._number(text) is None

    def _line_of_names(self, rows: list[list[str]], lines: list[int]) -> int | None:
        """Return the line, from 0, of the first rows that has the names if the header is a title.

        Each of its values is a word, and the next row has others, unless it may have units: below
        a title that is padded to the width of the table.
        """
        is_padded = self._is_padded_title()
        for at, row in enumerate(rows[:_TITLE_ROWS]):
            below = rows[at + 1] if at + 1 < len(rows) else ()
            is_named = all(_is_word(cell) and cell not in self._missing for cell in row)
            if is_named and (is_padded or not all(map(_is_word, below))):
                return lines[at]
        return None

    def _is_padded_title(self) -> bool:
        """Return whether names are missing, as in a title that is as wide as the table."""
        return self.names is not None and "" in self.names[1:]

    def _hint(self, names_at: int | None) -> str:
        """Return what to do if the header is a title: the names may be in a line below."""
        assert self.names is not None
        start = self.names[0] or self.names[-1]
        for mark in ("#", "%", "//"):
            if self._options.comment is None and start.startswith(mark):
                remedy = f"pass comment={mark!r} (--comment)"
                return f"; if lines that begin with {mark!r} are no rows, {remedy}"
        if names_at is None:
            return ""
        line = self._first_line + names_at
        remedy = f"pass skip_lines={line - 1} (--skip-lines)"
        return f"; if the names of the columns are in line {line}, {remedy}"

    def _remedy(self, text: str, footer: int | None = None) -> str:
        """Return what to do about a text in a column of numbers.

        `footer` is the number of its line if no number follows, since the rows end there.
        """
        if text.strip() in self._missing:
            return (
                f"; there are no blanks beside values in the first rows: pass na=[{text!r}] (--na)"
            )
        text, decimal = text.strip(), self._options.decimal
        kind, other = _spelling(text), "." if decimal == "," else ","
        if kind == "minus":
            code = f"U+{ord(text[0]):04X}"
            return f"; {text[0]!r} ({code}) is not the minus '-': replace it in the file"
        if kind == "parentheses":
            return f"; parentheses are not read as a minus: write -{text[1:-1].strip()} in the file"
        if kind is not None:
            given = f"path, thousands={kind!r}"
            given += ", decimal=','" if decimal == "," or kind == "." else ""
            given += f", sep={self.delimiter!r}" if self.delimiter != "," else ""
            marks = [*["-"] * self._has_dashes, *self._options.na]  # pandas takes a dash for text
            given += f", na_values={marks}" if marks else ""
            for name, as_pandas in {"skip_lines": "skiprows", "encoding": "encoding"}.items():
                if value := getattr(self._options, name):
                    given += f", {as_pandas}={value!r}"
            remedy = "marks between thousands are not read: remove them from the file, or read "
            remedy += f"it with pandas.read_csv({given}) and write it again"
            if kind == other and text.count(kind) == 1 and decimal not in text:
                name = "comma" if decimal == "." else "point"
                either = f"; if it is a decimal {name}, pass decimal={kind!r} (--decimal {kind}); "
                return f"{either}if not, {remedy}"
            return f"; {remedy}"
        if decimal == "," and _number(text) is not None:
            return "; if it is a decimal point, do not pass decimal=',' (--decimal ,)"
        if _number(text) is None and "," in text and _value(text) is not None:
            return "; if it is a decimal comma, pass decimal=',' (--decimal ,)"
        if footer is not None and any(mark.isalpha() for mark in text):
            remedy = "; it is at the end: if that line is no row, remove it from the file"
            if mark := self._mark_of(text, footer):
                given = f"comment={mark!r} (--comment {shlex.quote(mark)})"
                remedy += f", or pass {given} to leave it out"
            return remedy
        # What has digits is a value, except for the errors of Excel, such as #DIV/0!
        is_value = any(mark.isdigit() for mark in text) and not text.startswith("#")
        if _value(text) is None and len(text) <= 8 and not is_value:
            return f"; if it stands for a missing value, pass na=[{text!r}] (--na)"
        return ""

    def _mark_of(self, text: str, line: int) -> str | None:
        """Return how a line begins that has a text first, as a comment; None if others do, too."""
        if self.once or self._options.comment is not None:
            return None
        for mark in (text[:LONGEST_COMMENT], f'"{text}'[:LONGEST_COMMENT]):
            start = mark.encode("utf-8", "surrogateescape")
            with self._text() as opened:
                chunks = whole_lines(iter(partial(opened.read, plain_text.BLOCK_BYTES), b""))
                lines = (each.lstrip(b" \t") for chunk in chunks for each in chunk.splitlines())
                last = line - self._first_line
                until = enumerate(itertools.islice(lines, last + 1))
                if [number for number, each in until if each.startswith(start)] == [last]:
                    return mark
        return None

    def _is_header(self, rows: list[list[str]], *, is_alone: bool) -> bool:
        """Return whether the first row is a header; refuse one that may be, and may not.

        A single column of which no delimiter is given, `is_alone`, may be several.
        """
        first, below = rows[0], rows[1:]
        missing = {text.casefold() for text in (*self._missing, "?", "nil")}
        is_missing = all(text.casefold() in missing for text in first)
        parts = re.split(f"[{_DELIMITERS}]", first[0])
        is_other = is_alone and max(map(len, rows)) == 1 < len(parts)
        is_other &= any(_value(part) is not None for part in parts)
        if not is_missing and not is_other and all(map(_is_word, first)):
            return True
        counted = bool(below) and all(row[0] == str(i) for i, row in enumerate(below))
        if counted and first[0] == "" and "" not in first[1:]:
            return True  # pandas' index has no name, and everything else does
        if is_missing or is_other or _may_be_names(first, below, self._missing):
            shown = self.delimiter.join(first)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
            message = f"the first row may be names or data: {shown!r}. Say which: "
            raise self.error(message + "header=True (--header) or header=False (--no-header)")
        return False

    def _sample(self, text: Text, delimiter: str | None, expected: str) -> _Sample:
        """Return the first rows, two at least or all."""
        size = _SAMPLE_BYTES
        while True:
            head = text.peek(size)
            sample, whole = head.decode("utf-8", "surrogateescape"), len(head) < size
            first = sample[:_SAMPLE_BYTES]
            if max(first.count("\n"), first.count("\r")) < 2:  # rows are long
                first = sample
            found = delimiter or self._sniff(first, whole and len(first) == len(sample), expected)
            rows, lines, end, end_line = _rows(sample, found, whole)
            if whole and size > _SAMPLE_BYTES:
                longer = _rows(f"{sample}\n0", found, whole)[0]
                if len(longer) == len(rows):  # the new line is within quotation marks
                    raise ValueError("a quotation mark is never closed")
            if whole or len(rows) >= 2:
                header_bytes = len(sample[:end].encode("utf-8", "surrogateescape"))
                mark = f"[{re.escape(found)}\r\n]"
                is_padded = re.search(f"(?:^|{mark}) | (?:{mark}|$)", sample) is not None
                return _Sample(rows, lines, header_bytes, end_line, found, is_padded, whole)
            if size == _FIRST_ROWS_LIMIT_BYTES:
                limit = f"{_FIRST_ROWS_LIMIT_BYTES >> 20} MB"
                raise ValueError(
                    f"its first rows have more than {limit}, or a quotation mark is never closed"
                )
            size = min(4 * size, _FIRST_ROWS_LIMIT_BYTES)

    def _sniff(self, text: str, whole: bool, expected: str) -> str:
        """Return the delimiter that makes most rows equally long, and most values numbers."""
        best, best_score = expected, (0.0, False)
        for delimiter in (expected, *_DELIMITERS.replace(expected, "")):
            if delimiter == self._options.decimal:
                continue
            rows = _rows(text, delimiter, whole)[0]
            # The first row may have one name fewer.
            widths = Counter(len(row) for row in rows[1:] or rows)
            width = widths.most_common(1)[0][0] if rows else 0
            if rows and (width > 1 or delimiter == expected):  # others have to separate something
                # Without a delimiter 1,5 may as well be two numbers.
                is_text = _is_word if width > 1 else self._is_text
                cells = [
                    cell in self._missing or not is_text(cell)
                    for row in rows[1:] or rows
                    for cell in row
                ]
                alike = [len(row) == width for row in rows]
                alike[0] |= len(rows[0]) == width - 1
                score = (sum(cells) / len(cells) * sum(alike) / len(alike), width > 1)
                if score > best_score:
                    best, best_score = delimiter, score
        return best


class _Sample(NamedTuple):
    """The first rows of a text."""

    rows: list[list[str]]
    lines: list[int]  # in which they begin, counted from 0
    header_bytes: int  # of the first row, and what is before it
    header_lines: int
    delimiter: str
    is_padded: bool  # whether there are blanks beside values
    is_whole: bool  # whether there are no other rows


def _number(text: str) -> float | None:
    """Return the number that a text is, and None if it is no number."""
    # Python would also take digits of other scripts, and underscores.
    if text.isascii() and "_" not in text:
        with suppress(ValueError):
            return float(text)
    return None


def _rows(text: str, delimiter: str, whole: bool) -> tuple[list[list[str]], list[int], int, int]:
    """Return the rows of a text and the lines, from 0, in which they begin.

    The last row counts only if it is whole. The other results are how many characters and lines
    there are up to the end of the first row.
    """
    width = re.match(r"[^\r\n]*", text)[0].count(delimiter)  # type: ignore[index]
    if width > _MOST_COLUMNS:  # which take much memory as Python's objects
        raise ValueError(f"{width:,} columns or more are too many for a file of text{_LESS}")
    lines = io.StringIO(text, newline="")
    rows: list[list[str]] = []
    starts: list[int] = []
    end = end_line = line = 0
    limit = csv.field_size_limit(len(text) + 1)
    try:
        reader = csv.reader(lines, delimiter=delimiter)
        for row in reader:
            if row:
                if not rows:
                    end, end_line = lines.tell(), reader.line_num
                rows.append([field.strip() for field in row])
                starts.append(line)
            line = reader.line_num
    finally:
        csv.field_size_limit(limit)
    last = len(rows) if whole else -1
    return rows[:last], starts[:last], end, end_line


def _lines_of_rows(text: Text, line: int, delimiter: str) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of the lines in which rows begin; the text begins with number `line`."""
    chunks = whole_lines(iter(partial(text.read, plain_text.BLOCK_BYTES), b""))
    for chunk in chunks:
        if b'"' in chunk:  # a value may go on in the next line
            lines = (
                each.decode("utf-8", "surrogateescape")
                for piece in itertools.chain([chunk], chunks)
                for each in piece.splitlines(keepends=True)
            )
            reader, before = csv.reader(lines, delimiter=delimiter), 0
            for row in reader:
                if row:
                    yield np.array([line + before])
                before = reader.line_num
            return
        is_row = np.array([bool(each) for each in chunk.splitlines()])
        yield line + np.flatnonzero(is_row)
        line += len(is_row)


def _value(text: str) -> float | None:
    """Return the number that people read in a text: 1,5 and True are some, too."""
    if text in BOOLEANS:
        return BOOLEANS[text]
    return _number(text.replace(",", ".", 1))


def _spelling(text: str) -> str | None:
    """Return how people write a number that is not read, and None if it is none.

    It is "minus" for another sign, "parentheses" for a negative number of accountants, or what
    stands between thousands.
    """
    signed, enclosed = text.startswith(_OTHER_MINUS), text.startswith("(") and text.endswith(")")
    inner = text[1:] if signed else text[1:-1].strip() if enclosed else text
    thousands = _THOUSANDS.fullmatch(inner)
    if signed or enclosed:
        is_number = thousands is not None or _number(inner.replace(",", ".", 1)) is not None
        return ("minus" if signed else "parentheses") if is_number else None
    # 555 123 456 is a telephone number rather than one of thousands.
    if thousands is None or (thousands["mark"] == " " and thousands[3] is None):
        return None
    return (
        thousands["mark"] if thousands[3] is None or thousands[3][0] != thousands["mark"] else None
    )


def _is_word(text: str) -> bool:
    """Return whether people read no number in a text."""
    return _value(text) is None and _spelling(text) is None


def _may_be_names(first: list[str], below: list[list[str]], missing: set[str]) -> bool:
    """Return whether a first row that has numbers may be a header.

    So it is if there is text above numbers, if its numbers are whole and all different, if they
    increase or decrease, or if they are unlike those below: whole above fractions, or far away.
    """

    def values(row: list[str]) -> list[float]:
        return [math.nan if (value := _value(text)) is None else value for text in row]

    row, is_text = np.array(values(first)), np.array([text not in missing for text in first])
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
