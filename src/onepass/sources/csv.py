"""Files of text: csv, tsv, txt, dat, plain or compressed, and standard input.

pyarrow reads the rows. The first rows tell here what pyarrow has to be told: delimiter, header, and
which columns hold numbers.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from onepass.sources import plain_text
from onepass.sources.base import SourceError
from onepass.sources.paths import open_content, suffix_of
from onepass.sources.plain_text import StandardInput, Text, squeezed, whole_lines
from onepass.sources.tables import BOOLEANS, ReadOptions, Table, numbered_names

# Bytes of the first rows, in which delimiter, header and kinds of columns are looked for; there are
# two rows at least, as long as they fit into the second number.
_SAMPLE_BYTES, _LONGEST_SAMPLE_BYTES = 1 << 18, 1 << 26
_SNIFFED_ROWS = 100  # with which delimiters and headers are tried
# Text for a missing value: what pandas and pyarrow take for one by default, and a dash.
MISSING = (
    *("", "-", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "null", "NULL", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# pyarrow compares missing values with their blanks. We list them with up to 8 on either side, and
# with fewer in wide files, as each text takes pyarrow 400 bytes per column.
_PADDING, _MISSING_BYTES, _ALL_MISSING_BYTES = 8, 400, 1 << 26
_DELIMITERS = ",\t;|"  # in the order of preference; a blank comes after them
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity)", re.IGNORECASE | re.ASCII
)
# A number with the other decimal point, maybe with groups of digits.
_OTHER_NUMBER = re.compile(r"[+-]?(?:\d[\d.]*,\d[\d,.]*|,\d+)(?:e[+-]?\d+)?", re.I | re.ASCII)
_EXCHANGED = str.maketrans(",.", ".,")
# What people read as a number, whether it can be read here or not: with groups of digits, other
# signs, in parentheses.
_VALUE = re.compile(
    r"(?=\D*\d)[-+(\u2212\u2013]?[\d.,'\u2019\u00a0\u202f]+(?:e[+-]?\d+)?\)?|[+-]?inf(?:inity)?",
    re.IGNORECASE | re.ASCII,
)
# What pyarrow says of rows, which it counts from 1.
_OTHER_LENGTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*?invalid value '(.*)'", re.DOTALL)
_MARK = re.compile(r": (#|%|//)")  # with which a row of another length begins
_OPEN = "a quotation mark is never closed"


class CsvTable(Table):
    """A csv file, or "-"; `header` "auto" and `delimiter` None are to be found out.

    The first rows decide whether a column holds numbers, True and False, or text; a later text in
    a column of numbers is an error.
    """

    chooses = True
    takes = ("header", "delimiter", "decimal", "encoding", "skip_lines", "comment", "na")

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = "standard input" if path == "-" else path
        self._options = options
        self._input = StandardInput() if path == "-" else None
        self._input_text = None if self._input is None else Text(self._input, options)
        self.once, self._is_used_up = path == "-", False
        self._missing = {*MISSING, *(text for text in options.na if isinstance(text, str))}
        self.delimiter = options.delimiter or ""
        self.notes: list[str] = []
        expected = "\t" if suffix_of(path) == ".tsv" else "," if options.decimal == "." else ";"
        with self._text() as text:
            self._first_line = text.first_line
            given = self.delimiter or text.separator
            head, whole = _head(text)
            self.delimiter = given or self._sniff(head, whole, expected)
            if self.delimiter == " ":
                text.squeeze_blanks()
                head, whole = _head(text)
        if given is None and self.delimiter != expected:
            self.notes.append(f"{self.path}: values are separated by {self.delimiter!r}")
        rows, lines, header_end = _rows(head, self.delimiter, whole)
        if not rows:
            raise self.error("there are no rows")
        is_header = options.header
        if is_header == "auto":
            is_header = self._has_names(rows[:_SNIFFED_ROWS], is_alone=given is None)
        self._header = head[:header_end].encode("utf-8", "surrogateescape") if is_header else b""
        mark = f"[{re.escape(self.delimiter)}\r\n]"
        is_padded = re.search(f"(?:^|{mark}) | (?:{mark}|$)", head) is not None
        self._padding = _PADDING if is_padded else 0
        if is_header:
            self.names = self._names(rows, lines)
            rows, lines = rows[1:], lines[1:]
        self.width = _usual_width(rows)
        self._sort_columns(rows, lines)
        longest = max([sum(map(len, row)) for row in rows]) + 3 * self.width  # quotation marks
        # A row at the end: it is missing if a quotation mark before it is never closed.
        self._last = "\n" + self.delimiter.join(["NA"] * self.width) + "\n"
        self._block_bytes = max(plain_text.BLOCK_BYTES, 4 * longest, 2 * len(self._last))

    def _sniff(self, head: str, whole: bool, expected: str) -> str:
        """Return the delimiter that makes rows equally long, and most values numbers.

        A blank is tried if no other delimiter makes equal rows of more than one column.
        """
        best, best_score = expected, (False, 0.0, False)
        for delimiter in (expected, *_DELIMITERS.replace(expected, ""), " "):
            if delimiter == self._options.decimal or (delimiter == " " and best_score[0]):
                continue
            tried = squeezed(head.encode("utf-8", "surrogateescape")) if delimiter == " " else b""
            trial = tried.decode("utf-8", "surrogateescape") if tried else head
            try:
                rows = _rows(trial, delimiter, whole, _SNIFFED_ROWS)[0]
            except ValueError:  # without a delimiter a row may be too long for a value
                continue
            width = _usual_width(rows[1:] or rows) if rows else 0
            if width == 0 or (width == 1 and delimiter != expected):
                continue
            # The first row may have one name fewer.
            lengths = [len(row) for row in rows]
            alike = lengths.count(width) + (lengths[0] == width - 1)
            is_equal = width > 1 and alike == len(rows)
            if delimiter == " " and best_score[2] and not is_equal:
                continue
            # Without a delimiter 1,5 may as well be two numbers.
            number = _VALUE.fullmatch if width > 1 else self._is_number
            cells = [cell for row in rows[1:] or rows for cell in row]
            numbers = [cell in self._missing or cell in BOOLEANS or number(cell) for cell in cells]
            share = sum(map(bool, numbers)) / len(cells) * alike / len(rows)
            score = (is_equal, share, width > 1)
            if score > best_score:
                best, best_score = delimiter, score
        return best

    def _is_number(self, text: str, pattern: re.Pattern[str] = _NUMBER) -> bool:
        """Return whether a text is a number of this file."""
        comma = self._options.decimal == ","
        return pattern.fullmatch(text.translate(_EXCHANGED) if comma else text) is not None

    def _has_names(self, rows: list[list[str]], *, is_alone: bool) -> bool:
        """Return whether the first row is a header; refuse one that may be, and may not.

        A single column of which no delimiter is given, `is_alone`, may be several.
        """
        first, below = rows[0], rows[1:]
        missing = {text.casefold() for text in (*self._missing, "?", "nil")}
        is_missing = {text.casefold() for text in first} <= missing
        parts = re.split(r"[,\t;| ]", first[0])
        is_other = is_alone and max(map(len, rows)) == 1 < len(parts)
        is_other = is_other and any(map(_VALUE.fullmatch, parts))
        values = [text in BOOLEANS or _VALUE.fullmatch(text) for text in first]
        if not is_missing and not is_other and not any(values):
            return True
        counted = bool(below) and [row[0] for row in below] == [*map(str, range(len(below)))]
        if counted and first[0] == "" and "" not in first[1:]:
            return True  # pandas' index has no name, and everything else does
        if is_missing or is_other or _may_be_names(first, below, self._missing):
            shown = self.delimiter.join(first)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
            message = f"the first row may be names or data: {shown!r}. Say which: "
            raise self.error(message + "header=True (--header) or header=False (--no-header)")
        return False

    def _names(self, rows: list[list[str]], lines: list[int]) -> list[str]:
        """Return the names of the columns, all different; decide which columns are no data."""
        names, *below = rows
        if any(map(re.compile("[\ud800-\udfff]").search, names)):
            raise self.error(
                "the names of its columns are not UTF-8: pass encoding='latin-1' (--encoding), or "
                "the encoding that it has"
            )
        if not below:
            raise self.error("there is a header but there are no rows")
        width = _usual_width(below)
        ends_empty = {row[-1] for row in below} == {""}
        are_even = {len(row) for row in below} == {len(names) + 1}
        if are_even and not ends_empty and _are_labels([row[0] for row in below]):
            names = ["", *names]  # R's write.table gives no name to the names of rows
        if len(names) != width:
            message = f"there are {width} values, and {len(names)} names in the header"
            if len(names) == width - 1 and ends_empty:
                message += f"; rows end with {self.delimiter!r}: add one to the header, too, and "
                message += "the empty column is left out"
            elif mark := re.match("#|%|//", names[0]):
                message += _comment_with(mark[0])
            else:
                message += "; lines that come before the header are left out by skip_lines="
                message += " (--skip-lines)"
            first = [len(row) for row in below].index(width)
            raise self._refusal(message, lines[1 + first])
        if width > 1 and names[-1] == "" and ends_empty:  # each line ends with a delimiter
            self.left_out = [width - 1]
            self.notes.append(f"{self.path}: left out the last column, which is empty")
        if width > 1 and names[0] == "" and "" not in names[1 : width - len(self.left_out)]:
            self.index = [0]
        different = numbered_names(names)
        if different != names:
            twice = [name for name, count in Counter(names).items() if count > 1]
            shown = ", ".join(map(repr, twice))
            self.notes.append(f"{self.path}: names that come twice are numbered: {shown}")
        return different

    def _sort_columns(self, rows: list[list[str]], lines: list[int]) -> None:
        """Find out which columns hold numbers, True and False, text, or numbers and text."""
        self.not_numeric, self.mixed, self._booleans = {}, {}, set[int]()
        whole = [
            (row, line) for row, line in zip(rows, lines, strict=True) if len(row) == self.width
        ]
        for j in range(self.width):
            cells = {row[j] for row, _ in whole} - self._missing
            texts = {text for text in cells if not self._is_number(text)}
            if not texts:
                continue
            if cells <= BOOLEANS.keys():
                self._booleans.add(j)
                continue
            first, line = next((row[j], line) for row, line in whole if row[j] in texts)
            place = "" if self.once else f" in line {self._first_line + line}"
            if texts == cells and not any(self._is_number(text, _OTHER_NUMBER) for text in texts):
                self.not_numeric[j] = f"text ({first[:40]!r}{place})"
            else:
                remedy = self._remedy(first)
                self.mixed[j] = f"contains text ({first[:40]!r}{place}) among numbers{remedy}"

    def _remedy(self, text: str) -> str:
        """Return which options may read a text in a column of numbers."""
        if not self._is_number(text.strip(), _OTHER_NUMBER):
            return "; text for missing values is named by na= (--na)"
        if self._options.decimal == ",":
            return "; if it has a decimal point, do not pass decimal=',' (--decimal ,)"
        return "; if it has a decimal comma, pass decimal=',' (--decimal ,)"

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on."""
        if self._is_used_up:
            raise self.error("it can be read only once")
        self._is_used_up = self.once
        row = 0
        held: NDArray[np.float64] | None = None  # until it is known whether the last row is ours
        try:
            for batch in self._batches(self._kinds(), as_text=False):
                if batch.num_rows == 0:
                    continue
                if held is not None and len(held):
                    yield held
                rows = self._as_rows(batch)
                held = rows[max(start - row, 0) :]
                row += len(rows)
        except pa.ArrowInvalid as error:
            raise self._located(error, row) from error
        if held is None or not np.isnan(rows[-1]).all():
            raise self.error(_OPEN, row=row)
        if len(held) > 1:
            yield held[:-1]

    def cells(self, columns: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield some columns as text."""
        if self.once:
            raise self.error(
                "it can be read only once: write it to a file first, to keep other columns"
            )
        waiting: list[pa.Array] = []
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

    def _kinds(self) -> dict[str, pa.DataType]:
        """Return the types of the chosen columns, which are called by their numbers."""
        flags, number = self._booleans, pa.float64()
        return {str(j): pa.bool_() if j in flags else number for j in self.chosen()}

    def _batches(self, kinds: dict[str, pa.DataType], *, as_text: bool) -> Iterator[pa.RecordBatch]:
        """Yield record batches of some columns; a row is added at the end."""
        # With one thread pyarrow counts the rows.
        reading = pa.csv.ReadOptions(
            use_threads=False,
            block_size=self._block_bytes,
            column_names=[*map(str, range(self.width))],
        )
        parsing = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        converting = pa.csv.ConvertOptions(
            column_types=kinds,
            include_columns=list(kinds),
            null_values=self._with_blanks(self._missing),
            true_values=self._with_blanks({text for text, value in BOOLEANS.items() if value}),
            false_values=self._with_blanks({text for text, value in BOOLEANS.items() if not value}),
            strings_can_be_null=not as_text,
            check_utf8=as_text,
            decimal_point=self._options.decimal,
        )
        with self._text() as text:
            text.read(len(self._header))
            text.chunks = itertools.chain(text.chunks, [self._last.encode()])
            yield from pa.csv.open_csv(text, reading, parsing, converting)

    def _as_rows(self, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """Return a batch as rows, missing values as NaN."""
        for place, j in enumerate(self.chosen() if self._booleans else ()):
            if j in self._booleans:
                column = pc.cast(batch.column(place), pa.float64())
                batch = batch.set_column(place, batch.schema.names[place], column)
        rows: NDArray[np.float64] = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
        return rows

    @contextmanager
    def _text(self) -> Iterator[Text]:
        """Open the text, or go on with standard input."""
        if self._input_text is not None:
            yield self._input_text
            return
        with open_content(self.path) as file:
            text = Text(file, self._options)
            if self.delimiter == " ":
                text.squeeze_blanks()
            yield text

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
            chunks = whole_lines(iter(partial(text.read, plain_text.BLOCK_BYTES), b""))
            lines = (line for chunk in chunks for line in chunk.splitlines(keepends=True))
            texts = (line.decode("utf-8", "surrogateescape") for line in lines)
            starts = _starts(csv.reader(texts, delimiter=self.delimiter))
            if self._header:
                next(starts)
            while numbers := [*itertools.islice(starts, 1 << 12)]:
                yield self._first_line + np.array(numbers)

    def _refusal(self, message: str, line: int) -> SourceError:
        """Return an error that names a line of the first rows, counted from 0."""
        if self.once:
            return self.error(message)
        return SourceError(message, self.path, line=self._first_line + line)

    def _located(self, error: Exception, row: int) -> SourceError:
        """Return the error that says where pyarrow failed, after `row` rows."""
        if match := _OTHER_LENGTH.search(str(error)):
            number, expected, found = match.groups()
            message = f"{found} values, not {expected}"
            if mark := _MARK.search(str(error), match.end()):
                message += _comment_with(mark[1])
            return self.error(message, row=int(number))
        if match := _NOT_A_NUMBER.search(str(error)):
            index, number, text = match.groups()
            kind = "neither True nor False" if int(index) in self._booleans else "not a number"
            message = f"{text[:40]!r} is {kind}{self._remedy(text)}"
            message += "; exclude= (--exclude) leaves a column out"
            if "\n" in text:
                message = _OPEN
            return self.error(message, row=int(number), column=self.column(int(index)))
        message = f"cannot be read on: {error}"
        if "straddl" in message:
            size = self._block_bytes >> 20
            message = f"a row of more than {size} MB, or a quotation mark that is never closed"
        return self.error(message, row=row + 1)

    def _with_blanks(self, texts: set[str]) -> list[str]:
        """Return texts, with up to so many blanks before or after them if values are padded."""
        most = _ALL_MISSING_BYTES // (2 * len(texts) * _MISSING_BYTES * self.width)
        blanks = [" " * count for count in range(min(self._padding, most) + 1)]
        return sorted({each for text in texts for b in blanks for each in (b + text, text + b)})


def _comment_with(mark: str) -> str:
    """Return how to leave out lines that begin with a mark."""
    return f"; if lines that begin with {mark!r} are no rows, pass comment={mark!r} " + (
        f"(--comment {mark!r})"
    )


def _head(text: Text) -> tuple[str, bool]:
    """Return the first rows, two at least, and whether they are all."""
    size = _SAMPLE_BYTES
    while True:
        head = text.peek(size)
        is_whole = len(head) < size
        if is_whole or max(head.count(b"\n"), head.count(b"\r")) > 2:
            return head.decode("utf-8", "surrogateescape"), is_whole
        if size >= _LONGEST_SAMPLE_BYTES:
            limit = f"{_LONGEST_SAMPLE_BYTES >> 20} MB"
            raise ValueError(f"its first rows have more than {limit}, or {_OPEN}")
        size *= 4


def _rows(
    text: str, delimiter: str, whole: bool, most: int | None = None
) -> tuple[list[list[str]], list[int], int]:
    """Return the first rows of a text, the lines, from 0, in which they begin, and an end.

    That is how many characters there are up to the end of the first row. The last row counts only
    if it is whole.
    """
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    rows: list[list[str]] = []
    starts: list[int] = []
    end = line = 0
    try:
        for row in reader:
            if row:
                end = end or lines.tell()
                rows.append([*map(str.strip, row)])
                starts.append(line)
                if len(rows) == most:
                    return rows, starts, end
            line = reader.line_num
    except csv.Error as error:  # a value is longer than the module reads
        raise ValueError(f"{_OPEN}, or a value is far too long ({error})") from error
    last = len(rows) if whole else -1
    return rows[:last], starts[:last], end


def _starts(reader: Any) -> Iterator[int]:
    """Yield the lines, from 0, in which the rows of a reader begin."""
    before = 0
    for row in reader:
        if row:
            yield before
        before = reader.line_num


def _usual_width(rows: list[list[str]]) -> int:
    """Return how many values most rows have."""
    return Counter(map(len, rows)).most_common(1)[0][0]


def _are_labels(texts: list[str]) -> bool:
    """Return whether texts may be names of rows: all different, and words or counted."""
    are_words = all(text.isdigit() or not _VALUE.fullmatch(text) for text in texts)
    return are_words and len(set(texts)) == len(texts)


def _may_be_names(first: list[str], below: list[list[str]], missing: set[str]) -> bool:
    """Return whether a first row that has numbers may be a header.

    So it is if there is text above numbers, if its numbers are whole and all different, if they
    increase or decrease, or if they are whole above fractions.
    """
    rows = [first, *(row for row in below if len(row) == len(first))]
    texts = [[text.replace(",", ".", 1) for text in row] for row in rows]
    values = np.array(
        [
            [BOOLEANS.get(text, float(text) if _NUMBER.fullmatch(text) else np.nan) for text in row]
            for row in texts
        ]
    )
    row, others = values[0], values[1:]
    is_text = np.array([text not in missing for text in first])
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
    is_one = len(row) > 1 and len(set(row)) == 1  # names would differ
    return whole and not is_one and bool((others % 1 > 0).any())
