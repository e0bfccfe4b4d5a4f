"""What a source is, and what all sources have in common: errors, blocks, limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

# A 2-D C-contiguous float array, or a scipy CSR matrix or array (scipy has no common public type).
Block: TypeAlias = NDArray[np.floating] | Any

BLOCK_TARGET_BYTES = 1 << 22
READ_BYTES = 1 << 26  # What a library is asked for at once: large enough for whole chunks.
# The largest entries: sums of the squares of any number of rows stay finite, in each precision.
LARGEST, LARGEST_SINGLE = 1e100, 1e18


class SourceError(ValueError):
    """Rows that cannot be read; the message says which file, line or row, and column.

    A line is what an editor shows. Where a file has no lines, rows are counted from 1. A column is
    called by its name, or by its index in brackets, counted from 0, where it has none.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        row: int | None = None,
        column: str | int | None = None,
        line: int | None = None,
    ) -> None:
        place = [] if file is None else [file]
        if line is not None:
            place.append(f"line {line}")
        elif row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {called(column)}")
        message = " ".join(message.split())
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


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


def called(column: str | int) -> str:
    """Return how messages call a column: by its name, or by its index in brackets."""
    return f"[{column}]" if isinstance(column, int) else repr(column)


class Position(NamedTuple):
    """How far a source has been read: `row` rows of file number `file`, and all files before it.

    JSON turns it into a list of two numbers, which `Source.blocks` takes as well.
    """

    file: int
    row: int


class Source(ABC):
    """A re-iterable of blocks of rows: every ``for block in source`` starts at the first row.

    A block is a C-contiguous array of shape (b, d) and of type float64 or float32, or a scipy CSR
    matrix of that shape, with b >= 1. NaN is a missing entry. Whether entries are finite is checked
    by the estimator. The source decides where blocks begin and end, and results do not depend on
    it.

    Attributes
    ----------
    n_features : int
        The number d of columns.
    n_rows : int or None
        The number of rows, where it is known without reading them.
    feature_names : list of str or None
        The names of the columns. Where a file has no names and only some of its columns are read,
        their numbers in the file. None if neither applies.
    once : bool
        Whether it can be read only once, as standard input and generators can.
    """

    once: bool = False
    is_mapped: bool = False  # whether a function changed its blocks
    names_are_made: bool = False  # for the numbers of lists: an array need not have such names
    na: Sequence[str | float] = ()  # what stands for a missing entry in its files, if that was said
    reading: Mapping[str, Any] = MappingProxyType({})  # the other `ReadOptions` that were given
    preparation: Any = None  # the `Preparation` of each row; None if it is not known
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
        file, row = (0, 0) if start is None else start
        if file != 0 or row < 0 or (self.n_rows is not None and row > self.n_rows):
            raise SourceError(f"there is no position {(file, row)} in these rows")
        return row

    def error(self, message: str, position: Position, column: int | None = None) -> SourceError:
        """Return an error that names row number `position.row` of a file, counted from 0.

        The column is given by its index in a block.
        """
        names = self.feature_names
        label = column if column is None or names is None else names[column]
        return SourceError(message, row=position.row + 1, column=label)

    @contextmanager
    def naming_places(self, end: Position, block: Block) -> Iterator[None]:
        """Let errors about entries of the block that ends at a position name their place here."""
        try:
            yield
        except EntryError as error:
            place = Position(end.file, end.row - block.shape[0] + error.row)
            raise self.error(error.what, place, error.column) from None

    def map(self, function: Callable[[Block], Any]) -> Source:
        """Return a source of what a function makes of each block.

        Parameters
        ----------
        function : callable
            Takes a block, an array (b, d) or a CSR array with at least one row, and returns an
            array or a sparse matrix of any number of columns, the same for every block. It is
            called at every iteration, and must not depend on where blocks begin and end. It may
            leave out rows.

        Returns
        -------
        Source
            It has the names of this source if the number of columns stays the same, and no names
            otherwise. Its first block is read to find that out, so that a source that can be read
            only once cannot be mapped.

        Examples
        --------
        >>> import numpy as np
        >>> from onepass.sources import ArraySource
        >>> roots = ArraySource(np.array([[1.0, 4.0], [9.0, 16.0]])).map(np.sqrt)
        >>> list(roots)
        [array([[1., 2.],
               [3., 4.]])]
        """
        return MappedSource(self, function)

    def __getitem__(self, rows: slice) -> Source:
        """Return a source of the rows between two numbers, or between two positions.

        Examples
        --------
        >>> import numpy as np
        >>> from onepass.sources import ArraySource
        >>> list(ArraySource(np.arange(8.0).reshape(4, 2))[1:3])
        [array([[2., 3.],
               [4., 5.]])]
        """
        if rows.step is not None:
            raise SourceError("rows are read one after the other: a slice of them has no step")
        begin = self.position(rows.start or Position(0, 0))
        end = None if rows.stop is None else self.position(rows.stop)

        def read(start: Position | None) -> Iterator[tuple[Position, Block]]:
            blocks: Any = self.blocks(begin if start is None else start)
            with closing(blocks):
                for position, block in blocks:
                    if end is not None and position >= end:
                        kept = block.shape[0] - (position.row - end.row)
                        if position.file == end.file and kept > 0:
                            yield end, block[:kept]
                        return
                    yield position, block

        is_known = end is not None and end.file == begin.file
        return Excerpt(self, read, max(0, end.row - begin.row) if end and is_known else None)

    def position(self, row: int | Position) -> Position:
        """Return the position of a row, which is counted from 0 over all rows."""
        if not isinstance(row, int):
            return Position(*row)
        if row < 0:
            raise SourceError(f"rows are counted from 0, not from the end: {row}")
        return Position(0, row if self.n_rows is None else min(row, self.n_rows))

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks from the first row on."""
        for _, block in self.blocks():
            yield block

    def _read_like(self, source: Source) -> None:
        """Take over how the rows of another source are read."""
        for name in ("na", "reading", "preparation", "is_mapped", "names_are_made", "once"):
            setattr(self, name, getattr(source, name))


class Excerpt(Source):
    """Some blocks of another source, with its columns.

    Parameters
    ----------
    source : Source
    read : callable
        As `Source.blocks`: positions are those of the other source.
    n_rows : int or None
        The number of rows, where it is known without reading them.
    """

    def __init__(
        self,
        source: Source,
        read: Callable[[Position | None], Iterator[tuple[Position, Block]]],
        n_rows: int | None = None,
    ) -> None:
        self._read_like(source)
        self.n_features, self.feature_names = source.n_features, source.feature_names
        self.n_rows, self._source, self._read = n_rows, source, read

    def blocks(self, start: Position | None = None) -> Iterator[tuple[Position, Block]]:
        """Yield (position after the block in the other source, block)."""
        return self._read(start)

    def error(self, message: str, position: Position, column: int | None = None) -> SourceError:
        """Return an error that names a place in the other source."""
        return self._source.error(message, position, column)


class MappedSource(Source):
    """What a function makes of the blocks of a source; `Source.map` makes it.

    Positions are those of the source, and rows may be left out: errors name a place in a block.
    """

    def __init__(self, source: Source, function: Callable[[Block], Any]) -> None:
        if source.once:
            raise SourceError("it can be read only once: map its blocks before a source is made")
        self._read_like(source)
        self.is_mapped, self.n_rows = True, None
        self._source, self._function = source, function
        with closing(self.blocks()) as blocks:
            first = next(blocks, None)
        if first is None:
            raise SourceError("the function left out all rows")
        self.n_features = first[1].shape[1]
        is_same = self.n_features == source.n_features
        self.feature_names = source.feature_names if is_same else None

    def blocks(
        self, start: Position | None = None
    ) -> Generator[tuple[Position, Block], None, None]:
        """Yield (position after the block in the source that is mapped, block)."""
        for position, given in self._source.blocks(start):
            # A copy, as the block may be a view of the caller's array.
            block = as_block(self._function(given.copy()), "what the function of map returned")
            if block.shape[0] > 0:
                yield position, block

    @contextmanager
    def naming_places(self, end: Position, block: Block) -> Iterator[None]:
        """Leave errors as they are."""
        yield


def float_type(dtype: np.dtype, file: str | None = None) -> np.dtype:
    """Return the type of blocks of numbers of a type: float64, or float32 if that is enough."""
    if dtype.kind not in "biuf":
        raise SourceError(f"contains values of type {dtype}, not numbers", file=file)
    is_single = dtype.kind == "f" and dtype.itemsize <= 4
    return np.dtype(np.float32 if is_single else np.float64)


def unmasked(array: Any) -> Any:
    """Return an array without a mask: masked entries are NaN, which is a missing entry."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if not np.ma.is_masked(array) or array.dtype.kind not in "biufO":
        return array.data
    dtype = np.dtype(np.float64) if array.dtype.kind == "O" else float_type(array.dtype)
    return np.ma.filled(array.astype(dtype), np.nan)


def as_block(given: Any, what: str = "a block") -> Block:
    """Return an array or sparse matrix as a block: a C-contiguous float array, or CSR.

    Errors begin with `what` it is.
    """
    is_sparse = scipy.sparse.issparse(given)
    block = scipy.sparse.csr_array(given) if is_sparse else np.asarray(unmasked(given))
    if block.ndim != 2 or block.shape[1] == 0:
        raise SourceError(f"{what} has the shape {block.shape}, not (rows, columns)")
    return take(block, None, float_type(block.dtype))


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


def first_beyond(block: Any, limit: float) -> tuple[int, int, float] | None:
    """Return row, column and value of the first entry beyond a limit, infinite ones included."""
    entries = np.abs(block.data if scipy.sparse.issparse(block) else block)
    bad = entries > min(limit, float(np.finfo(entries.dtype).max))
    return first_entry(block, bad) if bad.any() else None


def first_entry(block: Any, chosen: NDArray[np.bool_]) -> tuple[int, int, float]:
    """Return row, column and value of the first chosen entry; of a CSR, stored ones are chosen."""
    at = int(chosen.reshape(-1).argmax())
    if scipy.sparse.issparse(block):
        row = int(np.searchsorted(block.indptr, at, side="right")) - 1
        return row, int(block.indices[at]), float(block.data[at])
    row, column = divmod(at, block.shape[1])
    return row, column, float(block[row, column])
