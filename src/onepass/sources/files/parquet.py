"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.columnar import Columnar, blocks, library

_BUFFERED = 1 << 22


class ParquetTable(Columnar):
    """A parquet file, read row group by row group."""

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
        # Without a buffer of its own for each column, whole row groups are read at once, which may
        # be hundreds of megabytes.
        buffer_size = max(1 << 16, min(1 << 20, _BUFFERED // len(names)))
        with pyarrow.parquet.ParquetFile(
            self.path, pre_buffer=False, buffer_size=buffer_size
        ) as file:
            lengths = [
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            ]
            first = 0
            while first < len(lengths) and lengths[first] <= start:
                start -= lengths[first]
                first += 1
            groups = list(range(first, len(lengths)))
            if groups:
                found = file.iter_batches(
                    block_rows, row_groups=groups, columns=names, use_threads=False
                )
                yield from blocks(found, names, start, buffers)
