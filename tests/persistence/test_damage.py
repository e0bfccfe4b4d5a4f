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
from onepass.persistence.archive import SEAL_LENGTH, VERSION, seal

HEADER = {"kind": "pca", "names": ["a", "b"], "n": 12}
ARRAYS = {"basis": np.arange(12.0).reshape(3, 4), "mask": np.array([True, False]), "n": np.array(7)}


@pytest.fixture
def path(tmp_path):
    archive.write(tmp_path / "m.onepass", HEADER, ARRAYS)
    return tmp_path / "m.onepass"


def sealed(content):
    """Bytes with a checksum that fits them: not damaged but forged."""
    body = content[:-SEAL_LENGTH]
    return body + seal(io.BytesIO(body), len(body))


def mutated(content, rng):
    """One random change: bits, bytes, a cut, an insertion, a copy, extreme numbers."""
    data = bytearray(content)
    at = int(rng.integers(len(data)))
    match rng.integers(7):
        case 0:
            data[at] ^= 1 << int(rng.integers(8))
        case 1:
            del data[at:]
        case 2:
            del data[at : at + int(rng.integers(1, 50))]
        case 3:
            data[at:at] = rng.bytes(int(rng.integers(1, 50)))
        case 4:
            other = int(rng.integers(len(data)))
            data[at : at + 30] = data[other : other + 30]
        case 5:
            extreme = [b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", struct.pack("<q", 2**62)]
            value = extreme[int(rng.integers(4))]
            data[at : at + len(value)] = value
        case 6:
            for _ in range(8):
                data[int(rng.integers(len(data)))] = int(rng.integers(256))
    return bytes(data)


def mutate(path, n, seed):
    rng = np.random.default_rng(seed)
    content = path.read_bytes()
    forged_and_read = 0
    for _ in range(n):
        changed = mutated(content, rng)
        if changed == content:
            continue
        path.write_bytes(changed)
        with pytest.raises(archive.ModelFileError, match=r"m\.onepass: not a sound"):
            archive.read(path)
        # With a checksum that fits, the other lines of defence are on their own.
        path.write_bytes(sealed(changed))
        try:
            _, arrays = archive.read(path)
        except archive.ModelFileError:
            continue
        forged_and_read += 1
        for name in arrays.keys() & ARRAYS.keys():
            np.testing.assert_array_equal(arrays[name], ARRAYS[name])
    # Some changes hit what zip ignores, such as dates: the forgeries must not all be trivial.
    assert 0 < forged_and_read < n / 2


def test_mutations(path):
    mutate(path, 600, seed=0)


@pytest.mark.long
def test_many_mutations(path):
    mutate(path, 10_000, seed=1)


def test_every_bit_counts(path):
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :])
        with pytest.raises(archive.ModelFileError):
            archive.read(path)


def npy(array, **keywords):
    stream = io.BytesIO()
    np.save(stream, array, **keywords)
    return stream.getvalue()


def whole_header(**changes):
    whole = {"format": "onepass model", "version": VERSION, "header": {}, **changes}
    return npy(np.frombuffer(json.dumps(whole).encode(), dtype=np.uint8))


def forge(path, members, compression=zipfile.ZIP_STORED):
    """A zip archive of (name, bytes) with a fitting checksum."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.comment = bytes(SEAL_LENGTH)
        for name, content in members:
            archive.writestr(name, content)
    path.write_bytes(sealed(stream.getvalue()))


def npy_header(text, body=b""):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + body


def claims(shape, descr="<f8", body=b""):
    return npy_header(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}", body)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


GOOD = ("header.npy", whole_header())
HOSTILE = {
    "no header": [("a.npy", npy(np.ones(2)))],
    "another format": [("header.npy", whole_header(format="other"))],
    "newer": [("header.npy", whole_header(version=VERSION + 1))],
    "no version": [("header.npy", npy(np.frombuffer(b'{"format":"onepass model"}', np.uint8)))],
    "header is a list": [("header.npy", whole_header(header=[]))],
    "not json": [("header.npy", npy(np.frombuffer(b"{", np.uint8)))],
    "nan": [("header.npy", whole_header(header={"a": float("nan")}))],
    "deep json": [("header.npy", npy(np.frombuffer(b"[" * 200_000, np.uint8)))],
    "object array": [GOOD, ("a.npy", npy(np.array([Bomb()]), allow_pickle=True))],
    "bare pickle": [GOOD, ("a.npy", pickle.dumps(Bomb()))],
    "text array": [GOOD, ("a.npy", npy(np.array(["a"])))],
    "huge shape": [GOOD, ("a.npy", claims("(1000000000000,)"))],
    "overflowing shape": [GOOD, ("a.npy", claims("(4294967296, 4294967296)", body=b""))],
    "huge empty shape": [GOOD, ("a.npy", claims("(0, 99999999999999999, 99999999999999999)"))],
    "too many dimensions": [GOOD, ("a.npy", claims("(" + "1, " * 100 + ")", body=bytes(8)))],
    "digits": [GOOD, ("a.npy", claims("(" + "1" * 60_000))],
    "code as shape": [GOOD, ("a.npy", claims("(__import__('os'),)"))],
    "too short": [GOOD, ("a.npy", claims("(3,)", body=bytes(23)))],
    "too long": [GOOD, ("a.npy", claims("(3,)", body=bytes(25)))],
    "empty member": [GOOD, ("a.npy", b"")],
    "not npy": [GOOD, ("a.txt", b"hello")],
    "path": [GOOD, ("../../a.npy", npy(np.ones(2)))],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile(tmp_path, members):
    forge(tmp_path / "h", members)
    tracemalloc.start()
    try:
        with pytest.raises(archive.ModelFileError):
            archive.read(tmp_path / "h")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_the_forger_can_write_good_files(tmp_path):
    forge(tmp_path / "h", [GOOD, ("a.npy", claims("(3,)", body=bytes(24)))])
    assert archive.read(tmp_path / "h")[0] == {}


def test_compressed_is_refused(tmp_path):
    bomb = claims("(10000000,)", body=bytes(80_000_000))
    forge(tmp_path / "h", [GOOD, ("a.npy", bomb)], zipfile.ZIP_DEFLATED)
    with pytest.raises(archive.ModelFileError, match="compressed"):
        archive.read(tmp_path / "h")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicates_are_refused(tmp_path):
    forge(tmp_path / "h", [GOOD, ("a.npy", npy(np.ones(2))), ("a.npy", npy(np.ones(2)))])
    with pytest.raises(archive.ModelFileError, match="contents"):
        archive.read(tmp_path / "h")


def test_encrypted_is_refused(path):
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(signature) + flags] |= 1
    path.write_bytes(sealed(bytes(content)))
    with pytest.raises(archive.ModelFileError, match="encrypted"):
        archive.read(path)


def test_overlapping_members_are_refused(tmp_path):
    body = claims("(1000,)", body=bytes(8000))
    forge(tmp_path / "h", [GOOD, ("a.npy", body), ("b.npy", b""), ("c.npy", b"")])
    content = (tmp_path / "h").read_bytes()
    entry = content[content.rindex(b"a.npy") - 46 :][:46]
    for name in (b"b.npy", b"c.npy"):
        at = content.rindex(name) - 46
        content = content[:at] + entry + content[at + 46 :]
    (tmp_path / "h").write_bytes(sealed(content))
    with pytest.raises(archive.ModelFileError, match="larger"):
        archive.read(tmp_path / "h")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 500, b"PK\x05\x06" + bytes(500)])
def test_other_files(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(archive.ModelFileError):
        archive.read(tmp_path / "x")


def test_plain_npz_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    with pytest.raises(archive.ModelFileError, match="checksum"):
        archive.read(tmp_path / "x.npz")
