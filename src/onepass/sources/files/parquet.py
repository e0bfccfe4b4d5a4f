"""Parquet files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.columnar import Columnar, blocks, library
from onepass.sources.files.parquet_footer import Footer
from onepass.sources.files.parquet_gathering import ColumnReader, Gathering
from onepass.sources.files.parquet_pages import ColumnPages
from onepass.sources.files.parquet_stream import ColumnStream

_BUFFERED = 1 << 22  # bytes that pyarrow reads at once, of all columns together
_SMALL_GROUP = 1 << 23  # bytes
_LONG_PAGE = 1 << 19  # rows; such a page is quicker to keep than to read again, and not large


class ParquetTable(Columnar):
    """A parquet file, read in a memory that depends on the number of columns alone.

    Small row groups are read whole. Of large ones a stretch of rows is gathered column by column,
    each from the pages that hold it, or streamed by pyarrow if the file is of a kind that cannot be
    read so.
    """

    def __init__(self, path: str) -> None:
        library("parquet")
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        import pyarrow.parquet

        assert self.names is not None
        names = [self.names[j] for j in columns.tolist()]
        # Without a buffer of its own for each column, all of a row group is read at once.
        buffer_size = max(1 << 16, min(1 << 20, _BUFFERED // len(names)))
        gathering = Gathering(len(names), block_rows, buffers)
        with (
            pyarrow.parquet.ParquetFile(
                self.path, pre_buffer=False, buffer_size=buffer_size
            ) as file,
            open(self.path, "rb") as raw,
        ):
            finder = _Finder(file, raw)
            for group in range(file.metadata.num_row_groups):
                length = file.metadata.row_group(group).num_rows
                if length > start:
                    if length * len(names) * 8 <= _SMALL_GROUP:
                        yield from gathering.rest()
                        found = _column_by_column(file, group, names, block_rows)
                        yield from blocks(found, names, start, buffers)
                    elif (readers := finder.readers(group, names, start)) is not None:
                        yield from gathering.blocks(readers, start, length)
                    else:
                        yield from gathering.rest()
                        found = file.iter_batches(
                            block_rows, row_groups=[group], columns=names, use_threads=False
                        )
                        yield from blocks(found, names, start, buffers)
                start = max(0, start - length)
                # Otherwise what a row group needed stays with this process.
                pyarrow.default_memory_pool().release_unused()
            yield from gathering.rest()


def _column_by_column(file: Any, group: int, names: list[str], block_rows: int) -> Iterator[Any]:
    """Yield the record batches of one row group, which is held whole."""
    import pyarrow as pa

    # One thread: more of them take more memory, and other work is waiting for the cores. One
    # column at a time, so that only one holds pages and a dictionary.
    columns = [
        file.read_row_group(group, columns=[name], use_threads=False).column(name) for name in names
    ]
    yield from pa.table(columns, names=names).to_batches(max_chunksize=block_rows)


class _Finder:
    """Finds the columns of a file, row group after row group."""

    def __init__(self, file: Any, raw: io.BufferedReader) -> None:
        self._file, self._raw = file, raw
        self._footer: Footer | None = None

    def readers(self, group: int, names: list[str], start: int) -> list[ColumnReader] | None:
        """Return what reads each column of a row group; None if pages cannot be read alone."""
        readers: list[ColumnReader] = []
        try:
            self._footer = self._footer or Footer(self._raw)
            for name in names:
                pages = ColumnPages(self._raw, *self._footer.column(group, name))
                long = pages.whole(start, 1) > _LONG_PAGE
                readers.append(ColumnStream(self._file, group, name) if long else pages)
        except LookupError:
            return None
        return readers
