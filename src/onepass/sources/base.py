"""What a source is, and what all sources have in common: errors, blocks, checks, limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

# A 2-D C-contiguous float array, or a scipy CSR matrix or array (scipy has no common public type).
Block: TypeAlias = NDArray[np.floating] | Any

BLOCK_TARGET_BYTES = 1 << 22
LIMIT_BYTES = 1 << 28  # of a row, or of what has to be read at once
# The largest entries: sums of the squares of any number of rows stay finite, in each precision.
LARGEST, LARGEST_SINGLE = 1e100, 1e18


class SourceError(ValueError):
    """Rows that cannot be read; the message says which file, row and column.

    Rows are counted from 1, without the header of a file. A column is called by its name, or by
    its index in brackets, counted from 0, where it has none.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        row: int | None = None,
        column: str | int | None = None,
    ) -> None:
        place = [] if file is None else [file]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {called(column)}")
        message = " ".join(message.split())
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


def called(column: str | int) -> str:
    """Return how messages call a column: by its name, or by its index in brackets."""
    return f"[{column}]" if isinstance(column, int) else repr(column)


class EntryError(ValueError):
    """An entry of a block that cannot be used; `Source.error` says which entry of a file it is.

    Attributes
    ----------
    what : str
        What is wrong with it, and a remedy.
    row, column : int
        Its place in the block, counted from 0.
    """

    def __init__(self, message: str, what: str = "", row: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.what, self.row, self.column = what, row, column


class Position(NamedTuple):
    """How far a source has been read: `row` rows of file number `file`, and all files before it.

    JSON turns it into a list of two numbers, which `Source.blocks` takes as well.
    """

    file: int
    row: int


class Source(ABC):
    """A re-iterable of blocks of rows: every ``for block in source`` starts at the first row.

    A block is a C-contiguous array of shape (b, d) and of type float64 or float32, or a scipy CSR
    matrix of that shape, with b >= 1 and all numbers finite. The source decides where
    blocks begin and end, and results do not depend on it.

    Attributes
    ----------
    n_features : int
        The number d of columns.
    n_rows : int or None
        The number of rows, where it is known without reading them.
    feature_names : list of str or None
        The names of the columns. Where a file has no names and only some of its columns are read,
        their numbers in the file. None if neither applies.
    """

    n_features: int
    n_rows: int | None
    feature_names: list[str] | None

    @abstractmethod
    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block, block), from the first row or from a position.

        A block may be kept: it is never overwritten.
        """

    def first_row(self, start: Position | None) -> int:
        """Return the first row to read, for a source that is one piece."""
        if start is None:
            return 0
        file, row = start
        if file != 0 or row < 0 or (self.n_rows is not None and row > self.n_rows):
            raise SourceError(f"there is no position {tuple(start)} in these rows")
        return row

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row on."""
        for _, block in self.blocks():
            yield block


def float_type(dtype: np.dtype, file: str | None = None) -> np.dtype:
    """Return the type of blocks of numbers of a type: float32 stays, others become float64."""
    if dtype.kind not in "biuf":
        raise SourceError(f"contains values of type {dtype}, not numbers", file=file)
    return np.dtype(np.float32 if dtype.newbyteorder("=") == np.float32 else np.float64)


def take(block: Any, columns: NDArray[np.intp] | None, dtype: np.dtype) -> Block:
    """Return some columns of an array or CSR array as a block of a type; None is all columns.

    What a file says of a sparse block is checked.
    """
    if not scipy.sparse.issparse(block):
        return np.ascontiguousarray(block if columns is None else block[:, columns], dtype=dtype)
    block.check_format(full_check=True)
    if columns is not None:
        # scipy would take memory for all columns that there are.
        order = np.argsort(columns)
        nearest = np.searchsorted(columns, block.indices, sorter=order)
        found = order[np.minimum(nearest, len(columns) - 1)]
        kept = columns[found] == block.indices
        bounds = np.concatenate([[0], np.cumsum(kept)])[block.indptr]
        shape = (block.shape[0], len(columns))
        block = scipy.sparse.csr_array((block.data[kept], found[kept], bounds), shape=shape)
    return canonical(block.astype(dtype))


def canonical(block: Any) -> Any:
    """Return a CSR block whose rows are sorted, with no entry twice."""
    block = scipy.sparse.csr_array((block.data, block.indices, block.indptr), shape=block.shape)
    if not block.has_canonical_format:
        block = block.copy()
        block.sum_duplicates()
    return block


def rows_per_block(n_features: int) -> int:
    """Return the rows of a block of about four megabytes: a power of two, at most 65,536."""
    rows = max(1, min(1 << 16, BLOCK_TARGET_BYTES // (8 * n_features)))
    return 1 << (rows.bit_length() - 1)


def check_size(what: str, size: int, file: str, row: int | None = None) -> None:
    """Refuse to take memory beyond the limit; the message begins with `what`, up to a verb."""
    if size > LIMIT_BYTES:
        message = f"{what} {size >> 20:,} MB, the limit is {LIMIT_BYTES >> 20} MB"
        raise SourceError(message, file=file, row=row)


def check_width(n_features: int, file: str) -> None:
    """Refuse so many columns that a single row of float64 takes too much memory."""
    check_size(f"{n_features:,} columns are too many: one row takes", 8 * n_features, file)


def first_masked(array: Any) -> tuple[int, int] | None:
    """Return row and column, from 0, of the first masked entry of an array (n, d), if any."""
    if not isinstance(array, np.ma.MaskedArray) or array.ndim != 2 or not np.ma.is_masked(array):
        return None
    row, column = np.argwhere(np.ma.getmaskarray(array))[0]
    return int(row), int(column)


def first_beyond(block: Any, limit: float) -> tuple[int, int, float] | None:
    """Return row, column and value of the first entry that is NaN or beyond a limit, if any."""
    flat = (block.data if scipy.sparse.issparse(block) else block).reshape(-1)
    bad = ~(np.abs(flat) <= limit)
    if not bad.any():
        return None
    at = int(bad.argmax())
    row, column = divmod(at, block.shape[1])
    if scipy.sparse.issparse(block):
        row, column = np.searchsorted(block.indptr, at, side="right") - 1, block.indices[at]
    return int(row), int(column), float(flat[at])


def check_finite(
    block: Any, row: int, columns: Sequence[str | int] | None = None, file: str | None = None
) -> None:
    """Refuse NaN, infinities, and numbers that are too large to be learned from.

    The message says where they are in a block, array (b, d) or CSR, before which `row` rows came;
    columns without names are called by their numbers.
    """
    flat = (block.data if scipy.sparse.issparse(block) else block).reshape(-1)
    limit = LARGEST if flat.dtype == np.float64 else LARGEST_SINGLE
    with np.errstate(over="ignore", invalid="ignore"):
        # Much quicker than looking at each number, and in range only if all are.
        if float(flat @ flat) <= limit**2:
            return
    if found := first_beyond(block, limit):
        i, j, value = found
        what = f"{value:g}, and entries must be at most {limit:g}, so that their squares add up"
        if not np.isfinite(value):
            what = "a missing value or NaN" if np.isnan(value) else f"{value}, which is not finite"
            what += "; fill in or leave out such rows"
        raise SourceError(what, file, row + i + 1, j if columns is None else columns[j])
