"""Anything that holds rows -> an array, a sparse matrix, a table, or blocks of these.

Libraries are told apart by what their objects can do, so that none of them has to be imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onepass.estimators.lists import expanded, types_of
from onepass.sources import ArraySource, BlockSource, Source
from onepass.sources.base import BLOCK_TARGET_BYTES, rows_per_block, unmasked

BATCH_ROWS = 4096  # of tables that are read in parts: some megabytes of a hundred columns
# How the names begin that libraries give to the types of columns.
DATE_TYPES = re.compile(r"date|time|duration|period|interval|month")
TEXT_TYPES = re.compile(r"str|utf8|large_str|binary|large_bin|bytes")
PERHAPS_TEXT_TYPES = re.compile(r"object|categor|dictionary|enum")
KINDS = {
    "M": "datetime",
    "m": "timedelta",
    "U": "str",
    "T": "str",
    "S": "bytes",
    "O": "object",
    "c": "complex",
}


@dataclass(frozen=True)
class Columns:
    """Rows from columns that have names, such as those of a dict."""

    rows: NDArray[Any]  # of shape (n, d), or (d,) for a single row
    names: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows."""
        return self.rows.shape


class Blocks(BlockSource):
    """Blocks of anything that is read in parts: arrays, tables, single rows, pairs (x, y), dicts.

    The function `make` returns an iterable of them.
    """

    def __init__(self, make: Callable[[], Iterable[Any]], n_rows: int | None = None) -> None:
        super().__init__(make, n_rows=n_rows)

    @contextmanager
    def naming_places(self, end: Any, block: Any) -> Iterator[None]:
        """Leave errors about entries as they are: they name a place in a block, counted from 0."""
        yield

    def assemble(self, given: Iterable[Any]) -> Iterator[Any]:
        """Yield arrays (b, d), sparse matrices, tables and `Columns`."""
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
    """Return `Blocks` of what is read in parts, and anything else as one array, table or list."""
    if isinstance(X, np.ndarray) and X.dtype == np.float16 and X.ndim == 2:
        # Not all at once, which takes twice or four times the memory of X.
        return X.astype(np.float32) if X.nbytes <= BLOCK_TARGET_BYTES else ArraySource(X)
    if X is None or isinstance(X, np.ndarray | Source) or sparse.issparse(X):
        return X
    if hasattr(X, "with_format") and isinstance(X, Mapping):
        listed = ", ".join(map(repr, X))
        raise ValueError(
            f"X is a {type(X).__name__} of {listed}; choose one: fit(X[{next(iter(X))!r}])"
        )
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
    if is_table(X) and not isinstance(X, Mapping) and set(types_of(X).values()) == {"lists"}:
        return Blocks(lambda: (Columns(*part) for part in expanded(X, BATCH_ROWS)), len(X))
    if isinstance(X, Mapping) or is_table(X) or _is_array(X):
        return _block(X, "X")
    if isinstance(X, Iterable):
        dataset: Any = getattr(X, "dataset", None)  # of PyTorch's DataLoader
        count = len(dataset) if hasattr(dataset, "__len__") else None
        return Blocks(lambda: X, count)
    if hasattr(X, "__getitem__") and hasattr(X, "__len__"):  # such as PyTorch's TensorDataset
        return Blocks(lambda: (X[number] for number in range(len(X))), len(X))
    return _block(X, "X")


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


def is_table(X: Any) -> bool:
    """Return whether X is a table of pandas, polars or pyarrow."""
    if _is_lazy(X):  # asking a query for its columns may run it
        return False
    return hasattr(X, "columns") or hasattr(X, "column_names") or hasattr(X, "__dataframe__")


def _is_array(X: Any) -> bool:
    """Return whether X says how to make an array of it."""
    return any(hasattr(X, name) for name in ("__array__", "__dlpack__", "__array_interface__"))


def _is_block(part: Any) -> bool:
    """Return whether a list that begins with `part` is one of blocks, and not one of rows."""
    if isinstance(part, list | tuple):  # a pair (x, y)
        return bool(part) and (isinstance(part[0], Mapping) or np.ndim(part[0]) >= 2)
    return isinstance(part, Mapping) or _is_lazy(part) or len(getattr(part, "shape", ())) >= 2


def _is_lazy(X: Any) -> bool:
    """Return whether X is a query, such as polars' LazyFrame, rather than its result."""
    return callable(getattr(type(X), "collect", None))


def _block(given: Any, name: str) -> Any:
    """Return what an iterable gave as an array, a sparse matrix, a table or `Columns`."""
    if isinstance(given, Columns):
        return given
    if isinstance(given, np.ndarray) or sparse.issparse(given):
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
    if is_table(given):
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
    if is_number or not (isinstance(first, Mapping) or is_table(first) or _is_array(first)):
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
    held = part.rows if isinstance(part, Columns) else part
    return tuple(held.shape) if hasattr(held, "shape") else np.shape(held)


def _from_mapping(given: Mapping[Any, Any], name: str) -> Any:
    """Return a dict of columns, or of the numbers of one row, as rows with names."""
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
    for key, column in columns.items():
        _check_column(key, KINDS.get(column.dtype.kind, "number"), column)
    return Columns(np.stack(list(columns.values()), axis=-1), list(columns))


def _from_table(table: Any) -> Any:
    """Return a table without columns of text or dates; in one of lists each number is a column."""
    if type(table).__name__ == "RecordBatch":
        import pyarrow

        table = pyarrow.Table.from_batches([table])
    kinds = types_of(table)
    if set(kinds.values()) == {"lists"}:
        return Columns(*next(expanded(table, max(1, len(table)))))
    for name, kind in kinds.items():
        _check_column(name, kind, table[name])
    if "object" in kinds.values() and hasattr(table, "convert_dtypes"):
        # NumPy makes no number of pandas' NA among objects.
        return table.convert_dtypes(convert_floating=False)
    return table


def _check_column(name: Any, kind: str, column: Any) -> None:
    """Refuse a column of text, dates or complex numbers, by its name."""
    kind = kind.lower()
    what = "complex numbers" if kind.startswith("complex") else ""
    if kind == "lists":
        raise ValueError(f"column {name!r} contains lists; choose it alone, or columns of numbers")
    if DATE_TYPES.match(kind):
        what = f"dates or times ({kind})"
    elif TEXT_TYPES.match(kind) or PERHAPS_TEXT_TYPES.match(kind):
        what = "text" if TEXT_TYPES.match(kind) else ""
        for row, value in enumerate(np.asarray(column).ravel()):
            if isinstance(value, str | bytes):
                what = f"text ({value[:20]!r} in row {row})"
                break
            if isinstance(value, complex | np.complexfloating):
                what = f"complex numbers ({value} in row {row})"
                break
            if hasattr(value, "year"):
                what = f"dates or times ({value} in row {row})"
                break
    if what:
        raise ValueError(f"column {name!r} contains {what}; choose columns of numbers")


def _stacked(rows: list[Any]) -> Any:
    """Return single rows as one block."""
    names = [row.names if isinstance(row, Columns) else None for row in rows]
    held = [row.rows if isinstance(row, Columns) else row for row in rows]
    for number, (row, its) in enumerate(zip(held, names, strict=True)):
        if row.shape != held[0].shape or its != names[0]:
            what = (held[0].shape, row.shape) if its == names[0] else (names[0], its)
            raise ValueError(f"row 0 has {what[0]} and row {number} has {what[1]}: rows must agree")
    block = np.stack(held)
    return block if names[0] is None else Columns(block, names[0])
