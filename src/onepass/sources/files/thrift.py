"""Thrift's compact protocol, in which parquet files say what is where in them.

A value is read together with its kind, so that it can be written again as it was: a structure is
{field: (kind, value)} and a list (kind of its values, values).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, _MAP, STRUCT = range(1, 13)
Struct: TypeAlias = dict[int, tuple[int, Any]]

_DEEPEST = 32
_BYTES = [bytes([value]) for value in range(256)]


class Reader:
    """Reads values from bytes, one after the other; IndexError where the bytes end.

    Parameters
    ----------
    data : bytes
        Where they are.

    Attributes
    ----------
    at : int
        The index of the next byte.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> Struct:
        """Return the structure that comes next."""
        return {field: (kind, value) for field, kind, value in self.fields(depth)}

    def fields(self, depth: int = 0, until: int = 0) -> Iterator[tuple[int, int, Any]]:
        """Yield field, kind and value of the structure that comes next, until a field if given.

        The value of that field comes next then.
        """
        field = 0
        while head := self._data[self.at]:
            self.at += 1
            kind, step = head & 15, head >> 4
            field = field + step if step else self._signed()
            if field == until:
                return
            yield field, kind, self._value(kind, depth + 1)
        self.at += 1

    def list_head(self) -> tuple[int, int]:
        """Return the kind of values in the list that comes next, and how many there are."""
        head = self._byte()
        return head & 15, head >> 4 if head >> 4 < 15 else self._unsigned()

    def _value(self, kind: int, depth: int) -> Any:
        """Return a value of a kind."""
        if depth > _DEEPEST:
            raise ValueError("structures within structures without end")
        if I16 <= kind <= I64:  # the most frequent ones first
            return self._signed()
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._unsigned())
        if kind in (LIST, SET):
            inner, count = self.list_head()
            return inner, [self._item(inner, depth + 1) for _ in range(count)]
        if kind == STRUCT:
            return self.struct(depth)
        raise ValueError(f"a value of the unknown kind {kind}")

    def _item(self, kind: int, depth: int) -> Any:
        """Return a value in a list, where a truth value takes a byte."""
        return self._byte() == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)

    def _byte(self) -> int:
        value = self._data[self.at]
        self.at += 1
        return value

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise IndexError("the bytes end within a value")
        self.at += count
        return self._data[self.at - count : self.at]

    def _unsigned(self) -> int:
        data, at = self._data, self.at + 1
        value = data[at - 1]
        if value > 127:
            value &= 127
            for shift in range(7, 70, 7):
                byte = data[at]
                at += 1
                value |= (byte & 127) << shift
                if byte < 128:
                    break
            else:
                raise ValueError("a number of more than ten bytes")
        self.at = at
        return value

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def written(struct: Struct) -> bytes:
    """Return a structure as bytes."""
    parts, last = [], 0
    for field, (kind, value) in sorted(struct.items()):
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        step = field - last
        head = _BYTES[step << 4 | kind] if 0 < step < 16 else _BYTES[kind] + _signed(field)
        parts.append(head)
        if kind not in (TRUE, FALSE):
            parts.append(_value(kind, value))
        last = field
    return b"".join([*parts, b"\0"])


def _value(kind: int, value: Any) -> bytes:
    """Return a value as bytes."""
    if kind in (TRUE, FALSE):
        return bytes([TRUE if value else FALSE])
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return _signed(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _unsigned(len(value)) + value
    if kind in (LIST, SET):
        inner, values = value
        short = len(values) < 15
        head = bytes([(len(values) if short else 15) << 4 | inner])
        count = b"" if short else _unsigned(len(values))
        return b"".join([head, count, *(_value(inner, each) for each in values)])
    return written(value)


def _unsigned(value: int) -> bytes:
    """Return a number from 0 on, seven bits in each byte."""
    if value < 128:
        return _BYTES[value]
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _signed(value: int) -> bytes:
    """Return a number, its sign in the last bit."""
    return _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)
