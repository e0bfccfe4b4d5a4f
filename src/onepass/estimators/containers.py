"""Anything that holds rows -> an array, a sparse matrix, columns with names, or a source of blocks.

Tables are read through narwhals and tensors through NumPy's protocols, so that none of these
libraries has to be imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators.entries import converted, is_plain
from onepass.sources import ArraySource, BlockSource, Source
from onepass.sources.base import BLOCK_TARGET_BYTES, rows_per_block, unmasked

BATCH_ROWS = 4096  # of tables that are read in parts: some megabytes of a hundred columns


@dataclass(frozen=True)
class Columns:
    """Rows whose columns have names.

    Attributes
    ----------
    rows : ndarray of shape (n, d), or (d,) for a single row
    names : list
    table : table or None
        What they come from; None for a dict, whose columns are known by name in any order.
    are_made : bool
        Whether the names were made here, for the numbers of lists.
    """

    rows: NDArray[Any]
    names: list[Any]
    table: Any = None
    are_made: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows."""
        return self.rows.shape

    def ordered(self, names: Sequence[Any] | None) -> Columns:
        """Return the columns in the order of these names, if they are those of a dict."""
        if self.table is not None or names is None or {*self.names} != {*names}:
            return self
        order = [self.names.index(name) for name in names]
        return Columns(self.rows[..., order], list(names))


class Blocks(BlockSource):
    """Blocks of anything that is read in parts: arrays, tables, single rows, pairs (x, y), dicts.

    Parameters
    ----------
    make : callable
        Returns an iterable of them.
    n_rows : int, optional
        The number of rows, if it is known.
    names : sequence, optional
        The order of columns that come with names but in no order, as those of dicts.
    """

    def __init__(
        self,
        make: Callable[[], Iterable[Any]],
        n_rows: int | None = None,
        names: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(make, n_rows=n_rows)
        self._order = names

    @contextmanager
    def naming_places(self, end: Any, block: Any) -> Iterator[None]:
        """Leave errors about entries as they are: they name a place in a block, counted from 0."""
        yield

    def assemble(self, given: Iterable[Any]) -> Iterator[Any]:
        """Yield float arrays (b, d) and CSR arrays; the first block says the names of columns."""
        rows = 0
        for block in self._whole(given):
            name = f"The block after {rows:,} rows" if rows else "The first block"
            if isinstance(block, Columns):
                block = block.ordered(self._order)
                if rows and self.feature_names != block.names:
                    raise ValueError(
                        f"{name} has the feature names {block.names}, and the first one has "
                        f"{self.feature_names}"
                    )
                self.feature_names = self._order = block.names
                self.names_are_made = block.are_made
                block = block.rows
            yield block if is_plain(block) else converted(block, name)
            rows += block.shape[0]

    def _whole(self, given: Iterable[Any]) -> Iterator[Any]:
        """Yield blocks, those of single rows included, as arrays, sparse matrices and `Columns`."""
        single: list[Any] = []  # rows that came one by one
        began = False
        for each in given:
            block = _block(each, "A block")
            is_row = not sparse.issparse(block) and len(block.shape) == 1
            if not is_row and block.shape[:1] == (0,):
                continue
            if began and is_row != bool(single):
                raise ValueError(
                    "X gives both blocks of rows and single rows; if one of them is a target, "
                    "write fit(x, y)"
                )
            began = True
            if not is_row:
                yield block
            elif len(single) < rows_per_block(max(block.shape[0], 1)):
                single.append(block)
            else:
                yield _stacked(single)
                single = [block]
        if single:
            yield _stacked(single)


def opened(X: Any, names: Sequence[Any] | None = None) -> Any:
    """Return a source of what is read in parts, and anything else as one array, list or `Columns`.

    A list is one of rows of numbers. `names` are those of the model's columns.
    """
    if isinstance(X, np.ndarray) and X.dtype == np.float16 and X.nbytes > BLOCK_TARGET_BYTES:
        return ArraySource(X)  # in parts: as float32 it takes twice its memory
    if X is None or isinstance(X, np.ndarray | Source) or sparse.issparse(X):
        return X
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X is a path: pass onepass.open_source({os.fspath(X)!r}) instead")
    if hasattr(X, "obs_names") and hasattr(X, "var_names"):  # AnnData
        from onepass.sources.single_cells import AnnDataSource

        return AnnDataSource(X)
    if isinstance(X, list | tuple) and not _is_block(X[0] if X else None):
        if X and isinstance(X[0], str | os.PathLike):
            raise ValueError(
                f"X is a {type(X).__name__} of text, not of rows: if these are paths, pass "
                f"onepass.open_source([{os.fspath(X[0])!r}, ...]) instead"
            )
        return [unmasked(row) for row in X]
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        if _are_lists(frame):
            return Blocks(lambda: _lists(frame), len(frame))
        return _from_table(X)
    if (parts := _parts(X)) is not None:
        source = Blocks(parts, _known_rows(X), names)
        source.once = isinstance(X, Iterator)
        return source
    return _block(X, "X")


def is_mapped(X: Any) -> bool:
    """Return whether an array is a memory map, or a part of one."""
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = X.base
    return isinstance(X, np.memmap)


def _parts(X: Any) -> Callable[[], Iterable[Any]] | None:
    """Return how X is read in parts, or None if it is read as a whole."""
    if hasattr(X, "with_format") and hasattr(X, "iter"):  # Hugging Face
        return lambda: X.with_format("arrow").iter(BATCH_ROWS)
    if hasattr(X, "to_batches"):  # pyarrow's Dataset and Scanner
        return X.to_batches
    if hasattr(X, "collect_batches"):  # polars' LazyFrame
        return lambda: X.collect_batches(chunk_size=BATCH_ROWS)
    if hasattr(X, "to_delayed"):  # Dask
        return lambda: _computed(X)
    if isinstance(X, list | tuple) or not _is_whole(X):
        if isinstance(X, Iterable):
            return lambda: X
        if hasattr(X, "__getitem__") and hasattr(X, "__len__"):  # such as a PyTorch data set
            return lambda: (X[number] for number in range(len(X)))
    return None


def _computed(X: Any) -> Iterator[Any]:
    """Yield the chunks of rows of a Dask array, or the partitions of a dataframe, one by one."""
    if hasattr(X, "rechunk"):  # an array, whose columns may be split, too
        X = X.rechunk({1: -1})
    parts: Any = X.to_delayed()
    for part in getattr(parts, "flat", parts):
        yield part.compute()


def _known_rows(X: Any) -> int | None:
    """Return the number of rows of what is read in parts, where nothing has to be computed."""
    if isinstance(X, list | tuple):
        known = all(hasattr(part, "shape") for part in X)
        return sum(part.shape[0] for part in X) if known else None
    X = getattr(X, "dataset", X)  # of PyTorch's DataLoader
    rows = X.shape[0] if getattr(X, "shape", None) else None  # lazy for Dask's dataframes
    if rows is None and hasattr(X, "__len__"):
        rows = len(X)
    return int(rows) if isinstance(rows, int | np.integer) else None


def _is_whole(X: Any) -> bool:
    """Return whether X is one thing: an array, a tensor, a dict of columns or a query."""
    is_array = hasattr(X, "__array__") or hasattr(X, "__dlpack__")
    return is_array or isinstance(X, Mapping) or _is_query(X)


def _is_query(X: Any) -> bool:
    """Return whether X has to be collected first, as a LazyFrame of polars."""
    return callable(getattr(type(X), "collect", None))


def _is_block(part: Any) -> bool:
    """Return whether a list that begins with `part` is one of blocks, and not one of rows."""
    if isinstance(part, list | tuple):  # a pair (x, y)
        return bool(part) and (isinstance(part[0], Mapping) or np.ndim(part[0]) >= 2)
    return isinstance(part, Mapping) or _is_query(part) or len(getattr(part, "shape", ())) >= 2


def _block(given: Any, name: str) -> Any:
    """Return what an iterable gave as an array, a sparse matrix or `Columns`."""
    if isinstance(given, Columns) or sparse.issparse(given):
        return given
    if isinstance(given, np.ndarray):
        return unmasked(given)
    if _is_query(given):
        raise ValueError(
            f"{name} is a {type(given).__name__}, which holds no rows yet: collect it first, with "
            "its method collect()"
        )
    if isinstance(given, list | tuple):
        return _from_sequence(given)
    if isinstance(given, Mapping):
        return _from_mapping(given, name)
    if type(given).__name__ == "RecordBatch":
        import pyarrow

        given = pyarrow.Table.from_batches([given])
    if nw.dependencies.is_into_dataframe(given):
        return _from_table(given)
    return _to_array(given, name)


def _to_array(X: Any, name: str) -> NDArray[Any]:
    """Return an array, a tensor or a number as an array."""
    if "bfloat16" in str(getattr(X, "dtype", "")):  # which NumPy has not
        X = X.float() if hasattr(X, "float") else X.astype(np.float32)
    try:
        if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
            return np.from_dlpack(X)
        return np.asarray(unmasked(X))
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"{name} is a {type(X).__name__} that NumPy cannot read: {reason}; pass an array of "
            "numbers"
        ) from error


def _from_sequence(given: Sequence[Any]) -> Any:
    """Return the rows of a list or tuple, which holds numbers, rows, or a pair (x, y)."""
    first: Any = given[0] if given else None
    if not (isinstance(first, Mapping) or np.ndim(first) > 0) or isinstance(first, list | tuple):
        return _to_array(given, "A block")
    x, *others = (_block(part, "A block") for part in given)
    alike = all(other.shape == x.shape for other in others)
    if isinstance(given, list) and alike and len(x.shape) == 1:
        return _stacked([x, *others])
    for other in others:  # a label, or one for each row
        if other.shape == x.shape or (len(x.shape) > 1 and other.shape[:1] != x.shape[:1]):
            raise ValueError(
                f"a block holds arrays of shapes {x.shape} and {other.shape}, and it is not clear "
                "which are the rows: write fit(x for x, y in X)"
            )
    return x


def _from_mapping(given: Mapping[Any, Any], name: str) -> Any:
    """Return a dict of columns, or of the numbers of one row, as rows with names."""
    columns = {str(key): _to_array(value, f"{name}[{key!r}]") for key, value in given.items()}
    if len(columns) == 1 and (only := next(iter(columns.values()))).ndim >= 2:
        return only
    shapes = {key: column.shape for key, column in columns.items()}
    if len({*shapes.values()}) != 1 or max(map(len, shapes.values())) > 1:
        raise ValueError(f"{name} is a dict with the shapes {shapes}; choose one: {name}[...]")
    if name == "X" and () in shapes.values():
        raise ValueError("X is a dict of single numbers, one row: write [X]")
    numbers = [_numbers(key, column) for key, column in columns.items()]
    return Columns(np.stack(numbers, axis=-1), list(columns))


def _from_table(table: Any) -> Columns:
    """Return a table of numbers, or one of lists, each number of which is a column."""
    frame = nw.from_native(table, eager_only=True)
    if _are_lists(frame):
        (whole,) = _lists(frame, max(1, len(frame)))
        return whole
    series = list(frame.iter_columns())
    if all(column.dtype.is_numeric() and column.dtype != nw.Decimal for column in series):
        rows = frame.to_numpy()
        if rows.dtype.kind in "biuf" and rows.shape[1] == len(series):
            return Columns(rows, frame.columns, table)
    columns = [_numbers(column.name, _entries(column)) for column in series]
    rows = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    return Columns(rows, frame.columns, table)


def _entries(column: nw.Series[Any]) -> NDArray[Any]:
    """Return the entries of a column, shape (n,); those that are missing are NaN."""
    missing, values = column.is_null().to_numpy(), column.to_numpy()
    if missing.any() and values.dtype.kind != "f":
        values = values.astype(object)
        values[missing] = np.nan
    return values


def _numbers(name: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of a column; say what else it holds, and the first row of it."""
    if values.dtype.kind in "biuf":
        return values
    # Types that `float` takes, although they are no numbers, or only half of one.
    others = str | bytes | np.datetime64 | np.timedelta64 | complex
    found = np.empty(values.shape)
    for row, value in enumerate(values.ravel()):
        try:
            if isinstance(value, others):
                raise TypeError
            found.flat[row] = float(value)
        except (TypeError, ValueError):
            what = "text" if isinstance(value, str | bytes) else f"a {type(value).__name__}"
            remedy = 'choose columns of numbers, of a DataFrame with select_dtypes("number")'
            if isinstance(value, list | tuple | np.ndarray):
                what, remedy = "lists", "choose it alone, or columns of numbers"
            raise ValueError(
                f"column {name!r} contains {what} ({str(value)[:20]!r} in row {row}); {remedy}"
            ) from None
    return found


def _are_lists(frame: nw.DataFrame[Any]) -> bool:
    """Return whether all columns hold lists."""
    return len(frame.columns) > 0 and all(_is_lists(column) for column in frame.iter_columns())


def _is_lists(column: nw.Series[Any]) -> bool:
    """Return whether a column holds lists."""
    if column.dtype != nw.Object:
        return column.dtype in (nw.List, nw.Array)
    first = next((value for value in column.to_numpy() if value is not None), None)
    return isinstance(first, list | tuple | np.ndarray)


def _lists(frame: nw.DataFrame[Any], n_rows: int = BATCH_ROWS) -> Iterator[Columns]:
    """Yield the numbers of a table of lists, some rows at a time.

    Each number is a column: ``embedding_0`` and so on. A list that is missing is a row of NaN.
    """
    lengths = dict[Any, int]()
    for begin in range(0, max(1, len(frame)), n_rows):
        columns, names = [], []
        for column in frame[begin : begin + n_rows].iter_columns():
            columns.append(_rows_of_lists(column, begin, lengths))
            names += [f"{column.name}_{j}" for j in range(columns[-1].shape[1])]
        yield Columns(np.hstack(columns), names, are_made=True)


def _rows_of_lists(column: nw.Series[Any], begin: int, lengths: dict[Any, int]) -> NDArray[Any]:
    """Return lists as rows, shape (n, d); `lengths` are those of the lists before."""
    values, name = column.to_numpy(), column.name
    if values.ndim == 2:  # polars' Array
        return values
    if len(values) == 0:
        return np.empty((0, 1))
    for row, value in enumerate(values, begin):
        if value is not None and len(value) != lengths.setdefault(name, len(value) or -1):
            raise ValueError(
                f"column {name!r}, row {row}: a list of {len(value)} numbers, and the first one "
                f"has {max(lengths[name], 0)}; lists must be equally long, and not empty"
            )
    if name not in lengths:
        raise ValueError(f"column {name!r} begins with {len(values)} rows without a list")
    missing = np.full(lengths[name], np.nan, dtype=np.float32)
    rows = [missing if value is None else np.asarray(value) for value in values]
    return np.stack([row.astype(np.float64) if row.dtype == object else row for row in rows])


def _stacked(rows: list[Any]) -> Any:
    """Return single rows as one block; those of dicts are matched by name."""
    names = getattr(rows[0], "names", None)
    rows = [row.ordered(names) if isinstance(row, Columns) else row for row in rows]
    for number, row in enumerate(rows):
        if row.shape != rows[0].shape or getattr(row, "names", None) != names:
            raise ValueError(
                f"row 0 has {names or rows[0].shape} and row {number} has "
                f"{getattr(row, 'names', row.shape)}: rows must agree"
            )
    if names is not None:
        return Columns(np.stack([row.rows for row in rows]), names)
    return np.stack(rows)
