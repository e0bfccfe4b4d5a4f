"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.columnar import Columnar, blocks, library

# Streaming takes about this much for each column: a page and a dictionary, both up to 1 MB.
_STREAMED_COLUMN = 2 << 20
_BUFFERED = 1 << 22


class ParquetTable(Columnar):
    """A parquet file, read row group by row group.

    A row group is decoded column by column or streamed, whichever takes less memory: at most its
    own size, and at most a few megabytes for each column.
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
        with pyarrow.parquet.ParquetFile(
            self.path, pre_buffer=False, buffer_size=buffer_size
        ) as file:
            for group in range(file.metadata.num_row_groups):
                length = file.metadata.row_group(group).num_rows
                if length > start:
                    found = _record_batches(file, group, names, length, block_rows)
                    yield from blocks(found, names, start, buffers)
                start = max(0, start - length)
                # Otherwise what a row group needed stays with this process.
                pyarrow.default_memory_pool().release_unused()


def _record_batches(
    file: Any, group: int, names: list[str], length: int, block_rows: int
) -> Iterator[Any]:
    """Yield the record batches of one row group."""
    import pyarrow as pa

    # One thread: more of them take more memory, and other work is waiting for the cores.
    if length * 8 <= _STREAMED_COLUMN:
        # Column by column, so that only one at a time holds pages and a dictionary.
        columns = [
            file.read_row_group(group, columns=[name], use_threads=False).column(name)
            for name in names
        ]
        yield from pa.table(columns, names=names).to_batches(max_chunksize=block_rows)
    else:
        yield from file.iter_batches(
            block_rows, row_groups=[group], columns=names, use_threads=False
        )
