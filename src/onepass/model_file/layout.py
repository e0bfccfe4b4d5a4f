"""What writing and reading agree on."""

import hashlib
import re
from typing import BinaryIO

FORMAT = "onepass model"
VERSION = 2

# Numbers only, little-endian: nothing that needs to be interpreted.
DTYPES = frozenset({"|b1", "|i1", "|u1"} | {f"<{kind}{n}" for kind in "iuf" for n in (2, 4, 8)})
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}", re.ASCII)

SEAL_PREFIX = b"sha256:"
SEAL_LENGTH = len(SEAL_PREFIX) + 64
_PIECE = 1 << 20


class ModelFileError(ValueError):
    """A file that is not a model, or is damaged, or was written by a newer version."""


def seal(file: BinaryIO, length: int) -> bytes:
    """Return the seal of the first `length` bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0:
        piece = file.read(min(_PIECE, length))
        if not piece:
            raise ModelFileError("it ends too early")
        digest.update(piece)
        length -= len(piece)
    return SEAL_PREFIX + digest.hexdigest().encode()
