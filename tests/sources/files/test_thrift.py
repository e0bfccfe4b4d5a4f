"""Thrift's compact protocol: what is written is read, and damage is an error."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass.sources.files import thrift
from onepass.sources.files.thrift import (
    BINARY,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    LIST,
    SET,
    STRUCT,
    TRUE,
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
PLAIN = {
    TRUE: st.booleans(),
    BYTE: st.integers(0, 255),
    I16: NUMBERS,
    I32: NUMBERS,
    I64: NUMBERS,
    DOUBLE: st.binary(min_size=8, max_size=8),
    BINARY: st.binary(max_size=200),
}


def lists(kind, values):
    return st.tuples(st.just(kind), st.lists(values, max_size=20))


def structs(inner):
    fields = [st.tuples(st.just(kind), values) for kind, values in PLAIN.items()]
    held = [st.tuples(st.just(STRUCT), inner)]
    for kind, values in [*PLAIN.items(), (STRUCT, inner)]:
        held += [st.tuples(st.just(which), lists(kind, values)) for which in (LIST, SET)]
    return st.dictionaries(st.integers(1, 300), st.one_of(*fields, *held), max_size=6)


STRUCTS = st.recursive(st.just({}), structs, max_leaves=6)


def same(a, b):
    """Whether two values are the same; the kind of a truth value is its value."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(
            same(a[key][1], b[key][1]) and (a[key][0] == b[key][0] or a[key][0] == TRUE)
            for key in a
        )
    if isinstance(a, tuple):
        return a[0] == b[0] and len(a[1]) == len(b[1]) and all(map(same, a[1], b[1]))
    return a == b


@given(STRUCTS, st.binary(max_size=5))
def test_round_trip(struct, more):
    content = thrift.written(struct)
    reader = thrift.Reader(content + more)
    assert same(struct, reader.struct())
    assert reader.at == len(content)


@given(STRUCTS, st.data())
def test_an_early_end_is_an_error(struct, data):
    content = thrift.written(struct)
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(IndexError):
        thrift.Reader(content[:cut]).struct()


@given(st.binary(max_size=300))
def test_anything_at_all_is_read_or_refused(content):
    with contextlib.suppress(IndexError, ValueError):
        thrift.Reader(content).struct()


@pytest.mark.parametrize(
    "content",
    [b"\x1c" * 1000, b"\x19" * 1000, b"\x15" + b"\xff" * 11, b"\x1b\0", b"\x19\xfc" + b"\xff" * 9],
)
def test_hostile_bytes_are_refused_at_once(content):
    with pytest.raises((IndexError, ValueError)):
        thrift.Reader(content).struct()
