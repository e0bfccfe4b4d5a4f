"""From names of files to one stream of rows."""

from __future__ import annotations

import importlib
import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse

from onepass.extras import how_to_install
from onepass.sources.base import Block, Position, Source, SourceError, rows_per_block
from onepass.sources.paths import FORMATS, check_file, expand, reason, split, suffix_of
from onepass.sources.preparation import Preparation
from onepass.sources.tables import ReadOptions, Table, listed
from onepass.warning import OnepassWarning

T = TypeVar("T")

_BLOCKS_AHEAD = 4  # of a few megabytes each


def open_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str | int] | None = None,
    *,
    exclude: Sequence[str | int] | None = None,
    format: Literal["csv", "svmlight"] | None = None,
    header: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    skip_lines: int = 0,
    comment: str | None = None,
    na: Sequence[str | float] = (),
    skip_non_numeric: bool = False,
    keep_index: bool = False,
    layer: str | None = None,
    mask_var: str | Sequence[str] | None = None,
    normalize: float | None = None,
    log1p: bool = False,
    batch_rows: int | None = None,
) -> FileSource:
    r"""Return a source: the rows of one file or of many.

    The suffix gives the format: npy, npz (one 2-D array, or a scipy sparse matrix), csv, tsv, txt,
    text, dat and data (all read as csv), svmlight (these also with .gz, .bz2 or .zst), parquet,
    arrow and feather, h5 (10x files, too), zarr, h5ad (AnnData, also in zarr stores).
    ``"-"`` is csv on standard input, which can be read only once.

    Parameters
    ----------
    path : str, path-like, or a sequence of them
        Files, folders, and patterns such as ``"events/*.parquet"``. All rows together are one
        stream; the files of a folder or pattern come in alphabetical order, each of them once. All
        files of a folder whose format is known are read, except for ``.txt``, which may be notes,
        and they must have one format. Paths with a scheme, such as
        ``"s3://bucket/a.parquet"``, are read through fsspec (the extra ``remote``). If a file holds
        several arrays (npz, h5, zarr), ``"file.h5::name"`` chooses one.
    columns : sequence of str or int, optional
        The columns to read, in this order: names, numbers counted from 0, ranges that include both
        ends (``"x1:x20"`` by name, ``"3-40"`` by number), and patterns (``"gene_*"``). A name
        that is in the file comes before its meaning as a number, range or pattern. A column of
        lists of numbers, all equally long, is as many columns: ``"embedding"`` stands for
        ``"embedding_0"``, ``"embedding_1"`` and so on. All columns by default.
    exclude : sequence of str or int, optional
        Columns to leave out, given as for `columns`.
    format : {"csv", "svmlight"}, optional
        Read text files in this format, whatever their names end with.
    header : bool or "auto"
        Whether the first row of a csv file has the names of the columns. "auto" looks at the first
        rows, and refuses a first row of numbers that may be names. If there is one name fewer than
        there are columns, as R's ``write.table`` does it, the first column is an index. Names that
        come twice are numbered: "x" and "x.1".
    delimiter : str, optional
        The character between two values of a csv file; by default the first rows decide, or a first
        line such as ``sep=;``, which Excel writes.
    decimal : str
        The decimal point of numbers in a csv file: "." or ",".
    encoding : str, optional
        The encoding of a csv file, such as "latin-1". By default it is UTF-8, or UTF-16 or UTF-32
        if there is a byte order mark.
    skip_lines : int
        The number of lines to skip before the header of a csv file.
    comment : str, optional
        Lines of a csv file that begin with this text are left out.
    na : sequence of str or float
        Additional missing-value markers, such as -999 or "?". Numbers apply to every format (of
        sparse rows, to stored entries), text to csv files. Empty cells, ``NA``, ``N/A``, ``null``,
        ``NaN``, ``-`` and the other default markers of pandas are always missing.
    skip_non_numeric : bool
        Also leave out columns that hold both numbers and text, which are refused otherwise. Columns
        without any number, such as text and dates, are always left out. `notes` names them.
    keep_index : bool
        Keep index columns written by pandas or R (parquet and arrow files name them; in a csv file
        it is a first column without a name).
    layer : str, optional
        The layer of an AnnData file that is read instead of its ``X``.
    mask_var : str or sequence of str, optional
        The columns of an AnnData file that are read: the name of a column of booleans in its
        ``var``, or a list of names. All by default. Of a 10x file it is a list of names.
    normalize : float, optional
        Divide each row by its sum, and multiply it by this number, such as 1e4. The sum is that of
        the columns that are read; in AnnData and 10x files it is that of all genes, whichever are
        read. For rows without negative entries.
    log1p : bool
        Replace each entry x by log(1 + x), after `normalize`.
    batch_rows : int, optional
        The most rows in a block. Speed and memory depend on it, results do not.

    Returns
    -------
    FileSource

    Raises
    ------
    SourceError
        If a file does not exist, cannot be read, or has wrong columns. While iterating, if a row is
        bad.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from onepass.sources import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,y,city\n1,2,Oslo\n3,4,Rome\n")
    ...     source = open_source(path)
    ...     source.feature_names, list(source)
    (['x', 'y'], [array([[1., 2.],
           [3., 4.]])])
    """
    if batch_rows is not None and batch_rows < 1:
        raise ValueError(f"batch_rows={batch_rows} must be at least 1")
    marks = tuple(na) if isinstance(na, Sequence) and not isinstance(na, str) else (na,)
    options = ReadOptions(
        format, header, delimiter, decimal, encoding, skip_lines, comment, marks, layer, mask_var
    )
    return FileSource(
        open_tables(path, options),
        columns,
        exclude=exclude,
        batch_rows=batch_rows,
        skip_non_numeric=skip_non_numeric,
        keep_index=keep_index,
        preparation=Preparation(normalize, log1p),
    )


def open_tables(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    options: ReadOptions,
    also_na: Sequence[str] = (),
    also: Mapping[str, Any] = MappingProxyType({}),
) -> list[Table]:
    """Return what is in the files that `open_source` reads.

    `also_na` are further marks of missing entries, and `also` further options, which count where a
    format has such marks and options.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    files = [file for given in paths for file in expand(os.fspath(given), options.format)]
    if not files:
        raise SourceError("no file is given")
    if files.count("-") > 1:
        raise SourceError("standard input is given twice, and can be read only once")
    every = replace(options, na=(*options.na, *also_na), **also)
    tables = [_open(file, every) for file in files]
    known = {"format", *(name for table in tables for name in table.takes)}
    if len(options.na_values()) == len(options.na):
        known.add("na")  # numbers can be missing in every format
    for name in options.given():
        if name not in known:
            raise ValueError(f"{name} does not apply to {suffix_of(files[0])} files ({files[0]})")
    return tables


def _open(path: str, options: ReadOptions) -> Table:
    """Return what is in one file, every error turned into a SourceError."""
    suffix = suffix_of(path) if options.format is None else f".{options.format}"
    try:
        check_file(split(path)[0])
        if suffix is None:
            message = (
                f"the format is unknown; known suffixes are {', '.join(FORMATS)}; for text, pass "
            )
            raise SourceError(message + "format='csv' (--format csv)", path)
        module, kind = FORMATS[suffix]
        make = getattr(importlib.import_module(f"onepass.sources.{module}"), kind)
        table: Table = make(path, options)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = "anndata" if package == "anndata" else "files"
        message = f"reading {suffix} files needs {package}: {how_to_install(extra)}"
        raise ImportError(message) from error
    except (SourceError, ImportError):
        raise
    except FileNotFoundError as error:
        raise SourceError(reason(error), path) from error
    except Exception as error:  # the libraries that read formats raise anything
        message = str(error) or type(error).__name__
        raise SourceError(f"not a sound {str(suffix)[1:]} file: {message}", path) from error
    table.na, table.na_values = options.na, options.na_values()
    given = options.remembered()
    table.reading = {name: value for name, value in given.items() if name in table.takes}
    return table


class FileSource(Source):
    """The rows of files, one after the other; `onepass.open_source` makes it.

    The first file decides which columns are read and in which order. In the others they are found
    by name, or by index where there are no names. Without a choice all files must have the same
    columns. Blocks are float32 if all chosen columns of all files are, and float64 otherwise.
    Iterating reads ahead in a thread of its own.

    Attributes
    ----------
    tables : list of Table
        What is in the files, in the order in which they are read.
    files : list of (str, int or None)
        The files in the order in which they are read: path, and number of rows where it is known.
    notes : list of str
        What was decided about the files without having been asked for, one line each.
    named : bool
        Whether the columns have names in the files.
    preparation : Preparation
        What is done with each row: `normalize` and `log1p`.
    """

    def __init__(
        self,
        tables: list[Table],
        columns: Sequence[str | int] | None = None,
        *,
        exclude: Sequence[str | int] | None = None,
        batch_rows: int | None = None,
        skip_non_numeric: bool = False,
        keep_index: bool = False,
        preparation: Preparation = Preparation(),  # noqa: B008, nothing in it ever changes
    ) -> None:
        _check_columns("columns", columns)
        _check_columns("exclude", exclude)
        self.tables, first = tables, tables[0]
        self.preparation = preparation
        for table in tables:
            table.settle(tables, columns)
        self.notes = list(dict.fromkeys(note for table in tables for note in table.notes))
        left_out = {*first.left_out, *first.find_all(exclude or ())}
        if columns is None:
            index = [] if keep_index else [j for j in first.index if j not in left_out]
            if index:
                shown = listed([first.column(j) for j in index])
                message = f"{first.path}: left out the index of pandas or R, column {shown}; "
                message += "keep_index=True (--keep-index) keeps it"
                warnings.warn(message, OnepassWarning, stacklevel=3)
            left_out.update(index)
            texts = {*first.not_numeric, *(first.mixed if skip_non_numeric else ())} - left_out
            if texts:
                shown = listed([first.column(j) for j in sorted(texts)])
                self.notes.append(f"{first.path}: left out columns that are not numbers: {shown}")
            left_out |= texts
        chosen: list[int] | None = None
        if columns is not None or left_out:
            several = range(first.width) if columns is None else first.find_all(columns)
            chosen = [j for j in several if j not in left_out]
        self.n_features = first.width if chosen is None else len(chosen)
        if self.n_features == 0:
            message = "no column is chosen"
            if columns is None and first.not_numeric:
                found = first.not_numeric[min(first.not_numeric)]
                message = f"no column is numeric: the first one contains {found}"
            raise first.error(message)
        for table in tables:
            table.choose_like(first, chosen, exact=columns is None)
            table.preparation = preparation
        self._batch_rows = batch_rows
        self._block_rows = batch_rows or rows_per_block(self.n_features)
        self._dtype = np.result_type(*(table.float_type() for table in tables))
        self.once = any(table.once for table in tables)
        self.na, self.reading = first.na, first.reading
        made = {*first.made}
        self.names_are_made = len(made) >= self.n_features and made.issuperset(first.chosen())
        self.named = first.names is not None
        self.feature_names = None
        if self.named or chosen is not None:
            self.feature_names = [str(first.column(j)) for j in first.chosen()]
        self.files = [(table.path, table.n_rows) for table in tables]
        counts = [table.n_rows for table in tables if table.n_rows is not None]
        self.n_rows = sum(counts) if len(counts) == len(tables) else None
        if self.n_rows == 0:
            raise first.error("there are no rows")

    @property
    def paths(self) -> list[str]:
        """The files, in the order in which they are read."""
        return [path for path, _ in self.files]

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block)."""
        begin = Position(0, 0) if start is None else Position(*start)
        if not (0 <= begin.file < len(self.tables) and begin.row >= 0):
            raise SourceError(f"there is no position {tuple(begin)} in {len(self.tables)} files")
        yield from read_ahead(self._read(begin), self._stop)

    def position(self, row: int | Position) -> Position:
        """Return the position of a row, which is counted from 0 over all files."""
        found = super().position(row)
        if not isinstance(row, int):
            return found
        for number, (path, count) in enumerate(self.files):
            if count is None and number + 1 < len(self.files):
                raise SourceError("its rows are not counted: pass positions to a slice", path)
            if count is None or found.row < count or number + 1 == len(self.files):
                break
            found = Position(number + 1, found.row - count)
        return found

    def error(self, message: str, position: Position, column: int | None = None) -> SourceError:
        """Return an error that names file, line or row, and column."""
        table = self.tables[position.file]
        label = None if column is None else table.column(table.chosen()[column])
        return table.error(message, position.row + 1, label)

    def _stop(self) -> None:
        """Stop waiting for rows."""
        for table in self.tables:
            table.stop()

    def _read(self, start: Position) -> Generator[tuple[Position, Block], None, None]:
        """Yield (position after the block, block), in this thread."""
        empty = start == Position(0, 0)
        for number, table in enumerate(self.tables[start.file :], start.file):
            row = start.row if number == start.file else 0
            try:
                for rows in table.read(row, self._block_rows, self._dtype):
                    most = self._block_rows
                    if scipy.sparse.issparse(rows) and self._batch_rows is None:
                        most = rows.shape[0]  # Sparse rows are never many.
                    for begin in range(0, rows.shape[0], most):
                        block = table.block(rows[begin : begin + most], row, self._dtype)
                        row += block.shape[0]
                        empty = False
                        yield Position(number, row), block
            except (SourceError, ImportError):
                raise
            except Exception as error:  # the libraries that read formats raise anything
                message = f"cannot be read on: {str(error) or type(error).__name__}"
                raise table.error(message, row=row + 1) from error
            if table.n_rows is not None and row != table.n_rows:
                raise table.error(f"it should have {table.n_rows} rows", row=row)
        if empty:
            raise self.tables[0].error("there are no rows")


def _check_columns(name: str, columns: Sequence[str | int] | None) -> None:
    """Refuse a choice of columns that is not a list of names and numbers."""
    if isinstance(columns, str):
        raise ValueError(f"{name}={columns!r} must be a list, such as [{columns!r}]")
    for column in columns or ():
        if not isinstance(column, str | int | np.integer) or isinstance(column, bool):
            raise ValueError(f"{name} has {column!r}, neither a name nor a whole number")


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
