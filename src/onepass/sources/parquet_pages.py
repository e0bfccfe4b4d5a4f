"""How much memory the pages of a parquet file take, before they are expanded.

pyarrow expands a page to the size that stands in front of it, and holds one of each column; a list
is read as a whole, and repeated values in it take no space in the file. `ParquetFile.metadata` has
sizes of whole row groups only, which nothing compares with the pages, and pyarrow's memory pools
have no limit: so the headers of pages are read here. They are structs in Thrift's compact protocol,
described in https://github.com/apache/parquet-format (parquet.thrift, PageHeader).
"""

from __future__ import annotations

from typing import Any

from onepass.sources.base import HONEST_RATIO, SourceError, check_size

_HEADER_BYTES = (1 << 8, 1 << 16)  # to read: few headers are longer than a few dozen bytes
_UNCOMPRESSED, _COMPRESSED = 2, 3  # numbers of the fields that say how long a page is
_DATA_HEADERS = (5, 8)  # of the fields for pages of data, of either version,
_COUNT = 1  # and of the field in them that says how many values there are
_VALUE_BYTES = 24  # of memory for a number of a list: itself, its levels, and a copy


def check_pages(file: Any, group: Any, schema: Any, columns: set[str], most: int, path: str) -> int:
    """Refuse a row group if the largest pages of all its columns expand too much together.

    Refuse it as well if lists have many more numbers than bytes, or if values of a fixed length
    take too much: one in a dictionary stands for many. `group` is the metadata of the row group in
    the open `file`, `columns` are the names of the columns that are read, `most` rows at a time.

    Return how much its lists and values of a fixed length take together.
    """
    expanded = stored = in_lists = fixed = 0
    for number in range(group.num_columns):
        column = group.column(number)
        name = column.path_in_schema
        # Numbers of lists are two levels below the list, or one in old files.
        if {name, name.rpartition(".")[0], name.rsplit(".", 2)[0]} & columns:
            leaf = schema.column(number)
            if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type == "DECIMAL":
                what = "decimal numbers in bytes of any length are not read: write them as decimals"
                raise SourceError(f"{what} of a fixed length", path, column=name)
            stored += column.total_compressed_size
            largest, count = _pages(file, column)
            if column.compression != "UNCOMPRESSED":
                expanded += largest
            in_lists += count * (name not in columns)
            fixed += leaf.length * (min(count, most) if name in columns else count)
    what = f"pages in {stored:,} bytes of a row group expand to"
    remedy = "; write smaller pages (data_page_size in pyarrow)"
    check_size(what, expanded, path, stored, remedy)
    what = f"lists of {in_lists:,} numbers are stored in {stored:,} bytes of a row group, and take"
    remedy = "; write smaller row groups (row_group_size in pyarrow)"
    honest = stored * _VALUE_BYTES // HONEST_RATIO  # at least one byte for each number
    check_size(what, in_lists * _VALUE_BYTES, path, honest, remedy)
    what = f"{stored:,} bytes of a row group with values of a fixed length take"
    check_size(what, fixed, path, stored)
    return in_lists * _VALUE_BYTES + fixed


def _pages(file: Any, column: Any) -> tuple[int, int]:
    """Return the size of the largest page of a column when it is expanded, and its values."""
    at, largest, count = column.data_page_offset, 0, 0
    if column.has_dictionary_page and column.dictionary_page_offset:
        at = min(at, column.dictionary_page_offset)
    end = at + column.total_compressed_size
    while at < end:
        length, header = _header(file, at)
        largest = max(largest, header[_UNCOMPRESSED])
        count += sum(header.get(field, {}).get(_COUNT, 0) for field in _DATA_HEADERS)
        at += length + header[_COMPRESSED]
    return largest, count


def _header(file: Any, at: int) -> tuple[int, dict[int, Any]]:
    """Return the length of the header of a page, and its fields."""
    for size in _HEADER_BYTES:
        file.seek(at)
        header = _Struct(file.read(size))
        try:
            fields = header.fields()
        except IndexError:
            continue
        if min(fields.get(_UNCOMPRESSED, -1), fields.get(_COMPRESSED, -1)) >= 0:
            return header.at, fields
    raise ValueError("a page has no sound header")


class _Struct:
    """A struct in Thrift's compact protocol, read from its first byte on."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def fields(self) -> dict[int, Any]:
        """Return the fields that are whole numbers and structs; `at` is behind the struct then."""
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            field = field + delta if delta else self._zigzag()
            value = self._value(kind)
            if value is not None:
                found[field] = value
        return found

    def _byte(self) -> int:
        """Return the next byte."""
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        """Return the next whole number, seven bits in each byte."""
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        """Return the next whole number with a sign."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _value(self, kind: int) -> Any:
        """Return a value if it is a whole number or a struct, and pass over it if not."""
        if kind in (4, 5, 6):  # whole numbers of 16, 32 and 64 bits
            return self._zigzag()
        if kind == 12:
            return self.fields()
        if kind == 3:  # a byte
            self.at += 1
        elif kind == 7:  # a double
            self.at += 8
        elif kind == 8:  # bytes
            length = self._varint()
            self.at += length
        elif kind in (9, 10):  # a list or a set
            head = self._byte()
            count = self._varint() if head >> 4 == 15 else head >> 4
            for _ in range(min(count, len(self._data))):  # each has at least one byte
                self._value(3 if head & 15 in (1, 2) else head & 15)
        elif kind not in (1, 2):  # true and false, which are in the type
            raise ValueError("a page has no sound header")
        return None
