"""Arrow files and streams, and Feather files of version 2, which are the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.sources.buffers import Buffers
from onepass.sources.files.columnar import Columnar, blocks, library

_FILE_MAGIC = b"ARROW1"


class ArrowTable(Columnar):
    """An Arrow file or stream, read record batch by record batch."""

    def __init__(self, path: str) -> None:
        library("arrow")
        with open(path, "rb") as file:
            start = file.read(len(_FILE_MAGIC))
        if start.startswith(b"FEA1"):
            raise ValueError("Feather files of version 1 are not read")
        self._random_access = start == _FILE_MAGIC
        with _reader(path, self._random_access, None) as reader:
            n_rows = reader.count_rows() if self._random_access else None
            super().__init__(path, reader.schema, n_rows)

    def read(
        self, columns: NDArray[np.intp], start: int, block_rows: int, buffers: Buffers
    ) -> Iterator[NDArray[np.floating]]:
        """Yield the rows from number `start` on."""
        assert self.names is not None
        names = [self.names[j] for j in columns.tolist()]
        with _reader(self.path, self._random_access, columns) as reader:
            if self._random_access:
                found = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                found = iter(reader)
            yield from blocks(_cut(found, block_rows), names, start, buffers)


@contextmanager
def _reader(path: str, random_access: bool, columns: NDArray[np.intp] | None) -> Iterator[Any]:
    """Open a file for reading some of its columns, or all."""
    import pyarrow as pa

    fields = None if columns is None else sorted(columns.tolist())
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    # Not mapped into memory: mapped pages would count as memory of this process.
    with pa.OSFile(path, "rb") as file:
        opened = pa.ipc.open_file if random_access else pa.ipc.open_stream
        with opened(file, options=options) as reader:
            yield reader


def _cut(record_batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Yield pieces of at most a number of rows: a file may be one long record batch."""
    for whole in record_batches:
        for begin in range(0, whole.num_rows, rows):
            yield whole.slice(begin, rows)
