"""Damaged and hostile files: one clear error, never another content."""

import io
import json
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from onepass.persistence import archive
from onepass.persistence.archive import VERSION

HEADER = {"kind": "pca", "names": ["a", "b"], "n": 12}
ARRAYS = {"basis": np.arange(12.0).reshape(3, 4), "mask": np.array([True, False]), "n": np.array(7)}


def mutated(content, rng):
    """One random change: bits, a cut, an insertion, a copy, extreme numbers."""
    data = bytearray(content)
    at, other = rng.integers(len(data), size=2).tolist()
    extreme = [b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", struct.pack("<q", 2**62)]
    match rng.integers(6):
        case 0:
            data[at] ^= 1 << int(rng.integers(8))
        case 1:
            del data[at:]
        case 2:
            del data[at : at + int(rng.integers(1, 50))]
        case 3:
            data[at:at] = rng.bytes(int(rng.integers(1, 50)))
        case 4:
            data[at : at + 30] = data[other : other + 30]
        case 5:
            value = extreme[int(rng.integers(4))]
            data[at : at + len(value)] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 1000), pytest.param(1, 20_000, marks=pytest.mark.long)]
)
def test_a_damaged_file_is_refused_or_the_same(seed, count):
    content, rng = archive.to_bytes(HEADER, ARRAYS), np.random.default_rng(seed)
    refused = 0
    for _ in range(count):
        try:
            header, arrays = archive.from_bytes(mutated(content, rng))
        except archive.ModelFileError:
            refused += 1
            continue
        assert header == HEADER  # the change hit what zip ignores, such as a date
        for name in arrays.keys() & ARRAYS.keys():
            np.testing.assert_array_equal(arrays[name], ARRAYS[name])
    assert refused > count / 2


def npy(array, **keywords):
    stream = io.BytesIO()
    np.save(stream, array, **keywords)
    return stream.getvalue()


def text(content):
    return npy(np.frombuffer(content, np.uint8))


def whole_header(**changes):
    whole = {"format": "onepass model", "version": VERSION, "header": {}, **changes}
    return text(json.dumps(whole).encode())


def forged(members, compression=zipfile.ZIP_STORED):
    """Return a zip archive of (name, bytes)."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def claims(shape, descr="<f8", body=b""):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


ARRAY = {
    "objects": npy(np.array([Bomb()]), allow_pickle=True),
    "a bare pickle": pickle.dumps(Bomb()),
    "a huge shape": claims("(1000000000000,)"),
    "a huge empty shape": claims("(0, 99999999999999999, 99999999999999999)"),
    "too many dimensions": claims("(" + "1, " * 100 + ")", body=bytes(8)),
    "code as shape": claims("(__import__('os'),)"),
    "too short": claims("(3,)", body=bytes(23)),
    "nothing": b"",
}
WHOLE = {
    "no header": npy(np.ones(2)),
    "another format": whole_header(format="other"),
    "no json": text(b"{"),
    "deep json": text(b"[" * 200_000),
}
GOOD = ("header.npy", whole_header())
HOSTILE = {
    **{name: forged([GOOD, ("a.npy", array)]) for name, array in ARRAY.items()},
    **{f"{name} as header": forged([("header.npy", whole)]) for name, whole in WHOLE.items()},
    "a compressed bomb": forged(
        [GOOD, ("a.npy", claims("(10000000,)", body=bytes(80_000_000)))], zipfile.ZIP_DEFLATED
    ),
    "an npz": forged([("a.npy", npy(np.ones(3)))]),
    "an empty file": b"",
    "an empty zip": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_and_take_no_memory(name):
    tracemalloc.start()
    try:
        with pytest.raises(archive.ModelFileError):
            archive.from_bytes(HOSTILE[name])
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    good = forged([GOOD, ("a.npy", claims("(3,)", body=bytes(24)))])
    assert archive.from_bytes(good)[0] == {}


def test_overlapping_members_are_refused():
    content = forged([GOOD, ("a.npy", claims("(1000,)", body=bytes(8000))), ("b.npy", b"")])
    entry = content[content.rindex(b"a.npy") - 46 :][:46]
    at = content.rindex(b"b.npy") - 46
    with pytest.raises(archive.ModelFileError, match="larger"):
        archive.from_bytes(content[:at] + entry + content[at + 46 :])


@pytest.mark.parametrize(("version", "named"), [(3, "onepass 0.2"), (99, "format 99")])
def test_files_of_other_versions_are_refused_with_both_named(version, named):
    with pytest.raises(archive.ModelFileError, match=rf"{named}.*onepass 0\.3"):
        archive.from_bytes(forged([("header.npy", whole_header(version=version))]))
