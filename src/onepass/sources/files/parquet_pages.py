"""Some rows of one column of a parquet file, wherever they are: page by page.

pyarrow reads a column from its beginning and keeps a page and a dictionary, a megabyte each, for
every column that is being read. Here the few pages that hold the rows are found by their headers
and given to pyarrow as a small parquet file of their own; nothing is kept.
"""

from __future__ import annotations

import io
import os
from collections import deque
from dataclasses import dataclass
from typing import Any

from onepass.sources.files.thrift import BINARY, I32, I64, LIST, STRUCT, Reader, Struct, written

_MAGIC = b"PAR1"
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # kinds of pages
_BY_DICTIONARY = (2, 8)  # encodings
_NAME = 4  # in the schema
# What a row group says of a column: type, encodings, path and codec, values, bytes before and after
# compression, and where its pages begin.
_KEPT = (1, 2, 3, 4)
_VALUES, _BYTES_BEFORE, _BYTES, _DATA_OFFSET, _DICTIONARY_OFFSET = 5, 6, 7, 9, 11
_SHORT_HEADER = 1 << 8


@dataclass(frozen=True)
class Page:
    """A page: its bytes from `begin` to `end` in the file, its rows from `row` to `last`."""

    begin: int
    end: int
    row: int
    last: int
    by_dictionary: bool


class ColumnPages:
    """A column of one row group, read in stretches of rows that never go back.

    Parameters
    ----------
    file : file
        The parquet file.
    element : Struct
        What its schema says of the column.
    content : Struct
        What the row group says of it.

    Raises
    ------
    LookupError
        If it says too little.
    """

    def __init__(self, file: io.BufferedReader, element: Struct, content: Struct) -> None:
        self._file, self._element, self._content = file, element, content
        self._name = element[_NAME][1].decode()
        self._length = content[_VALUES][1]
        self._next = content[_DATA_OFFSET][1]
        _, first = content.get(_DICTIONARY_OFFSET, (I64, 0))
        if 0 < first < self._next:
            self._next = first
        self._end = self._next + content[_BYTES][1]
        if not 0 <= self._next <= self._end <= os.fstat(file.fileno()).st_size:
            raise ValueError(f"column {self._name!r} is not within the file")
        self._dictionary = Page(0, 0, 0, 0, False)
        self._pages: deque[Page] = deque()
        self._rows = 0

    def whole(self, row: int, most: int) -> int:
        """Return how many rows from a row on end where a page ends: at most so many if possible."""
        self._find(row, row + most)
        ends = [page.last - row for page in self._pages]
        return max([end for end in ends if end <= most], default=ends[0] if ends else most)

    def read(self, begin: int, end: int) -> Any:
        """Return the rows from number `begin` to `end`, as a pyarrow.ChunkedArray."""
        import pyarrow as pa
        import pyarrow.parquet

        self._find(begin, end)
        if self._rows < end:
            raise ValueError(f"column {self._name!r} ends after {self._rows} rows")
        pages = [page for page in self._pages if page.row < end]
        content = pa.BufferReader(self._small_file(pages))
        with pyarrow.parquet.ParquetFile(content, pre_buffer=False) as small:
            column = small.read(use_threads=False).column(0)
        return column.slice(begin - pages[0].row, end - begin)

    def _find(self, begin: int, end: int) -> None:
        """Let go of pages before some rows, and find those that hold them."""
        while self._pages and self._pages[0].last <= begin:
            self._pages.popleft()
        while self._rows < end and self._next < self._end:
            header, page = self._look()
            self._next, self._rows = page.end, page.last
            if header == _DICTIONARY:
                self._dictionary = page
            elif page.last > max(begin, page.row):
                self._pages.append(page)

    def _look(self) -> tuple[int, Page]:
        """Return what kind of page comes next, and where it is."""
        try:
            header, length = self._header()
            kind, size = header[1][1], header[3][1]
            rows, by_dictionary = 0, False
            if kind in (_DATA, _DATA_2):
                says = header[5 if kind == _DATA else 8][1]
                rows = says[1 if kind == _DATA else 3][1]
                by_dictionary = says[2 if kind == _DATA else 4][1] in _BY_DICTIONARY
            end = self._next + length + size
            if not (0 <= size <= self._end - self._next and 0 <= rows <= self._length - self._rows):
                raise ValueError(f"it says {size} bytes and {rows} rows")
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"column {self._name!r} has no sound page here ({error})") from error
        return kind, Page(self._next, end, self._rows, self._rows + rows, by_dictionary)

    def _header(self) -> tuple[Struct, int]:
        """Return the header of the next page, and its length."""
        length = _SHORT_HEADER
        while True:
            self._file.seek(self._next)
            reader = Reader(self._file.read(min(length, self._end - self._next)))
            try:
                return reader.struct(), reader.at
            except IndexError:  # statistics make it long
                if length >= self._end - self._next:
                    raise
                length *= 4

    def _small_file(self, pages: list[Page]) -> Any:
        """Return a parquet file of some pages, as a pyarrow.Buffer."""
        import pyarrow as pa

        needed = any(page.by_dictionary for page in pages)
        dictionary = self._dictionary if needed else Page(0, 0, 0, 0, False)
        first, last = pages[0], pages[-1]
        shared, own = dictionary.end - dictionary.begin, last.end - first.begin
        start = len(_MAGIC)
        footer = self._footer(last.last - first.row, start, shared, own)
        footer += len(footer).to_bytes(4, "little") + _MAGIC
        # Memory that was used before is at hand there, and new memory takes longer than reading.
        content = pa.allocate_buffer(start + shared + own + len(footer))
        view = memoryview(content).cast("B")
        view[:start] = _MAGIC
        if shared:
            self._copy(dictionary.begin, view[start : start + shared])
        self._copy(first.begin, view[start + shared : -len(footer)])
        view[-len(footer) :] = footer
        return content

    def _copy(self, begin: int, out: memoryview) -> None:
        """Fill with the bytes of the file from some place on."""
        self._file.seek(begin)
        if self._file.readinto(out) != len(out):
            raise ValueError(f"the file ends within column {self._name!r}")

    def _footer(self, rows: int, start: int, shared: int, own: int) -> bytes:
        """Return what a file says that holds a dictionary and pages, of so many bytes each."""
        says: Struct = {
            **{field: self._content[field] for field in _KEPT},
            _VALUES: (I64, rows),
            _BYTES_BEFORE: (I64, shared + own),
            _BYTES: (I64, shared + own),
            _DATA_OFFSET: (I64, start + shared),
        }
        if shared:
            says[_DICTIONARY_OFFSET] = (I64, start)
        group: Struct = {
            1: (LIST, (STRUCT, [{2: (I64, start), 3: (STRUCT, says)}])),
            2: (I64, shared + own),
            3: (I64, rows),
        }
        root: Struct = {_NAME: (BINARY, b"schema"), 5: (I32, 1)}
        return written(
            {
                1: (I32, 2),
                2: (LIST, (STRUCT, [root, self._element])),
                3: (I64, rows),
                4: (LIST, (STRUCT, [group])),
            }
        )
