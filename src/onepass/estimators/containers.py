"""Anything that holds rows -> an array, a sparse matrix, columns with names, or blocks of these.

Tables are read through narwhals. Other libraries are told apart by what their objects can do, so
that none of them has to be imported.
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

from onepass.sources import ArraySource, BlockSource, Source
from onepass.sources.base import BLOCK_TARGET_BYTES, rows_per_block, unmasked

BATCH_ROWS = 4096  # of tables that are read in parts: some megabytes of a hundred columns
DATES = (nw.Date, nw.Datetime, nw.Duration, nw.Time)


@dataclass(frozen=True)
class Columns:
    """Rows whose columns have names.

    Attributes
    ----------
    rows : ndarray of shape (n, d), or (d,) for a single row
    names : list of str
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

    def reordered(self, names: Sequence[Any]) -> Columns:
        """Return the columns in the order of these names, if they are those of a dict."""
        if self.table is not None or self.names == list(names) or {*self.names} != {*names}:
            return self
        order = [self.names.index(name) for name in names]
        return Columns(self.rows[..., order], list(names))


class Blocks(BlockSource):
    """Blocks of anything that is read in parts: arrays, tables, single rows, pairs (x, y), dicts.

    The function `make` returns an iterable of them.
    """

    def __init__(
        self,
        make: Callable[[], Iterable[Any]],
        n_rows: int | None = None,
    ) -> None:
        super().__init__(make, n_rows=n_rows)

    @contextmanager
    def naming_places(self, end: Any, block: Any) -> Iterator[None]:
        """Leave errors about entries as they are: they name a place in a block, counted from 0."""
        yield

    def assemble(self, given: Iterable[Any]) -> Iterator[Any]:
        """Yield arrays (b, d), sparse matrices and `Columns`."""
        single: list[Any] = []  # rows that came one by one
        began = False
        for each in given:
            block = _block(each, "A block")
            held = block.rows if isinstance(block, Columns) else block
            is_row = isinstance(held, np.ndarray) and held.ndim == 1
            if not is_row and getattr(held, "shape", (1,))[:1] == (0,):
                continue
            if began and is_row != bool(single):
                raise ValueError(
                    "X gives both blocks of rows and single rows; if one of them is a target, "
                    "write fit(x, y)"
                )
            began = True
            if not is_row:
                yield block
            elif len(single) < rows_per_block(max(len(held), 1)):
                single.append(block)
            else:
                yield _stacked(single)
                single = [block]
        if single:
            yield _stacked(single)


def opened(X: Any) -> Any:
    """Return a source of what is read in parts, and anything else as one array, list or `Columns`.

    A list is one of rows of numbers.
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
    if hasattr(X, "with_format") and hasattr(X, "iter"):  # Hugging Face
        count = getattr(X, "num_rows", None)
        return Blocks(lambda: X.with_format("arrow").iter(BATCH_ROWS), count)
    if hasattr(X, "to_batches") and hasattr(X, "count_rows"):  # pyarrow's Dataset and Scanner
        return Blocks(X.to_batches)
    if hasattr(X, "collect_batches"):  # polars' LazyFrame
        return Blocks(lambda: X.collect_batches(chunk_size=BATCH_ROWS))
    if hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and X.ndim == 2:
        return Blocks(lambda: _computed(X), _known_rows(X))
    if isinstance(X, list | tuple):
        return _opened_sequence(X)
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        if _are_lists(frame):
            return Blocks(lambda: _lists(frame), len(frame))
        return _from_table(X)
    if isinstance(X, Mapping) or _is_array(X) or _is_lazy(X):
        return _block(X, "X")
    if isinstance(X, Iterable):
        dataset: Any = getattr(X, "dataset", None)  # of PyTorch's DataLoader
        return Blocks(lambda: X, len(dataset) if hasattr(dataset, "__len__") else None)
    if hasattr(X, "__getitem__") and hasattr(X, "__len__"):  # such as PyTorch's TensorDataset
        return Blocks(lambda: (X[number] for number in range(len(X))), len(X))
    return _block(X, "X")


def _opened_sequence(X: Sequence[Any]) -> Any:
    """Return a list of rows, or `Blocks` of a list of blocks."""
    first = X[0] if X else None
    _refuse_words(first)
    if isinstance(first, str | os.PathLike):
        raise ValueError(
            f"X is a {type(X).__name__} of text, not of rows: if these are paths, pass "
            f"onepass.open_source([{os.fspath(first)!r}, ...]) instead"
        )
    if not _is_block(first):
        return [unmasked(row) for row in X]
    known = all(hasattr(part, "shape") for part in X)
    return Blocks(lambda: X, sum(part.shape[0] for part in X) if known else None)


def _computed(X: Any) -> Iterator[Any]:
    """Yield the chunks of rows of a Dask array, or the partitions of a dataframe, one by one."""
    if hasattr(X, "rechunk"):  # an array, whose columns may be split, too
        X = X.rechunk({1: -1})
    parts: Any = X.to_delayed()
    for part in getattr(parts, "flat", parts):
        yield part.compute()


def _known_rows(X: Any) -> int | None:
    """Return the number of rows of a Dask array or dataframe, if nothing has to be computed."""
    rows = X.shape[0]  # NaN where chunks have unknown lengths, lazy for dataframes
    return int(rows) if isinstance(rows, int | np.integer) else None


def _is_array(X: Any) -> bool:
    """Return whether X says how to make an array of it."""
    return hasattr(X, "__array__") or hasattr(X, "__dlpack__")


def _is_block(part: Any) -> bool:
    """Return whether a list that begins with `part` is one of blocks, and not one of rows."""
    if isinstance(part, list | tuple):  # a pair (x, y)
        return bool(part) and (isinstance(part[0], Mapping) or np.ndim(part[0]) >= 2)
    return isinstance(part, Mapping) or _is_lazy(part) or len(getattr(part, "shape", ())) >= 2


def _is_lazy(X: Any) -> bool:
    """Return whether X is a query, such as polars' LazyFrame, rather than its result."""
    return callable(getattr(type(X), "collect", None))


def _block(given: Any, name: str) -> Any:
    """Return what an iterable gave as an array, a sparse matrix or `Columns`."""
    if isinstance(given, Columns) or sparse.issparse(given):
        return given
    if isinstance(given, np.ndarray):
        return unmasked(given)
    if _is_lazy(given):
        raise ValueError(
            f"{name} is a {type(given).__name__}, which holds no rows yet: collect it first, with "
            "its method collect()"
        )
    if isinstance(given, list | tuple):
        _refuse_words(given)
        return _from_sequence(given)
    if isinstance(given, Mapping):
        return _from_mapping(given, name)
    if type(given).__name__ == "RecordBatch":
        import pyarrow

        given = pyarrow.Table.from_batches([given])
    if nw.dependencies.is_into_dataframe(given):
        return _from_table(given)
    return _to_array(given, name)


def _refuse_words(part: Any) -> None:
    """Refuse a document of gensim, which would be taken for rows of two columns."""
    pairs = part if isinstance(part, list) else []
    if pairs and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], int) for pair in pairs
    ):
        raise ValueError(
            "X holds pairs (column, number), as documents of gensim do: write "
            "fit(gensim.matutils.corpus2csc(X).T); rows of two numbers are an array"
        )


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
    first = given[0] if given else None
    if given and all(isinstance(part, Mapping) for part in given):
        return _stacked([_block(part, "A row") for part in given])
    is_number = getattr(first, "ndim", None) == 0  # such as one of NumPy's
    if is_number or not (isinstance(first, Mapping) or _is_array(first)):
        return _to_array(given, "A block")
    x = _block(first, "A block")
    shape, shapes = _shape(x), [_shape(part) for part in given[1:]]
    if isinstance(given, list) and len(shape) == 1 and all(theirs == shape for theirs in shapes):
        return _stacked([_block(row, "A row") for row in given])
    for theirs in shapes:  # a label, or one for each row
        if theirs == shape or (len(shape) > 1 and theirs[:1] != shape[:1]):
            raise ValueError(
                f"a block holds arrays of shapes {shape} and {theirs}, and it is not clear which "
                "are the rows: write fit(x for x, y in X)"
            )
    return x


def _shape(part: Any) -> tuple[int, ...]:
    """Return the shape of rows, labels or one number."""
    return tuple(part.shape) if hasattr(part, "shape") else np.shape(part)


def _from_mapping(given: Mapping[Any, Any], name: str) -> Any:
    """Return a dict of columns, or of the numbers of one row, as rows with names."""
    if hasattr(given, "with_format"):
        listed = ", ".join(map(repr, given))
        raise ValueError(
            f"{name} is a {type(given).__name__} of {listed}; choose one: "
            f"fit(X[{next(iter(given))!r}])"
        )
    columns = {str(key): _to_array(value, f"{name}[{key!r}]") for key, value in given.items()}
    if not columns:
        raise ValueError(f"{name} is an empty dict")
    shapes = {column.shape for column in columns.values()}
    if len(columns) == 1 and max(map(len, shapes)) >= 2:
        return next(iter(columns.values()))
    if len(shapes) != 1 or max(map(len, shapes)) > 1:
        listed = ", ".join(f"{key!r} of shape {column.shape}" for key, column in columns.items())
        widest = max(columns, key=lambda key: columns[key].ndim)
        write = f"X[{widest!r}]" if name == "X" else f"batch[{widest!r}] for batch in X"
        raise ValueError(f"{name} is a dict with {listed}; choose one: fit({write})")
    if name == "X" and shapes == {()}:
        raise ValueError("X is a dict of single numbers, one row: write [X]")
    numbers = [_numbers(key, column) for key, column in columns.items()]
    return Columns(np.stack(numbers, axis=-1), list(columns))


def _from_table(table: Any) -> Columns:
    """Return a table of numbers, or one of lists, each number of which is a column."""
    frame = nw.from_native(table, eager_only=True)
    if _are_lists(frame):
        whole, *_ = _lists(frame, max(1, len(frame)))
        return whole
    series = list(frame.iter_columns())
    for column in series:
        if column.dtype in DATES:
            raise _not_numbers(column.name, f"dates or times ({column.dtype})")
        if column.dtype in (nw.List, nw.Array):
            raise _not_numbers(column.name, "lists", "choose it alone, or columns of numbers")
    if all(column.dtype.is_numeric() and column.dtype != nw.Decimal for column in series):
        rows = frame.to_numpy()
    else:
        rows = np.empty((len(frame), 0))
    if rows.dtype.kind not in "biuf" or rows.shape[1] != len(series):
        columns = [_numbers(column.name, _entries(column)) for column in series]
        rows = np.column_stack(columns) if columns else rows
    return Columns(rows, frame.columns, table)


def _entries(column: nw.Series[Any]) -> NDArray[Any]:
    """Return the entries of a column, shape (n,); those that are missing are NaN."""
    missing, values = column.is_null().to_numpy(), column.to_numpy()
    if missing.any() and values.dtype.kind not in "fc":
        values = values.astype(object)
        values[missing] = np.nan
    return values


def _numbers(name: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of a column; say what else it holds, and the first row of it."""
    if values.dtype.kind in "biuf":
        return values
    found = np.empty(values.shape)
    for row, value in enumerate(values.ravel()):
        if isinstance(value, str | bytes):
            raise _not_numbers(
                name,
                f"text ({value[:20]!r} in row {row})",
                'choose columns of numbers, of a DataFrame with select_dtypes("number")',
            )
        if hasattr(value, "year") or isinstance(value, np.datetime64 | np.timedelta64):
            raise _not_numbers(name, f"dates or times ({value} in row {row})")
        if isinstance(value, complex | np.complexfloating):
            raise _not_numbers(name, f"complex numbers ({value} in row {row})")
        if isinstance(value, list | tuple | np.ndarray):
            raise _not_numbers(name, "lists", "choose it alone, or columns of numbers")
        found.reshape(-1)[row] = float(value)
    return found


def _not_numbers(name: Any, what: str, remedy: str = "choose columns of numbers") -> ValueError:
    """Return the error for a column that does not hold numbers."""
    return ValueError(f"column {name!r} contains {what}; {remedy}")


def _are_lists(frame: nw.DataFrame[Any]) -> bool:
    """Return whether all columns hold lists."""
    return len(frame.columns) > 0 and all(_is_lists(column) for column in frame.iter_columns())


def _is_lists(column: nw.Series[Any]) -> bool:
    """Return whether a column holds lists."""
    if column.dtype != nw.Object:
        return column.dtype in (nw.List, nw.Array)
    first = next((value for value in column.to_numpy() if value is not None), None)
    return isinstance(first, list | tuple | np.ndarray)


def _lists(frame: nw.DataFrame[Any], n_rows: int = 0) -> Iterator[Columns]:
    """Yield the numbers of a table of lists, some rows at a time, by default `BATCH_ROWS`.

    Each number is a column: ``embedding_0`` and so on. A list that is missing is a row of NaN.
    """
    n_rows, lengths = n_rows or BATCH_ROWS, dict[Any, int]()
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
    first = rows[0]
    if isinstance(first, Columns):
        rows = [row.reordered(first.names) if isinstance(row, Columns) else row for row in rows]
    for number, row in enumerate(rows):
        names, its = getattr(first, "names", None), getattr(row, "names", None)
        if row.shape != first.shape or its != names:
            what = (first.shape, row.shape) if its == names else (names, its)
            raise ValueError(f"row 0 has {what[0]} and row {number} has {what[1]}: rows must agree")
    if isinstance(first, Columns):
        return Columns(np.stack([row.rows for row in rows]), first.names)
    return np.stack(rows)
