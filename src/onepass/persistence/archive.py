"""Arrays and a header <-> a file. Knows no estimator.

The file is what ``numpy.savez`` writes, so that ``numpy.load(path, allow_pickle=False)`` reads it:
a zip archive of arrays, with the zip's CRC of each. The array ``header`` holds JSON as bytes.
`onepass.persistence.fields` says how the arrays of an estimator are declared.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.persistence.atomic import replacing

FORMAT = "onepass model"
VERSION = 4  # of the format: raised where a file of the old one would be read wrongly
RELEASES = {3: "0.2", 4: "0.3"}  # of onepass that wrote each format first

# Numbers only, little-endian: nothing that needs to be interpreted.
DTYPES = frozenset({"|b1", "|i1", "|u1"} | {f"<{kind}{n}" for kind in "iuf" for n in (2, 4, 8)})


class ModelFileError(ValueError):
    """A file that is not a model, or is damaged, or was written by another version."""


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]
) -> None:
    """Write a header of JSON and arrays of numbers, all of it or nothing.

    The same content always gives the same bytes. `ValueError` and `TypeError` say that something
    cannot be stored. After any error the old file is untouched, and no other is left.
    """
    members = _members(header, arrays)
    with replacing(path) as file:
        np.savez(file, **members)


def to_bytes(header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> bytes:
    """Return the file that `write` would write."""
    file = io.BytesIO()
    np.savez(file, **_members(header, arrays))
    return file.getvalue()


def _members(header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """Return the arrays of the archive, the header among them: in C order and little-endian."""
    whole = {"format": FORMAT, "version": VERSION, "header": dict(header)}
    text = json.dumps(whole, allow_nan=False).encode()
    members = {"header": np.frombuffer(text, dtype=np.uint8)}
    for name, array in arrays.items():
        stored = np.asarray(array, order="C")
        stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
        if stored.dtype.str not in DTYPES:
            raise TypeError(f"array {name!r} of type {stored.dtype} cannot be stored in a file")
        members[name] = stored
    return members


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays, C-contiguous and writable, that `write` was given.

    Nothing in the file is executed, and no memory is allocated by a number in it before that
    number was compared with the size of the file. `ModelFileError` says that it is no model file,
    damaged, or of another version.
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
        arrays = _arrays(file)
        return _header(arrays.pop("header")), arrays
    except Exception as error:  # whatever a hostile file does to zipfile, json or NumPy
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{name}: not a sound model file: {reason}") from error


def _arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Return the arrays of an open file; raise any exception if it is not sound."""
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        # More than that would be members that overlap, which hide a lot in a small file.
        if sum(info.file_size for info in members) > file.seek(0, os.SEEK_END):
            raise ModelFileError("its arrays are larger than the file")
        for info in members:
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ModelFileError(f"{info.filename!r} is compressed")
            data = archive.read(info)  # which checks the CRC
            member = io.BytesIO(data)
            version = np.lib.format.read_magic(member)
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(member)
            if version != (1, 0) or is_fortran or dtype.str not in DTYPES:
                raise ModelFileError("an array is not of a known type")
            if min(shape, default=0) < 0 or (
                math.prod(shape) * dtype.itemsize != len(data) - member.tell()
            ):
                raise ModelFileError("an array is not of the size that it claims")
            array = np.ndarray(shape, dtype, data, member.tell()).copy()
            arrays[info.filename.removesuffix(".npy")] = array
    return arrays


def _header(stored: NDArray[Any]) -> dict[str, Any]:
    """Return the header out of its bytes."""
    whole = json.loads(stored.tobytes())
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
