"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.files.arrow import ColumnTable, blocks
from onepass.sources.files.storage import is_remote, open_file
from onepass.sources.files.table import Columns

_COLUMN_BUFFER_BYTES = 1 << 18  # without buffers, all of a row group is read at once


class ParquetTable(ColumnTable):
    """A parquet file, of which pyarrow holds a page or two of each column at a time."""

    def __init__(self, path: str) -> None:
        with _opened(path) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def read(
        self, columns: Columns, start: int, block_rows: int, dtype: np.dtype
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        names = self.chosen_names(columns)
        with _opened(self.path) as file:
            groups, skip = list(range(file.metadata.num_row_groups)), start
            while groups and skip >= file.metadata.row_group(groups[0]).num_rows:
                skip -= file.metadata.row_group(groups.pop(0)).num_rows
            # One thread: more of them take more memory, and other work is waiting for the cores.
            found = file.iter_batches(block_rows, groups, names, use_threads=False)
            yield from blocks(found, names, skip, dtype)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file."""
    import pyarrow.parquet

    with (
        open_file(path) if is_remote(path) else nullcontext(path) as content,
        pyarrow.parquet.ParquetFile(
            content, pre_buffer=False, buffer_size=_COLUMN_BUFFER_BYTES
        ) as file,
    ):
        yield file
