"""From names of files to a source."""

from __future__ import annotations

import glob
import importlib
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Literal

from onepass.sources.base import SourceError
from onepass.sources.files.source import FileSource
from onepass.sources.files.storage import COMPRESSED, is_remote, matching, split
from onepass.sources.files.table import Table, listed
from onepass.warning import OnepassWarning

_TEXT = (".csv", ".tsv", ".txt")  # told apart by their content
# Suffix -> module and what opens a file in it; imported for a file only.
_FORMATS = {
    ".npy": ("arrays", "NpyTable"),
    ".npz": ("arrays", "open_npz"),
    ".csv": ("csv", "CsvTable"),
    ".tsv": ("csv", "CsvTable"),
    ".txt": ("csv", "CsvTable"),
    ".svmlight": ("svmlight", "SvmlightTable"),
    ".parquet": ("arrow", "ParquetTable"),
    ".arrow": ("arrow", "ArrowTable"),
    ".feather": ("arrow", "ArrowTable"),
    ".h5": ("arrays", "Hdf5Table"),
    ".hdf5": ("arrays", "Hdf5Table"),
    ".zarr": ("arrays", "ZarrTable"),
}


def open_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str | int] | None = None,
    *,
    header: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    skip_non_numeric: bool = False,
    keep_index: bool = False,
    batch_rows: int | None = None,
) -> FileSource:
    r"""Return the rows of one file or of many, as a source.

    Formats are told by their suffix: npy, npz (one 2-D array, or a scipy sparse matrix), csv, tsv,
    txt, svmlight (these four also with .gz, .bz2 or .zst), parquet, arrow and feather, h5, zarr.
    ``"-"`` is csv on standard input, which can be read once.

    Parameters
    ----------
    path : str, path-like, or a sequence of them
        Files, folders (all files of a known format in them, which must be one format) and patterns
        such as ``"events/*.parquet"``; all together are one stream, folders and patterns in
        alphabetical order. Paths with a scheme, such as ``"s3://bucket/a.parquet"``, are read
        through fsspec (the extra ``remote``). Where a file holds several arrays (npz, h5, zarr),
        ``"file.h5::name"`` chooses one.
    columns : sequence of str or int, optional
        Names of columns, or numbers counted from 0. All columns by default.
    header : bool or "auto"
        Whether the first row of a csv file has the names of the columns. "auto" looks at the first
        rows, and refuses a first row of numbers that may be names.
    delimiter : str, optional
        The character between two values of a csv file; by default the first rows decide.
    skip_non_numeric : bool
        Leave out columns that are not numeric, instead of refusing them by name.
    keep_index : bool
        Keep the columns in which pandas has written the index of a table (parquet and arrow files
        say which they are; in a csv file it is a first column without name).
    batch_rows : int, optional
        The most rows in a block. Speed and memory depend on it, results do not.

    Returns
    -------
    FileSource

    Raises
    ------
    SourceError
        If there is no such file, if it cannot be read, or if its columns are not what they should
        be; while iterating, if a row is not what it should be.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from onepass.sources import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,y,city\n1,2,Oslo\n3,4,Rome\n")
    ...     source = open_source(path, skip_non_numeric=True)
    ...     source.feature_names, list(source)
    (['x', 'y'], [array([[1., 2.],
           [3., 4.]])])
    """
    if batch_rows is not None and batch_rows < 1:
        raise ValueError(f"batch_rows={batch_rows} must be at least 1")
    if header not in (True, False, "auto"):
        raise ValueError(f"header={header!r} must be True, False or 'auto'")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii()):
        raise ValueError(f"delimiter={delimiter!r} must be one ASCII character")
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    files = [file for given in paths for file in _expand(os.fspath(given))]
    if not files:
        raise SourceError("no file is given")
    if (header != "auto" or delimiter) and not any(_suffix(file) in _TEXT for file in files):
        raise ValueError(f"header and delimiter are for csv files, and {files[0]} is none")
    tables = [_open(file, header, delimiter) for file in files]
    source = FileSource(tables, columns, batch_rows, skip_non_numeric, keep_index)
    if source.index:
        message = f"{files[0]}: left out pandas' index, column {listed(source.index)}"
        message += "; keep_index=True (--keep-index) keeps it"
        warnings.warn(message, OnepassWarning, stacklevel=2)
    return source


def _suffix(path: str) -> str | None:
    """Return the suffix of a file of a known format."""
    if path == "-":
        return ".csv"
    name = split(path)[0].rstrip("/").lower()
    if is_remote(name):
        name = name.partition("?")[0]
    stem, suffix = os.path.splitext(name)
    if suffix in COMPRESSED:
        suffix = os.path.splitext(stem)[1]
        return suffix if suffix in (*_TEXT, ".svmlight") else None
    return suffix if suffix in _FORMATS else None


def _expand(path: str) -> Iterator[str]:
    """Yield the files that a path stands for."""
    # In an address, ? begins a query.
    is_pattern = "*" in path if is_remote(path) else glob.has_magic(path)
    is_folder = _suffix(path) is None if is_remote(path) else os.path.isdir(path)
    if is_pattern and not os.path.exists(path):
        found = matching(path)
        if not found:
            raise SourceError.at("no file matches", file=path)
        for name in found:
            yield from _expand(name)
    elif is_folder and _suffix(path) != ".zarr" and path != "-":
        yield from _files_in(path)
    else:
        yield path


def _files_in(folder: str) -> list[str]:
    """Return the files of a known format in a folder and in folders in it."""
    place = folder.rstrip("/") if is_remote(folder) else glob.escape(folder)
    files = [file for file in matching(f"{place}/**") if _is_data(file, folder)]
    suffixes = sorted({str(_suffix(file)) for file in files})
    if not files:
        raise SourceError.at("there is no file of a known format in this folder", file=folder)
    if len(suffixes) > 1:
        message = f"there are files of several formats in this folder: {', '.join(suffixes)}"
        raise SourceError.at(message, file=folder)
    return files


def _is_data(file: str, folder: str) -> bool:
    """Return whether a file in a folder has data: a known format, not hidden, no notes."""
    inside = file.partition(folder.rpartition("://")[2])[2].replace(os.sep, "/")
    if any(part.startswith((".", "_")) for part in inside.split("/")):
        return False
    suffix = _suffix(file)
    return suffix == ".zarr" or (suffix not in (None, ".txt") and not os.path.isdir(file))


def _open(path: str, header: bool | Literal["auto"], delimiter: str | None) -> Table:
    """Return what is in one file, every error turned into a SourceError."""
    suffix = _suffix(path)
    if suffix is None:
        known = ", ".join(_FORMATS)
        raise SourceError.at(f"the format is unknown; known are {known}", file=path)
    module, kind = _FORMATS[suffix]
    try:
        _check_file(split(path)[0])
        make = getattr(importlib.import_module(f"onepass.sources.files.{module}"), kind)
        return make(path, header, delimiter) if suffix in _TEXT else make(path)
    except SourceError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        message = f"reading {suffix} files needs {package}: pip install 'onepass[files]'"
        raise ImportError(message) from error
    except ImportError:
        raise
    except FileNotFoundError as error:
        raise SourceError.at("there is no such file", file=path) from error
    except Exception as error:  # the libraries that read formats raise anything
        reason = str(error) or type(error).__name__
        raise SourceError.at(f"not a sound {suffix[1:]} file: {reason}", file=path) from error


def _check_file(file: str) -> None:
    """Refuse a local file that is empty, or can be read only once."""
    if file == "-" or is_remote(file) or os.path.isdir(file):
        return
    if os.path.getsize(file) == 0 and os.path.isfile(file):
        raise SourceError.at("the file is empty", file=file)
    if not os.path.isfile(file):
        raise SourceError.at("not a file; read a pipe as csv on standard input, '-'", file=file)
