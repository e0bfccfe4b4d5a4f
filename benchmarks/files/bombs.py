"""``python -m benchmarks.files.bombs``: small files that expand to more memory than there is.

Each is fitted by a command with ``--memory 2GB``, which has to end with one line and exit code 2
within a minute. Rows without end, which are no bomb, have to be read until they stop.
"""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse
import zarr

from benchmarks.files import bombs
from benchmarks.results import Results, chosen, parser

MEMORY = "2GB"
SECONDS = 60  # for a bomb
STREAM_SECONDS = 20  # for which rows without end are written
N = 300_000_000  # float64 numbers: 2.4 GB
PAGE = 230_000_000  # the same, as many as a page of parquet may hold: 1.8 GB
PROGRAM = [sys.executable, "-c", "from onepass.cli.program import run; run()"]

Write = Callable[[Path], Any]


def zeros(n: int = N, kind: Any = np.float64) -> Any:
    """Return an array of zeros, which takes no memory before it is written to."""
    return pa.array(np.zeros(n, kind))


def one_list(n: int = N, rows: int = 1, kind: Any = np.float64) -> pa.Table:
    """Return a column of lists of zeros."""
    offsets = pa.array(np.arange(rows + 1) * n, pa.int64())
    return pa.table({"v": pa.LargeListArray.from_arrays(offsets, zeros(n * rows, kind))})


def fixed_list(n: int = N) -> pa.Table:
    """Return one list of a fixed size."""
    return pa.table({"v": pa.FixedSizeListArray.from_arrays(zeros(n), n)})


def parquet(make: Callable[[], pa.Table], **options: Any) -> Write:
    """Return the writer of a parquet file with one page in each column."""
    more = {"use_dictionary": False, "write_statistics": False, "data_page_size": 2**31 - 1}
    more |= {"row_group_size": 2**31 - 1, "write_batch_size": 2**30}
    return lambda path: pq.write_table(make(), path, **{**more, **options})


def ipc(make: Callable[[], pa.Table], compression: str, *, stream: bool = False) -> Write:
    """Return the writer of one record batch."""

    def write(path: Path) -> None:
        made = make()
        new = pa.ipc.new_stream if stream else pa.ipc.new_file
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with new(path, made.schema, options=options) as writer:
            writer.write_table(made)

    return write


def deflated(n: int) -> bytes:
    """Return `n` MB of zero bytes in the format of zlib: one compressed block again and again."""
    pack = zlib.compressobj(9)
    first = pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH)
    more = pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    checksum = ((n << 20) % 65521) << 16 | 1  # Adler-32 of zero bytes
    return first + more * (n - 1) + last + checksum.to_bytes(4, "big")


def h5_chunk(rows: int, columns: int, **options: Any) -> Write:
    """Return the writer of one chunk of float64, compressed by gzip."""

    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            shape = (rows, columns)
            data = file.create_dataset(
                "x", shape, "f8", chunks=shape, compression="gzip", **options
            )
            size = -(-8 * rows * columns // (1 << 20))
            data.id.write_direct_chunk((0, 0), deflated(size))

    return write


def h5_empty(rows: int, columns: int, chunks: Any = None) -> Write:
    """Return the writer of an array of which nothing was written."""

    def write(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("x", (rows, columns), "f8", chunks=chunks)

    return write


def h5ad_row(path: Path) -> None:
    """Write AnnData with one cell that has all of 200 million counts."""
    n = 200_000_000
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        matrix.attrs["shape"] = np.array([1, n])
        matrix["indptr"] = np.array([0, n])
        for name, kind in (("data", "f8"), ("indices", "i8")):
            part = matrix.create_dataset(name, (n,), kind, chunks=(n,), compression="gzip")
            part.id.write_direct_chunk((0,), deflated(-(-8 * n // (1 << 20))))
        for name, size in (("obs", 1), ("var", n)):
            table = file.create_group(name)
            table.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0"})
            table.attrs.update({"_index": "_index", "column-order": np.array([], "f8")})
            index = table.create_dataset("_index", (size,), h5py.string_dtype(), chunks=(1 << 16,)
                                         if size > 1 else None)  # fmt: skip
            index.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})


def zarr_chunk(rows: int, columns: int, form: int, **options: Any) -> Write:
    """Return the writer of one chunk of float64."""

    def write(path: Path) -> None:
        shape = (rows, columns)
        array = zarr.create_array(
            path, shape=shape, chunks=shape, dtype="f8", zarr_format=form, fill_value=1.0, **options
        )
        array[:] = np.broadcast_to(0.0, shape)

    return write


def zarr_empty(rows: int, columns: int, chunks: Any) -> Write:
    """Return the writer of an array of which nothing was written."""
    return lambda path: zarr.create_array(
        path, shape=(rows, columns), chunks=chunks, dtype="f8", fill_value=1.0
    )


def record(start: bytes, piece: bytes, open_as: Callable[..., Any], n: int = 3000) -> Write:
    """Return the writer of a first line and a record of `n` MB that does not end."""

    def write(path: Path) -> None:
        block = open_as(piece * ((1 << 20) // len(piece)))
        with path.open("wb") as file:
            file.write(open_as(start))
            for _ in range(n):
                file.write(block)

    return write


def zstd(content: bytes) -> bytes:
    """Return a frame of zstd."""
    return pa.Codec("zstd").compress(content, asbytes=True)


def npz_row(n: int, name: str = "x.npy") -> Write:
    """Return the writer of an npz file with one row of zeros."""

    def write(path: Path) -> None:
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            archive.open(name, "w", force_zip64=True) as file,
        ):
            header = {"descr": "<f8", "fortran_order": False, "shape": (1, n)}
            np.lib.format.write_array_header_1_0(file, header)
            for _ in range(8 * n >> 24):
                file.write(bytes(1 << 24))
            file.write(bytes(8 * n & ((1 << 24) - 1)))

    return write


def npy_hole(path: Path) -> None:
    """Write an npy file with one row of zeros, of which the disk holds nothing."""
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (1, N)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * N)


def wide_csr(path: Path) -> None:
    """Write a sparse matrix of 10^12 columns without entries but one."""
    matrix = scipy.sparse.csr_array(
        (np.ones(1), np.zeros(1, np.int64), np.array([0, 1, 1, 1])), shape=(3, 10**12)
    )
    scipy.sparse.save_npz(path, matrix)


def full_csr(path: Path) -> None:
    """Write a sparse row of 200 million entries."""
    n = 200_000_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in {
            "format": np.array(b"csr"),
            "shape": np.array([1, n]),
            "indptr": np.array([0, n]),
            "indices": np.broadcast_to(np.int64(0), n),
            "data": np.broadcast_to(1.0, n),
        }.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)


class Bomb:
    """A file that expands to more than MEMORY.

    Attributes
    ----------
    name, file : str
        What it is, and how the file is called.
    write : callable
        Writes it.
    """

    def __init__(self, name: str, file: str, write: Write) -> None:
        self.name, self.file, self.write = name, file, write

    def run(self, folder: Path) -> tuple[str, float, str]:
        """Return how the command ended, its seconds, and the last line of what it said."""
        path = folder / self.file
        self.write(path)
        words = ["fit", path, "-k", 1, "--memory", MEMORY, "-o", folder / "m.onepass"]
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                [*PROGRAM, *map(str, words)],
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return "hung", float(SECONDS), ""
        said = [line for line in done.stderr.splitlines() if line.strip()] or [""]
        left = any(folder.glob("*.onepass*"))
        ended = "killed" if done.returncode < 0 else f"exit code {done.returncode}"
        return ended + (", wrote a model" if left else ""), time.perf_counter() - begin, said[-1]


BOMBS = [
    *(
        Bomb(f"parquet: {name}", "a.parquet", write)
        for name, write in {
            "a page of 1.8 GB, zstd": parquet(
                lambda: pa.table({"x": zeros(PAGE)}), compression="zstd"
            ),
            "a page of 1.8 GB, gzip": parquet(
                lambda: pa.table({"x": zeros(PAGE)}), compression="gzip"
            ),
            "eight pages of 400 MB": parquet(
                lambda: pa.table({f"x{j}": zeros(50_000_000) for j in range(8)}),
                compression="zstd",
            ),
            "one list of 1.8 GB": parquet(lambda: one_list(PAGE), compression="zstd"),
            "four lists of 400 MB, float32": parquet(
                lambda: one_list(100_000_000, 4, np.float32), compression="snappy"
            ),
            "one list of a fixed size": parquet(lambda: fixed_list(PAGE), compression="zstd"),
        }.items()
    ),
    *(
        Bomb(f"arrow: {name}", "a.arrow", write)
        for name, write in {
            "a batch of 2.4 GB, zstd": ipc(lambda: pa.table({"x": zeros()}), "zstd"),
            "a batch of 2.4 GB, lz4": ipc(lambda: pa.table({"x": zeros()}), "lz4"),
            "a batch of a stream": ipc(lambda: pa.table({"x": zeros()}), "zstd", stream=True),
            "one list of 2.4 GB": ipc(one_list, "zstd"),
            "one list of a fixed size": ipc(fixed_list, "zstd"),
            "a dictionary of 2.4 GB": ipc(
                lambda: pa.table(
                    {"x": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), zeros())}
                ),
                "zstd",
            ),
        }.items()
    ),
    *(
        Bomb(f"HDF5: {name}", file, write)
        for name, file, write in (
            ("a row of 2.4 GB in a chunk", "a.h5", h5_chunk(1, N)),
            ("a chunk of 3.2 GB", "a.h5", h5_chunk(400, 1_000_000)),
            ("a chunk of one column", "a.h5", h5_chunk(400_000_000, 1)),
            ("a shuffled chunk", "a.h5", h5_chunk(1, N, shuffle=True)),
            ("rows of 8 TB, not written", "a.h5", h5_empty(3, 10**12, (1, 1 << 20))),
            ("rows of 8 GB, contiguous", "a.h5", h5_empty(3, 10**9)),
            ("one cell of 3.2 GB", "a.h5ad", h5ad_row),
        )
    ),
    *(
        Bomb(f"Zarr: {name}", "a.zarr", write)
        for name, write in {
            "a row of 2.4 GB, gzip": zarr_chunk(
                1, N, 3, compressors=zarr.codecs.GzipCodec(level=1)
            ),
            "a row of 2.4 GB, zstd": zarr_chunk(1, N, 3),
            "format 2": zarr_chunk(1, N, 2),
            "a chunk of 2.1 GB": zarr_chunk(2000, 130_000, 3),
            "rows of 8 GB, not written": zarr_empty(3, 10**9, (1, 1 << 20)),
        }.items()
    ),
    *(
        Bomb(f"text: {name}", f"a.{suffix}", record(start, piece, open_as))
        for name, suffix, start, piece, open_as in (
            ("a row of 3 GB, gz", "csv.gz", b"a,b\n1,2\n", b"1,", gzip.compress),
            ("a row of 3 GB, zst", "csv.zst", b"a,b\n1,2\n", b"1,", zstd),
            ("a row of 3 GB, bz2", "csv.bz2", b"a,b\n1,2\n", b"1,", bz2.compress),
            ("a first row of 3 GB", "csv.gz", b"", b"1,", gzip.compress),
            ("a quote that is never closed", "csv.gz", b'a,b\n1,2\n"', b"xyz\n", gzip.compress),
            ("one number of 3 GB", "csv.gz", b"a,b\n1,2\n", b"1", gzip.compress),
            ("a row of svmlight", "svmlight.gz", b"1 1:2\n1 ", b"1:1 ", gzip.compress),
        )
    ),
    Bomb("npz: a row of 2.4 GB", "a.npz", npz_row(N)),
    Bomb("npz: a sparse row of 200 million entries", "a.npz", full_csr),
    Bomb("npz: 10^12 columns", "a.npz", wide_csr),
    Bomb("npy: a row of 2.4 GB", "a.npy", npy_hole),
]


def stream() -> str:
    """Return what becomes of rows that do not end for a while: "read", or what went wrong."""
    rows = np.random.default_rng(0).normal(size=(10_000, 10))
    block = "".join(",".join(f"{v:.6f}" for v in row) + "\n" for row in rows).encode()
    with tempfile.TemporaryDirectory() as folder:
        words = ["fit", "-", "--no-header", "-k", "2", "--memory", MEMORY]
        process = subprocess.Popen(
            [*PROGRAM, *words, "-o", f"{folder}/m.onepass"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        written, begin = 0, time.perf_counter()
        try:
            while time.perf_counter() < begin + STREAM_SECONDS:
                process.stdin.write(block)
                written += len(rows)
            process.stdin.close()
        except BrokenPipeError:
            pass
        said = process.stderr.read().decode() if process.stderr else ""
        if process.wait(SECONDS):
            return f"exit code {process.returncode} after {written:,} rows: {said[-200:]}"
    return "read"


def main(arguments: list[str] | None = None) -> None:
    """Run the bombs one by one, and count how they ended."""
    args = parser("files.bombs", bombs.__doc__).parse_args(arguments)
    results = Results("bombs", args)
    for bomb in chosen(BOMBS, args)[:: 10 if args.quick else 1]:
        with tempfile.TemporaryDirectory() as folder:
            ended, seconds, said = bomb.run(Path(folder))
        said = said.replace(folder, "")
        results.add({"name": bomb.name, "ended": ended, "seconds": seconds, "said": said[:200]})
    counted = Counter(row["ended"] for row in results.rows)
    print(dict(counted), file=sys.stderr)
    if not args.only:
        results.add({"name": "rows without end", "ended": stream(), "seconds": STREAM_SECONDS})


if __name__ == "__main__":
    main()
