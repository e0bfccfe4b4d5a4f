"""Where files are: one or many, local or remote, compressed or not, and whether they changed."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from onepass.extras import how_to_install
from onepass.sources.base import SourceError

_MAY_BE_NOTES = (".txt", ".text", ".dat", ".data")  # not read from folders unless they are named
TEXT = (".csv", ".tsv", *_MAY_BE_NOTES)
# Suffix -> module and what opens a file in it; imported for a file only.
FORMATS = {
    **dict.fromkeys((".npy", ".npz"), ("arrays", "ArrayTable")),
    **dict.fromkeys(TEXT, ("csv", "CsvTable")),
    ".svmlight": ("svmlight", "SvmlightTable"),
    ".parquet": ("arrow", "ParquetTable"),
    **dict.fromkeys((".arrow", ".feather"), ("arrow", "ArrowTable")),
    **dict.fromkeys((".h5", ".hdf5", ".mat", ".nc", ".zarr"), ("single_cells", "open_stored")),
    ".h5ad": ("single_cells", "AnnDataTable"),
}
_OPENS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_COMPRESSED = (*_OPENS, ".zst")  # of text and svmlight
# What describes a Zarr store; its chunks may be millions of files.
_ZARR_METADATA = ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata")
# What file systems of fsspec call the time of the last change.
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created", "ETag")


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
        raise ImportError(f"{reading} needs fsspec: {how_to_install('remote')}") from error
    try:
        return fsspec.url_to_fs(path)
    except ImportError as error:
        raise ImportError(f"{reading} needs one more package: {error}") from error
    except ValueError as error:
        raise SourceError(str(error), file=path) from error


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
        compression = _suffixes(path)[1]
        if compression == ".zst":
            import pyarrow as pa

            yield io.BufferedReader(pa.CompressedInputStream(file, "zstd"))
        else:
            yield _OPENS[compression](file) if compression else file


def _suffixes(path: str) -> tuple[str, str]:
    """Return the suffix of the format, and that of the compression if there is one."""
    name = split(path)[0].rstrip("/").lower()
    if is_remote(name):
        name = name.partition("?")[0]
    stem, suffix = os.path.splitext(name)
    return (os.path.splitext(stem)[1], suffix) if suffix in _COMPRESSED else (suffix, "")


def suffix_of(path: str) -> str | None:
    """Return the suffix of a file of a known format, None of any other."""
    suffix, compression = (".csv", "") if path == "-" else _suffixes(path)
    return suffix if suffix in ((*TEXT, ".svmlight") if compression else FORMATS) else None


def expand(path: str, given: str | None = None) -> list[str]:
    """Return the files that a path stands for: itself, those that match, those in a folder.

    The format of all of them may be `given`.
    """
    is_far = is_remote(path)
    is_folder = given is None and suffix_of(path) is None if is_far else os.path.isdir(path)
    # In an address, ? begins a query.
    if ("*" in path if is_far else glob.has_magic(path)) and not os.path.exists(path):
        found = [file for name in _matching(path) for file in expand(name, given)]
        if not found:
            raise SourceError("no file matches", file=path)
    elif is_folder and suffix_of(path) != ".zarr":
        inside = _matching(f"{path.rstrip('/')}/**") if is_far else sorted(_below(path))
        found = [file for file in inside if _is_data(file, path, given)]
        if not found:
            message = "no file of a known format in this folder; .txt files have to be named, as in"
            raise SourceError(f"{message} '{path}/*.txt'", file=path)
        suffixes = sorted({str(suffix_of(file)) for file in found})
        if len(suffixes) > 1 and given is None:
            message = f"there are files of several formats in this folder: {', '.join(suffixes)}"
            raise SourceError(message, file=path)
    else:
        found = [path]
    return list(dict.fromkeys(found))


def _matching(pattern: str) -> list[str]:
    """Return the paths that match a pattern, in alphabetical order."""
    if is_remote(pattern):
        system, name = remote(pattern)
        return sorted(str(system.unstrip_protocol(found)) for found in system.glob(name))
    return sorted(glob.glob(pattern, recursive=True))


def _below(folder: str) -> Iterator[str]:
    """Yield what is in a folder and in those below it, but not in Zarr stores."""
    for place, folders, files in os.walk(folder):
        yield from (os.path.join(place, name) for name in (*folders, *files))
        folders[:] = [name for name in folders if suffix_of(name) != ".zarr"]


def _is_data(file: str, folder: str, given: str | None) -> bool:
    """Return whether a file in a folder has data: a known format, not hidden, no notes."""
    inside = file.partition(folder.rpartition("://")[2])[2].replace(os.sep, "/")
    suffix = suffix_of(file)
    is_known = given is not None or suffix not in (None, *_MAY_BE_NOTES)
    is_file = suffix == ".zarr" or (is_known and not os.path.isdir(file))
    return is_file and not any(part.startswith((".", "_")) for part in inside.split("/"))


def reason(error: BaseException | None) -> str:
    """Return why a file cannot be opened: it is not there, or a server says something else."""
    while error is not None:
        status = getattr(error, "status", None)  # of an answer over HTTP
        if isinstance(status, int) and status not in (404, 410):
            return f"the server answers with an error, HTTP status {status}"
        error = error.__cause__ or error.__context__
    return "there is no such file"


def check_file(path: str) -> None:
    """Refuse a local file that is not there or empty, or can be read only once."""
    if path == "-" or is_remote(path) or os.path.isdir(path):
        return
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise SourceError("not a file; read a pipe as csv on standard input, '-'", file=path)
    if os.path.getsize(path) == 0:
        raise SourceError("the file is empty", file=path)


def fingerprint(path: str) -> dict[str, Any]:
    """Return what tells whether a file is the same: its path, its size and when it was changed.

    Of a Zarr store these are the sizes and times of its metadata.
    """
    path, array = split(path)
    system, name = remote(path) if is_remote(path) else (os.path, os.path.abspath(path))
    files = [name]
    if system.isdir(name):
        places = [name, *([f"{name}/{array.strip('/')}"] if array else [])]
        inside = [f"{place}/{metadata}" for place in places for metadata in _ZARR_METADATA]
        files = [file for file in inside if system.exists(file)]
    size, times = 0, []
    for file in files:
        if system is os.path:
            info = {"size": os.stat(file).st_size, "mtime": os.stat(file).st_mtime_ns}
        else:
            info = system.info(file)
        size += info.get("size") or 0
        times.append(str([info[time] for time in _TIMES if time in info]))
    name = path if is_remote(path) else name
    return {"path": f"{name}::{array}" if array else name, "size": size, "modified": times}
