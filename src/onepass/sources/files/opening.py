"""From names of files to a source."""

from __future__ import annotations

import glob
import importlib
import os
from collections.abc import Iterator, Sequence

from onepass.sources.base import SourceError
from onepass.sources.files.source import FileSource
from onepass.sources.files.table import Table

# Suffix -> module and class; a module is imported only when a file needs it.
_FORMATS = {
    ".npy": ("npy", "NpyTable"),
    ".npz": ("npz", "open_npz"),
    ".csv": ("csv", "CsvTable"),
    ".csv.gz": ("csv", "CsvTable"),
    ".parquet": ("parquet", "ParquetTable"),
    ".arrow": ("arrow", "ArrowTable"),
    ".feather": ("arrow", "ArrowTable"),
    ".h5": ("hdf5", "Hdf5Table"),
    ".hdf5": ("hdf5", "Hdf5Table"),
    ".zarr": ("zarr", "ZarrTable"),
    ".svmlight": ("svmlight", "SvmlightTable"),
    ".svmlight.gz": ("svmlight", "SvmlightTable"),
}


def open_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str | int] | None = None,
    batch_rows: int | None = None,
    skip_non_numeric: bool = False,
) -> FileSource:
    r"""Return the rows of one file or of many, as a source.

    Formats are told by their suffix: npy, npz (one 2-D array, or a scipy sparse matrix), csv and
    csv.gz (with or without a header), parquet, arrow and feather, h5, zarr, svmlight (the labels
    are left out). ``"-"`` is csv on standard input, which can be read once.

    Parameters
    ----------
    path : str, path-like, or a sequence of them
        Files, folders (all files of a known format in them, which must be one format) and patterns
        such as ``"events/*.parquet"``; all together are one stream, folders and patterns in
        alphabetical order. Where a file holds several arrays (npz, h5, zarr), ``"file.h5::name"``
        chooses one.
    columns : sequence of str or int, optional
        Names of columns, or indices counted from 0. All columns by default.
    batch_rows : int, optional
        The most rows in a block. Speed and memory depend on it, results do not.
    skip_non_numeric : bool
        Leave out columns that are not numeric, instead of refusing them by name.

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
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    tables = [_open(file) for given in paths for file in _expand(os.fspath(given))]
    if not tables:
        raise SourceError("no file is given")
    return FileSource(tables, columns, batch_rows, skip_non_numeric)


def _suffix(path: str) -> str | None:
    """Return the suffix of a file of a known format, the longest that fits."""
    name = path.partition("::")[0].rstrip("/").lower()
    fitting = [suffix for suffix in _FORMATS if name.endswith(suffix)]
    return max(fitting, key=len) if fitting else None


def _expand(path: str) -> Iterator[str]:
    """Yield the files that a path stands for."""
    if path == "-" or os.path.isfile(path):
        yield path
    elif os.path.isdir(path) and _suffix(path) is None:
        yield from _files_in(path)
    elif glob.has_magic(path) and not os.path.exists(path):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise SourceError.at("no file matches", file=path)
        for name in found:
            yield from _expand(name)
    else:
        yield path


def _files_in(folder: str) -> list[str]:
    """Return the files of a known format in a folder and in folders in it."""
    files = []
    for place, folders, names in os.walk(folder):
        # Some formats are folders themselves.
        files += [os.path.join(place, name) for name in (*folders, *names) if _visible(name)]
        folders[:] = [name for name in folders if name[0] not in "._" and _suffix(name) is None]
    suffixes = sorted({str(_suffix(file)) for file in files})
    if not files:
        raise SourceError.at("there is no file of a known format in this folder", file=folder)
    if len(suffixes) > 1:
        raise SourceError.at(
            f"there are files of several formats in this folder: {', '.join(suffixes)}",
            file=folder,
        )
    return sorted(files)


def _visible(name: str) -> bool:
    """Return whether a name is that of data: a known format, and not hidden."""
    return name[0] not in "._" and _suffix(name) is not None


def _open(path: str) -> Table:
    """Return what is in one file, every error turned into a SourceError."""
    suffix = ".csv" if path == "-" else _suffix(path)
    if suffix is None:
        raise SourceError.at(f"its format is not known; {', '.join(_FORMATS)} are", file=path)
    file = path.partition("::")[0]
    if path != "-" and not os.path.exists(file):
        raise SourceError.at("there is no such file", file=file)
    if os.path.isfile(file) and os.path.getsize(file) == 0:
        raise SourceError.at("the file is empty", file=file)
    module, name = _FORMATS[suffix]
    try:
        return getattr(importlib.import_module(f"onepass.sources.files.{module}"), name)(path)
    except (SourceError, ImportError):
        raise
    except Exception as error:  # the libraries that read formats raise anything
        reason = str(error) or type(error).__name__
        raise SourceError.at(f"not a sound {suffix[1:]} file: {reason}", file=path) from error
