"""Arrays and a header -> a file."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepass.model_file.atomic import replacing
from onepass.model_file.layout import DTYPES, FORMAT, NAME, SEAL_LENGTH, VERSION, seal


def write(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, ArrayLike]
) -> None:
    """Write a model file, all of it or nothing.

    The same content always gives the same bytes.

    Parameters
    ----------
    path : str or path-like
        The file; an old one is replaced only after the new one is safely on the disk.
    header : mapping
        Anything that JSON can hold, without NaN and infinities.
    arrays : mapping of str to array-like
        Arrays of bool, integers or floats (at most 64 bits), of any shape.

    Raises
    ------
    ValueError, TypeError
        If the content cannot be stored; nothing was written then.
    OSError
        If the disk is full or fails; the old file is untouched, and no other is left.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from onepass import model_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.onepass")
    ...     model_file.write(path, {"kind": "example"}, {"basis": np.eye(2)})
    ...     header, arrays = model_file.read(path)
    >>> header
    {'kind': 'example'}
    >>> arrays["basis"]
    array([[1., 0.],
           [0., 1.]])
    """
    whole = {"format": FORMAT, "version": VERSION, "header": dict(header)}
    text = json.dumps(whole, allow_nan=False).encode()
    members = {"header": np.frombuffer(text, dtype=np.uint8)}
    for name, array in arrays.items():
        if name in members or not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an array in a model file")
        members[name] = _storable(name, array)
    with replacing(path) as file:
        _archive(file, members)
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


def _archive(file: BinaryIO, members: Mapping[str, NDArray[Any]]) -> None:
    """Write the members uncompressed, with room for the seal as the archive's comment."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = bytes(SEAL_LENGTH)
        for name, array in members.items():
            # A ZipInfo made from a name alone carries a fixed date.
            info = zipfile.ZipInfo(name + ".npy")
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
