"""A file that is either the old one or the whole new one, whatever happens."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

_came: list[int] = []  # signals after which no file is replaced


@contextmanager
def stopped_by(signals: list[int]) -> Iterator[None]:
    """Replace no file within the ``with`` block once there is a signal in a list.

    Compiled code may drop the exception of a signal and go on with what is not whole.
    """
    global _came
    before, _came = _came, signals
    try:
        yield
    finally:
        _came = before


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` when the ``with`` block ends well.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and the file is
    renamed. If the block or any of this raises, the temporary file is removed and what was at
    `path` is untouched. (Only where the very last step fails, flushing the folder, is the new
    file in place already: whole, but not yet safe from a power cut.)

    A symbolic link is followed; the permissions of an old file are kept. What is not a regular
    file, such as a device, is not replaced.
    """
    target = os.path.realpath(path)
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = os.stat(target).st_mode
        if not stat.S_ISREG(mode):
            what = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(what, "not a regular file", os.fspath(path))
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f"{_temporary_start(name)}{secrets.token_hex(6)}.tmp")
    try:
        file = open(temporary, "x+b")  # noqa: SIM115 - closed below, before the rename
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        finally:
            file.close()
        if _came:
            raise KeyboardInterrupt
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:  # of no use to anybody
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
    _flush_folder(folder)


def remove_unfinished(path: str | os.PathLike[str]) -> None:
    """Remove temporary files that a killed process has left beside a file."""
    folder, name = os.path.split(os.path.realpath(path))
    pattern = f"{glob.escape(_temporary_start(name))}*.tmp"
    for left in glob.glob(os.path.join(glob.escape(folder), pattern)):
        with suppress(OSError):
            os.unlink(left)


def _temporary_start(name: str) -> str:
    """Return how the temporary files for a file of this name begin; they end in ``.tmp``.

    Names of files have at most 255 bytes.
    """
    return f".{os.fsdecode(os.fsencode(name)[:100])}."


def _flush_folder(folder: str) -> None:
    """Make a rename in the folder survive a power cut."""
    if os.name == "nt":  # where a folder cannot be opened, and renaming flushes by itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
