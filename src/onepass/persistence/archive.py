"""Arrays and a header <-> a file. Knows no estimator.

The file is a zip archive of ``.npy`` members, which ``numpy.load(path, allow_pickle=False)`` reads.
The member ``header`` is JSON as an array of bytes; the archive's comment is the SHA-256 of all
bytes before it. `onepass.persistence.fields` says how the arrays of an estimator are declared.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from typing import IO, Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.persistence.atomic import replacing

FORMAT = "onepass model"
VERSION = 4  # of the format: raised where a file of the old one would be read wrongly
RELEASES = {3: "0.2", 4: "0.3"}  # of onepass that wrote each format first

# Numbers only, little-endian: nothing that needs to be interpreted.
DTYPES = frozenset({"|b1", "|i1", "|u1"} | {f"<{kind}{n}" for kind in "iuf" for n in (2, 4, 8)})
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}", re.ASCII)

SEAL_PREFIX = b"sha256:"
SEAL_LENGTH = len(SEAL_PREFIX) + 64
HASHED_BYTES = 1 << 20  # read at once to be hashed, so that a file does not have to fit in memory


class ModelFileError(ValueError):
    """A file that is not a model, or is damaged, or was written by a newer version."""


def seal(file: BinaryIO, length: int) -> bytes:
    """Return the seal of the first `length` bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0:
        piece = file.read(min(HASHED_BYTES, length))
        if not piece:
            raise ModelFileError("it ends too early")
        digest.update(piece)
        length -= len(piece)
    return SEAL_PREFIX + digest.hexdigest().encode()


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]
) -> None:
    """Write a header of JSON and arrays of numbers, all of it or nothing.

    The same content always gives the same bytes. `ValueError` and `TypeError` say that something
    cannot be stored. After any error the old file is untouched, and no other is left.
    """
    members = _members(header, arrays)
    with replacing(path) as file:
        _write(file, members)


def to_bytes(header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> bytes:
    """Return the file that `write` would write."""
    file = io.BytesIO()
    _write(file, _members(header, arrays))
    return file.getvalue()


def _members(header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the archive, the header among them."""
    whole = {"format": FORMAT, "version": VERSION, "header": dict(header)}
    text = json.dumps(whole, allow_nan=False).encode()
    members = {"header": np.frombuffer(text, dtype=np.uint8)}
    for name, array in arrays.items():
        if name in members or not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an array in a model file")
        members[name] = _storable(name, array)
    return members


def _write(file: BinaryIO, members: Mapping[str, NDArray[Any]]) -> None:
    """Write the members uncompressed, and the seal as the archive's comment."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = bytes(SEAL_LENGTH)
        for name, array in members.items():
            # A ZipInfo made from a name alone carries a fixed date.
            info = zipfile.ZipInfo(name + ".npy")
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    end = file.seek(0, os.SEEK_END) - SEAL_LENGTH
    mark = seal(file, end)
    file.seek(end)
    file.write(mark)


def _storable(name: str, array: ArrayLike) -> NDArray[Any]:
    """Return the array in C order and little-endian, of any shape."""
    stored = np.asarray(array, order="C")
    stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
    if stored.dtype.str not in DTYPES:
        raise TypeError(f"array {name!r} of type {stored.dtype} cannot be stored in a model file")
    return stored


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays, C-contiguous and writable, that `write` was given.

    Nothing in the file is executed, and no memory is allocated by a number in it before that
    number was compared with the size of the file. `ModelFileError` says that it is no model file,
    damaged in any bit, or of another version.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise ModelFileError(f"{os.fspath(path)}: a pipe or a device, not a model file")
    with open(path, "rb") as file:
        return _checked(file, os.fspath(path))


def from_bytes(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays that `to_bytes` was given, checked as by `read`."""
    return _checked(io.BytesIO(data), "the bytes")


def _checked(file: BinaryIO, name: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the content of a file that may be hostile; `name` stands in errors."""
    try:
        return _read(file)
    except Exception as error:  # whatever a hostile file does to zipfile, json or NumPy
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{name}: not a sound model file: {reason}") from error


def _read(file: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an open file; raise any exception if it is not sound."""
    size = file.seek(0, os.SEEK_END)
    _check_seal(file, size)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        _check_members(members, size)
        arrays = {}
        for info in members:
            with archive.open(info) as member:
                _check_array(member, info.file_size)
            with archive.open(info) as member:  # reading to its end checks the zip's CRC
                array = np.lib.format.read_array(member, allow_pickle=False)
            arrays[info.filename.removesuffix(".npy")] = array
    return _read_header(arrays.pop("header")), arrays


def _check_seal(file: BinaryIO, size: int) -> None:
    """Refuse a file with any changed bit, or one that is not ours."""
    file.seek(0)
    if size < SEAL_LENGTH or file.read(4) != b"PK\x03\x04":
        raise ModelFileError("it is of another kind, or cut off")
    mark = seal(file, size - SEAL_LENGTH)
    if file.read(SEAL_LENGTH) != mark:
        raise ModelFileError("it is damaged or cut off (its checksum is wrong)")


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse what `write` never writes: compression, encryption, duplicates, impossible sizes."""
    names = [info.filename for info in members]
    if len(set(names)) != len(names) or "header.npy" not in names:
        raise ModelFileError("its table of contents is wrong")
    for info in members:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ModelFileError(f"{info.filename!r} is compressed")
        if info.flag_bits & 0x1:
            raise ModelFileError(f"{info.filename!r} is encrypted")
        if not (info.filename.endswith(".npy") and NAME.fullmatch(info.filename[:-4])):
            raise ModelFileError(f"{info.filename!r} is not the name of an array")
    # Also refuses members that overlap, the way to hide a lot of data in a small archive.
    if sum(info.file_size for info in members) > size:
        raise ModelFileError("its arrays are larger than the file")


def _check_array(member: IO[bytes], size: int) -> None:
    """Refuse an npy member of `size` bytes that holds anything else than the array it claims."""
    version = np.lib.format.read_magic(member)
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(member)
    if version != (1, 0) or is_fortran or dtype.str not in DTYPES or min(shape, default=0) < 0:
        raise ModelFileError("an array is not of a known type")
    if math.prod(shape) * dtype.itemsize != size - member.tell():
        raise ModelFileError("an array is not of the size that it claims")


def _read_header(stored: NDArray[Any]) -> dict[str, Any]:
    """Return the header out of its bytes."""
    whole = json.loads(stored.tobytes(), parse_constant=_refuse)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise ModelFileError("it is not of onepass")
    if whole["version"] != VERSION:
        theirs = RELEASES.get(whole["version"], "another version")
        raise ModelFileError(
            f"it was written by onepass {theirs} (format {whole['version']}), and onepass "
            f"{RELEASES[VERSION]} reads format {VERSION} only: fit the model again"
        )
    if not isinstance(whole["header"], dict):
        raise ModelFileError("its header is wrong")
    return whole["header"]


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ModelFileError(f"its header contains {constant}")
