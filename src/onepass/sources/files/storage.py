"""Where files are: local or remote, compressed or not, one or many."""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from onepass.sources.base import SourceError

COMPRESSED = (".gz", ".bz2", ".zst")
_END_BYTES = 1 << 16  # of the beginning and the end of a file, by which it is recognised


def split(path: str) -> tuple[str, str | None]:
    """Return the file and the name in ``"file::name"``."""
    file, mark, name = path.partition("::")
    return file, name if mark else None


def is_remote(path: str) -> bool:
    """Return whether a path has a scheme, such as ``s3://`` or ``https://``."""
    return "://" in path


def remote(path: str) -> tuple[Any, str]:
    """Return the fsspec file system of a path with a scheme, and the name of the file in it."""
    reading = f"reading {path.partition('://')[0]}://"
    try:
        import fsspec
    except ImportError as error:
        raise ImportError(f"{reading} needs fsspec: pip install 'onepass[remote]'") from error
    try:
        return fsspec.url_to_fs(path)
    except ImportError as error:
        raise ImportError(f"{reading} needs one more package: {error}") from error
    except ValueError as error:
        raise SourceError.at(str(error), file=path) from error


def open_file(path: str) -> Any:
    """Open a file for reading its bytes as they are."""
    if not is_remote(path):
        return open(path, "rb")
    system, name = remote(path)
    return system.open(name, "rb")


@contextmanager
def open_content(path: str, file: Any = None) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if its name says so.

    A `file` that is open already is that of the path, as it is.
    """
    with file or open_file(path) as file:
        suffix = os.path.splitext(path.lower())[1]
        if suffix == ".gz":
            yield gzip.GzipFile(fileobj=file)  # type: ignore[misc]
        elif suffix == ".bz2":
            yield bz2.BZ2File(file)
        elif suffix == ".zst":
            import pyarrow as pa

            yield io.BufferedReader(pa.CompressedInputStream(file, "zstd"))
        else:
            yield file


def matching(pattern: str) -> list[str]:
    """Return the paths that match a pattern, in alphabetical order."""
    if not is_remote(pattern):
        return sorted(glob.glob(pattern, recursive=True))
    system, name = remote(pattern)
    return sorted(str(system.unstrip_protocol(found)) for found in system.glob(name))


def fingerprint(path: str) -> dict[str, Any]:
    """Return what tells whether a file is the same: path, size, time, and a hash of both ends.

    Of a folder it is the sizes, the latest time, and a hash of the names of all files in it.
    """
    path = split(path)[0]
    if is_remote(path):
        system, name = remote(path)
        infos: Any = [system.info(name)]
        is_folder = infos[0]["type"] == "directory"
        if is_folder:
            infos = system.find(name, detail=True).values()
        times = ("mtime", "LastModified", "last_modified", "updated", "created", "ETag")
        stats = [
            (str(info["name"]), info.get("size"), str([info.get(time) for time in times]))
            for info in infos
        ]
    else:
        path = os.path.abspath(path)
        is_folder = os.path.isdir(path)
        files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
        found = [(file, os.stat(file)) for file in (files if is_folder else [path])]
        stats = [(file, stat.st_size, str(stat.st_mtime_ns)) for file, stat in found]
    ends = str(sorted(stats)).encode() if is_folder else _ends(path, stats[0][1])
    return {
        "path": path,
        "size": sum(size or 0 for _, size, _ in stats),
        "modified": max((modified for _, _, modified in stats), default=""),
        "ends": hashlib.sha256(ends).hexdigest(),
    }


def _ends(path: str, size: int | None) -> bytes:
    """Return the first and the last bytes of a file."""
    with open_file(path) as file:
        ends = file.read(_END_BYTES)
        if size is not None and size > _END_BYTES and file.seekable():
            file.seek(max(_END_BYTES, size - _END_BYTES))
            ends += file.read(_END_BYTES)
    return ends
