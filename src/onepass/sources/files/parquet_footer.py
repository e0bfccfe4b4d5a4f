"""What a parquet file says of itself at its end: which columns there are, and where they are.

pyarrow knows it too, but ends the whole process where a damaged file says what cannot be.
"""

from __future__ import annotations

import io
import os

from onepass.sources.files.thrift import Reader, Struct

_SCHEMA, _ROW_GROUPS = 2, 4
_TYPE, _NAME, _CHILDREN = 1, 4, 5
_ELSEWHERE, _CONTENT = 1, 3


class Footer:
    """The end of a parquet file, read as far as it is asked for.

    Parameters
    ----------
    file : file
        The parquet file.

    Raises
    ------
    LookupError
        Here and below, if there is nothing of what is asked for.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, os.SEEK_END)
        self._reader = Reader(file.read(length))
        self._columns: dict[str, tuple[int, Struct]] = {}
        for field, _, value in self._reader.fields(until=_ROW_GROUPS):
            if field == _SCHEMA:
                self._columns = _at_the_top(value[1])
        self._count = self._reader.list_head()[1]
        self._next = 0
        self._group: Struct = {}

    def column(self, group: int, name: str) -> tuple[Struct, Struct]:
        """Return what is said of a column in general, and in a row group.

        Parameters
        ----------
        group : int
            Never less than before.
        name : str
            Of a column that is not within another one.
        """
        while self._next <= group:
            if self._next == self._count:
                raise LookupError("there are fewer row groups")
            self._group = self._reader.struct()
            self._next += 1
        index, element = self._columns[name]
        chunk = self._group[1][1][1][index]
        if _ELSEWHERE in chunk:
            raise LookupError("the column is in another file")
        content = chunk[_CONTENT][1]
        if content[_TYPE] != element[_TYPE] or content[3][1][1] != [name.encode()]:
            raise LookupError("the columns are not in the order of the schema")
        return element, content


def _at_the_top(elements: list[Struct]) -> dict[str, tuple[int, Struct]]:
    """Return the columns that are not within others: name -> index, and what is said of it."""
    found: dict[str, tuple[int, Struct]] = {}
    index, within = 0, [elements[0][_CHILDREN][1]]  # how many are to come at each level
    for element in elements[1:]:
        while within[-1] == 0:
            within.pop()
        within[-1] -= 1
        if _CHILDREN in element:
            within.append(element[_CHILDREN][1])
            continue
        if len(within) == 1:
            found[element[_NAME][1].decode()] = index, element
        index += 1
    return found
