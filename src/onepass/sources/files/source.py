"""From names of files to one stream of rows."""

from __future__ import annotations

import importlib
import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import numpy as np

from onepass.sources.base import (
    Block,
    Position,
    Source,
    SourceError,
    check_finite,
    check_width,
    rows_per_block,
)
from onepass.sources.files.storage import FORMATS, TEXT, check_file, expand, split, suffix_of
from onepass.sources.files.table import Table, choose, listed
from onepass.warning import OnepassWarning

T = TypeVar("T")

_BLOCKS_AHEAD = 4  # of a few megabytes each


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
    files = [file for given in paths for file in expand(os.fspath(given))]
    if not files:
        raise SourceError("no file is given")
    if (header != "auto" or delimiter) and not any(suffix_of(file) in TEXT for file in files):
        raise ValueError(f"header and delimiter are for csv files, and {files[0]} is none")
    tables = [_open(file, header, delimiter) for file in files]
    source = FileSource(tables, columns, batch_rows, skip_non_numeric, keep_index)
    if source.index:
        message = f"{files[0]}: left out pandas' index, column {listed(source.index)}"
        message += "; keep_index=True (--keep-index) keeps it"
        warnings.warn(message, OnepassWarning, stacklevel=2)
    return source


def _open(path: str, header: bool | Literal["auto"], delimiter: str | None) -> Table:
    """Return what is in one file, every error turned into a SourceError."""
    suffix = suffix_of(path)
    if suffix is None:
        known = ", ".join(FORMATS)
        raise SourceError(f"the format is unknown; known are {known}", file=path)
    module, kind = FORMATS[suffix]
    try:
        check_file(split(path)[0])
        make = getattr(importlib.import_module(f"onepass.sources.files.{module}"), kind)
        return make(path, header, delimiter) if suffix in TEXT else make(path)
    except SourceError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        message = f"reading {suffix} files needs {package}: pip install 'onepass[files]'"
        raise ImportError(message) from error
    except ImportError:
        raise
    except FileNotFoundError as error:
        raise SourceError("there is no such file", file=path) from error
    except Exception as error:  # the libraries that read formats raise anything
        reason = str(error) or type(error).__name__
        raise SourceError(f"not a sound {suffix[1:]} file: {reason}", file=path) from error


class FileSource(Source):
    """The rows of files, one after the other; `onepass.open_source` makes it.

    Blocks are float32 if all chosen columns of all files are, and float64 otherwise. Iterating
    reads ahead in a thread of its own.

    Attributes
    ----------
    files : list of (str, int or None)
        The files in the order in which they are read: path, and number of rows where it is known.
    notes : list of str
        What was decided about the files without having been asked for, one line each.
    index : list of str or int
        The columns of pandas' index that are left out, by name or by number.
    named : bool
        Whether the columns have names in the files.
    """

    def __init__(
        self,
        tables: list[Table],
        columns: Sequence[str | int] | None,
        block_rows: int | None,
        skip_non_numeric: bool,
        keep_index: bool,
    ) -> None:
        self._tables, first = tables, tables[0]
        for table in tables:
            table.settle(tables, columns)
        choose(tables, columns, skip_non_numeric, keep_index)
        self.n_features = len(first.chosen())
        check_width(self.n_features, first.path)
        self._block_rows = block_rows or rows_per_block(self.n_features)
        self._dtype = np.result_type(*(table.float_type() for table in tables))
        self.named = first.names is not None
        self.feature_names = None
        if self.named or first.columns is not None:
            self.feature_names = [str(first.column(j)) for j in first.chosen()]
        self.files = [(table.path, table.n_rows) for table in tables]
        counts = [table.n_rows for table in tables]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)
        if self.n_rows == 0:
            raise SourceError("there are no rows", file=first.path)
        self.notes = list(dict.fromkeys(note for table in tables for note in table.notes))
        if columns is None and skip_non_numeric and first.not_numeric:
            left_out = [first.column(j) for j in sorted(first.not_numeric)]
            self.notes.append(f"{first.path}: left out what is not numeric: {listed(left_out)}")
        is_left_out = columns is None and not keep_index
        self.index = [first.column(j) for j in first.index] if is_left_out else []
        self._used = False

    @property
    def paths(self) -> list[str]:
        """The files, in the order in which they are read."""
        return [path for path, _ in self.files]

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        begin = Position(0, 0) if start is None else Position(*start)
        if not (0 <= begin.file < len(self._tables) and begin.row >= 0):
            raise SourceError(f"there is no position {tuple(begin)} in {len(self._tables)} files")
        if self._used and any(table.one_use for table in self._tables):
            raise SourceError("it can be read only once", file=self._tables[0].path)
        self._used = True
        yield from read_ahead(self._read(begin), self._stop)

    def _stop(self) -> None:
        """Stop waiting for rows."""
        for table in self._tables:
            table.stop()

    def _read(self, start: Position) -> Generator[tuple[Position, Block], None, None]:
        """Yield (position after the block, block), in this thread."""
        empty = start == Position(0, 0)
        for number in range(start.file, len(self._tables)):
            table, row = self._tables[number], start.row if number == start.file else 0
            try:
                for block in table.read(row, self._block_rows, self._dtype):
                    for begin in range(0, block.shape[0], self._block_rows):
                        piece = block[begin : begin + self._block_rows]
                        check_finite(piece, row, table.chosen_column, table.path)
                        row += piece.shape[0]
                        empty = False
                        yield Position(number, row), piece
            except (SourceError, ImportError):
                raise
            except Exception as error:  # the libraries that read formats raise anything
                reason = f"cannot be read on: {str(error) or type(error).__name__}"
                raise SourceError(reason, file=table.path, row=row + 1) from error
            if table.n_rows is not None and row != table.n_rows:
                message = f"it should have {table.n_rows} rows"
                raise SourceError(message, file=table.path, row=row)
        if empty:
            raise SourceError("there are no rows", file=self._tables[0].path)


def read_ahead(items: Generator[T, None, None], wake: Callable[[], None]) -> Iterator[T]:
    """Yield what a generator yields, up to four items ahead of the consumer.

    The generator runs in a thread, which ends when the generator does or when the consumer stops
    early. An exception in it is raised where its item would have come. In the end it is closed,
    after `wake` was called, which stops a wait for something that may never come.
    """
    end: Any = object()
    pool = ThreadPoolExecutor(1, thread_name_prefix="onepass-read-ahead")
    try:
        coming = deque(pool.submit(next, items, end) for _ in range(_BLOCKS_AHEAD))
        while (item := coming.popleft().result()) is not end:
            coming.append(pool.submit(next, items, end))
            yield item
            del item  # otherwise it would live on while the next one is waited for
    finally:
        wake()
        pool.shutdown(cancel_futures=True)
        items.close()
