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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
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
# What people read as a number, whether it can be read here or not: with groups of digits, other
# signs, in parentheses.
_VALUE = re.compile(
    r"(?=\D*\d)[-+(\u2212\u2013]?[\d.,'\u2019\u00a0\u202f]+(?:e[+-]?\d+)?\)?|[+-]?inf(?:inity)?",
    re.IGNORECASE | re.ASCII,
)
# Numbers by their decimal point, and those that have the other one, maybe with groups of digits.
_NUMBERS, _OTHER_NUMBERS = (
    {
        point: re.compile(pattern.replace("P", point).replace("C", comma), re.I | re.ASCII)
        for point, comma in (".,", ",.")
    }
    for pattern in (
        r"[+-]?(?:(?:\d+[P]?\d*|[P]\d+)(?:e[+-]?\d+)?|inf|infinity)",
        r"[+-]?(?:\d[\dP]*[C]\d[\d.,]*|[C]\d+)(?:e[+-]?\d+)?",
    )
)
# What pyarrow says of rows, which it counts from 1.
_OTHER_LENGTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)(?:: (#|%|//))?")
_NOT_A_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .*?invalid value '(.*)'", re.DOTALL)
_OPEN = "a quotation mark is never closed"
_PASS_AN_ENCODING = "not UTF-8: pass encoding='latin-1' (--encoding), or the encoding that it has"


class _Rows(NamedTuple):
    """The first rows of a text, the lines, from 0, in which they begin, and where the first ends.

    That is how many characters there are up to its end.
    """

    cells: list[list[str]]
    lines: list[int]
    end: int

    @property
    def width(self) -> int:
        """How many values most rows have."""
        return Counter(map(len, self.cells)).most_common(1)[0][0]


class CsvTable(Table):
    """A csv file, or "-"; `header` "auto" and `delimiter` None are to be found out.

    The first rows decide whether a column holds numbers, True and False, or text; a later text in
    a column of numbers is an error.
    """

    takes = ("header", "delimiter", "decimal", "encoding", "skip_lines", "comment", "na")

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = "standard input" if path == "-" else path
        self.once, self._is_used_up = path == "-", False
        self._options = options
        self._input = StandardInput() if self.once else None
        self._input_text = None if self._input is None else Text(self._input, options)
        self._missing = {*MISSING, *(text for text in options.na if isinstance(text, str))}
        self._number = _NUMBERS[options.decimal].fullmatch
        self._other_number = _OTHER_NUMBERS[options.decimal].fullmatch
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
        rows = _first_rows(head, self.delimiter, whole)
        if not rows.cells:
            raise self.error("there are no rows")
        is_header = options.header
        if is_header == "auto":
            is_header = self._has_names(rows.cells[:_SNIFFED_ROWS])
        self._header = head[: rows.end].encode("utf-8", "surrogateescape") if is_header else b""
        mark = f"[{re.escape(self.delimiter)}\r\n]"
        is_padded = re.search(f"(?:^|{mark}) | (?:{mark}|$)", head) is not None
        self._padding = _PADDING if is_padded else 0
        if is_header:
            self.names = self._names(rows)
            rows = _Rows(rows.cells[1:], rows.lines[1:], 0)
        self.width = rows.width
        self._sort_columns(rows)
        longest = max([sum(map(len, row)) for row in rows.cells]) + 3 * self.width  # with quotes
        # A row at the end: it is missing if a quotation mark before it is never closed.
        self._last = b"\n" + self.delimiter.join(["NA"] * self.width).encode() + b"\n"
        self._block_bytes = max(plain_text.BLOCK_BYTES, 4 * longest, 2 * len(self._last))

    def _sniff(self, head: str, whole: bool, expected: str) -> str:
        """Return the delimiter that makes rows equally long, and most values numbers.

        A blank is tried if no other delimiter makes equal rows of more than one column.
        """
        best, best_score = expected, (False, 0.0, False)
        for delimiter in (expected, *_DELIMITERS.replace(expected, ""), " "):
            if delimiter == self._options.decimal or (delimiter == " " and best_score[0]):
                continue
            if delimiter == " ":
                text = squeezed(head.encode("utf-8", "surrogateescape"))
                head = text.decode("utf-8", "surrogateescape")
            try:
                rows = _first_rows(head, delimiter, whole, _SNIFFED_ROWS)
            except ValueError:  # without a delimiter a row may be too long for a value
                continue
            if not rows.cells:
                continue
            below = rows._replace(cells=rows.cells[1:] or rows.cells)
            width = below.width
            if width == 1 and delimiter != expected:
                continue
            # The first row may have one name fewer.
            lengths = [len(row) for row in rows.cells]
            alike = lengths.count(width) + (lengths[0] == width - 1)
            is_equal = width > 1 and alike == len(lengths)
            if delimiter == " " and best_score[2] and not is_equal:
                continue
            # Without a delimiter 1,5 may as well be two numbers.
            number = _VALUE.fullmatch if width > 1 else self._number
            cells = [*itertools.chain(*below.cells)]
            numbers = [cell in self._missing or cell in BOOLEANS or number(cell) for cell in cells]
            share = sum(map(bool, numbers)) / len(cells) * alike / len(lengths)
            score = (is_equal, share, width > 1)
            if score > best_score:
                best, best_score = delimiter, score
        return best

    def _has_names(self, rows: list[list[str]]) -> bool:
        """Return whether the first row is a header; refuse one that may be, and may not."""
        first, below = rows[0], rows[1:]
        missing = {text.casefold() for text in (*self._missing, "?", "nil")}
        is_missing = {text.casefold() for text in first} <= missing
        if not is_missing and not any(text in BOOLEANS or _VALUE.fullmatch(text) for text in first):
            return True
        counted = bool(below) and [row[0] for row in below] == [*map(str, range(len(below)))]
        if counted and first[0] == "" and "" not in first[1:]:
            return True  # pandas' index has no name, and everything else does
        if is_missing or _may_be_names(first, below, self._missing):
            shown = self.delimiter.join(first)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
            message = f"the first row may be names or data: {shown!r}. Say which: "
            raise self.error(message + "header=True (--header) or header=False (--no-header)")
        return False

    def _names(self, rows: _Rows) -> list[str]:
        """Return the names of the columns, all different; decide which columns are no data."""
        names, *below = rows.cells
        if any(map(re.compile("[\ud800-\udfff]").search, names)):
            raise self.error(f"the names of its columns are {_PASS_AN_ENCODING}")
        if not below:
            raise self.error("there is a header but there are no rows")
        width = _Rows(below, [], 0).width
        ends_empty = {row[-1] for row in below} == {""}
        if {len(row) for row in below} == {len(names) + 1} and not ends_empty:
            names = ["", *names]  # R's write.table gives no name to the names of rows
        if len(names) != width:
            message = f"there are {width} values, and {len(names)} names in the header"
            if len(names) == width - 1 and ends_empty:
                message += f"; rows end with {self.delimiter!r}: add one to the header, too"
            elif mark := re.match("#|%|//", names[0]):
                message += _comment_with(mark[0])
            else:
                message += "; skip_lines= (--skip-lines) leaves out lines before the header"
            line = self._first_line + rows.lines[1 + [len(row) for row in below].index(width)]
            raise SourceError(message, self.path, line=None if self.once else line)
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

    def _sort_columns(self, rows: _Rows) -> None:
        """Find out which columns hold numbers, True and False, text, or numbers and text."""
        self.not_numeric, self.mixed, self._booleans = {}, {}, set[int]()
        whole = [at for at, row in enumerate(rows.cells) if len(row) == self.width]
        for j in range(self.width):
            column = [rows.cells[at][j] for at in whole]
            cells = {*column} - self._missing
            texts = {text for text in cells if not self._number(text)}
            if texts and cells <= BOOLEANS.keys():
                self._booleans.add(j)
            elif texts:
                place = next(place for place, text in enumerate(column) if text in texts)
                first, line = column[place], self._first_line + rows.lines[whole[place]]
                found = f"text ({first[:40]!r}{'' if self.once else f' in line {line}'})"
                if texts == cells and not any(map(self._other_number, texts)):
                    self.not_numeric[j] = found
                else:
                    self.mixed[j] = f"contains {found} among numbers{self._remedy(first)}"

    def _remedy(self, text: str) -> str:
        """Return which options may read a text in a column of numbers."""
        if not self._other_number(text.strip()):
            return "; text for missing values is named by na= (--na)"
        if self._options.decimal == ",":
            return "; if it has a decimal point, do not pass decimal=',' (--decimal ,)"
        return "; if it has a decimal comma, pass decimal=',' (--decimal ,)"

    def taken(self) -> None:
        """Return that `read` gives the chosen columns."""
        return

    def read(self, start: int, block_rows: int, dtype: np.dtype) -> Iterator[Any]:
        """Yield the rows from number `start` on."""
        kinds = {j: pa.bool_() if j in self._booleans else pa.float64() for j in self.chosen()}
        row = 0
        for batch in self._batches(kinds):
            if row + batch.num_rows > start:
                part, kind = batch.slice(max(start - row, 0)), pa.float64()
                columns = [c if c.type == kind else c.cast(kind) for c in part.columns]
                part = pa.RecordBatch.from_arrays(columns, part.schema.names)
                yield part.to_tensor(null_to_nan=True, row_major=True).to_numpy()
            row += batch.num_rows

    def cells(self, columns: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield some columns as text."""
        if self.once:
            raise self.error(
                "it can be read only once: write it to a file first, to keep other columns"
            )
        for batch in self._batches(dict.fromkeys(columns, pa.string())):
            yield [batch.column(str(j)) for j in columns]

    def _batches(self, kinds: dict[int, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of some columns, which are called by their numbers."""
        if self._is_used_up:
            raise self.error("it can be read only once")
        self._is_used_up = self.once
        as_text = pa.string() in kinds.values()
        # With one thread pyarrow counts the rows.
        reading = pa.csv.ReadOptions(
            use_threads=False,
            block_size=self._block_bytes,
            column_names=[*map(str, range(self.width))],
        )
        parsing = pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        converting = pa.csv.ConvertOptions(
            column_types={str(j): kind for j, kind in kinds.items()},
            include_columns=[*map(str, kinds)],
            null_values=self._with_blanks(self._missing),
            true_values=self._with_blanks({text for text, value in BOOLEANS.items() if value}),
            false_values=self._with_blanks({text for text, value in BOOLEANS.items() if not value}),
            strings_can_be_null=not as_text,
            check_utf8=as_text,
            decimal_point=self._options.decimal,
        )
        held, row = None, 0  # until it is known whether the last row is ours
        try:
            with self._text() as text:
                text.read(len(self._header))
                text.chunks = itertools.chain(text.chunks, [self._last])
                for batch in pa.csv.open_csv(text, reading, parsing, converting):
                    if batch.num_rows:
                        if held is not None:
                            yield held
                        held, row = batch, row + batch.num_rows
        except pa.ArrowInvalid as error:
            raise self._located(error, row) from error
        ours = [] if held is None else held.slice(held.num_rows - 1).columns
        if {column[0].as_py() for column in ours} - {None, "NA"} or held is None:
            raise self.error(_OPEN, row=row)
        if held.num_rows > 1:
            yield held.slice(0, held.num_rows - 1)

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

    def _located(self, error: Exception, row: int) -> SourceError:
        """Return the error that says where pyarrow failed, after `row` rows."""
        if match := _OTHER_LENGTH.search(str(error)):
            number, expected, found, mark = match.groups()
            message = f"{found} values, not {expected}{_comment_with(mark) if mark else ''}"
            return self.error(message, row=int(number))
        if match := _NOT_A_NUMBER.search(str(error)):
            index, number, text = match.groups()
            kind = "neither True nor False" if int(index) in self._booleans else "not a number"
            message = f"{text[:40]!r} is {kind}{self._remedy(text)}"
            message += "; exclude= (--exclude) leaves a column out"
            if "\n" in text:
                message = _OPEN
            return self.error(message, row=int(number), column=self.column(int(index)))
        if "UTF8" in str(error):
            return self.error(f"its text is {_PASS_AN_ENCODING}")
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
    return (
        f"; if lines that begin with {mark!r} are no rows, pass comment={mark!r} "
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


def _first_rows(text: str, delimiter: str, whole: bool, most: int | None = None) -> _Rows:
    """Return the first rows of a text; the last one counts only if it is whole."""
    lines = io.StringIO(text, newline="")
    rows: list[list[str]] = []
    starts: list[int] = []
    end, reader = 0, csv.reader(lines, delimiter=delimiter)
    try:
        before = 0
        for row in reader:
            if row:
                end = end or lines.tell()
                rows.append([*map(str.strip, row)])
                starts.append(before)
                if len(rows) == most:
                    return _Rows(rows, starts, end)
            before = reader.line_num
    except csv.Error as error:  # a value is longer than the module reads
        raise ValueError(f"{_OPEN}, or a value is far too long ({error})") from error
    last = len(rows) if whole else -1
    return _Rows(rows[:last], starts[:last], end)


def _starts(reader: Any) -> Iterator[int]:
    """Yield the lines, from 0, in which the rows of a reader begin that are not empty."""
    before = 0
    for row in reader:
        if row:
            yield before
        before = reader.line_num


def _may_be_names(first: list[str], below: list[list[str]], missing: set[str]) -> bool:
    """Return whether a first row that has numbers may be a header.

    So it is if there is text above numbers, if its numbers are whole and all different, if they
    increase or decrease, or if they are whole above fractions.
    """
    number = _NUMBERS["."].fullmatch
    rows = [first, *(row for row in below if len(row) == len(first))]
    values = np.array(
        [
            [BOOLEANS.get(text, float(text) if number(text) else np.nan) for text in texts]
            for texts in ([text.replace(",", ".", 1) for text in row] for row in rows)
        ]
    )
    row, others = np.clip(values[0], -1e300, 1e300), np.clip(values[1:], -1e300, 1e300)
    is_text = np.array([text not in missing for text in first])
    is_number = ~np.isnan(row)
    if (is_text & ~is_number & ~np.isnan(others).all(axis=0)).any():
        return True
    row, others = row[is_number], others[:, is_number]
    whole, distinct = bool((row % 1 == 0).all()), len(set(row)) == len(row)
    steps = np.diff(row)
    # Two numbers always increase or decrease: they count only if they increase.
    ordered = (len(steps) > 0 and (steps > 0).all()) or (len(steps) > 1 and (steps < 0).all())
    if distinct and (whole or ordered):
        return True
    is_one = len(row) > 1 and len(set(row)) == 1  # names would differ
    return whole and not is_one and bool((others % 1 > 0).any())
