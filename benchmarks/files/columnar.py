"""Parquet, Arrow and feather files by pyarrow, pandas, polars, duckdb and fastparquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq

from benchmarks.files.case import Case, Writer
from benchmarks.files.rows import embeddings, mixed, mostly_zeros, table

Make = Callable[[], Any]


def arrow(make: Make) -> pa.Table:
    """Return a table of pyarrow from a frame or from columns by name."""
    made = make()
    return pa.Table.from_pandas(made) if isinstance(made, pd.DataFrame) else pa.table(made)


def lists(kind: pa.DataType, rows: Any, first_null: int = 0) -> pa.Array:
    """Return rows as a column of lists, of which the first ones are null."""
    return pa.array([None] * first_null + [list(row) for row in rows], kind)


def fixed(rows: Any) -> pa.FixedSizeListArray:
    """Return rows as a column of lists of one length."""
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def gapped() -> pd.DataFrame:
    """Return a table with missing values."""
    return table(missing=0.1)


# What columns may be, for parquet and for Arrow files.
COLUMNS: dict[str, Make] = {
    "missing values": gapped,
    "text, dates, categories": mixed,
    "one column": lambda: table(150, 1),
    "one row": lambda: table(1, 5),
    "one row of 20,000 columns": lambda: table(1, 20_000),
    "3,000 columns": lambda: table(50, 3000),
    "mostly zeros, 200,000 x 20": mostly_zeros,
    "a constant of 2 million rows": lambda: {"x": np.zeros(2_000_000), "y": np.ones(2_000_000)},
    **{
        f"columns of {kind}": lambda kind=kind: {"x": pa.array([1, None, 0, 7, 100], kind)}
        for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32())
    },
    "int64 and uint64": lambda: {
        "x": pa.array([1, -(2**40), None], pa.int64()),
        "y": pa.array([2**63, 5, 6], pa.uint64()),
    },
    "float16 and float32": lambda: {
        "x": pa.array(np.arange(9, dtype=np.float16)),
        "y": pa.array(np.arange(9, dtype=np.float32) / 7),
    },
    "truth values with nulls": lambda: {"x": [True, None, False], "y": [1.5, 2.5, None]},
    "decimals": lambda: {
        "price": pa.array([Decimal("1.25"), None, Decimal("-99999.75")], pa.decimal128(10, 2)),
        "x": [1.0, 2.0, 3.0],
    },
    "decimals of 256 bits": lambda: {
        "price": pa.array([Decimal("12345678901234567890.5"), None], pa.decimal256(50, 3))
    },
    "dictionary of numbers": lambda: {
        "x": pa.array([0.5, 1.5, 0.5, None]).dictionary_encode(),
        "y": [1, 2, 3, 4],
    },
    "a column of nulls beside numbers": lambda: {
        "x": [1.0, 2.0, 3.0],
        "y": pa.array([None] * 3, pa.float64()),
    },
    "lists of float": lambda: {"embedding": lists(pa.list_(pa.float32()), embeddings())},
    "lists, the first 70 null": lambda: {
        "embedding": lists(pa.list_(pa.float32()), embeddings(100, 8), first_null=70)
    },
    "large lists of double": lambda: {
        "id": [f"r{i}" for i in range(400)],
        "embedding": lists(pa.large_list(pa.float64()), embeddings()),
    },
    "fixed-size lists": lambda: {"embedding": fixed(embeddings())},
    "fixed-size lists of int8": lambda: {"embedding": fixed(embeddings(20_000, 96, np.int8))},
    "fixed-size lists of float16": lambda: {"embedding": fixed(embeddings(300, 16, np.float16))},
    "fixed-size lists with nulls": lambda: {
        "embedding": lists(pa.list_(pa.float32(), 8), embeddings(100, 8), first_null=3)
    },
    "embeddings of 4,096 numbers": lambda: {"embedding": fixed(embeddings(300, 4096))},
    "text, then lists": lambda: {
        "text": ["a", "b"] * 50,
        "day": pa.array([date(2024, 1, 1)] * 100),
        "v": lists(pa.list_(pa.float64()), embeddings(100, 8)),
    },
}


def parquet(make: Make, **options: Any) -> Writer:
    """Return the writer of a parquet file."""

    def write(path: Path) -> pd.DataFrame:
        pq.write_table(arrow(make), path, **options)
        return pq.read_table(path).to_pandas()

    return write


def ipc(make: Make, *, stream: bool = False, rows: int | None = None, **options: Any) -> Writer:
    """Return the writer of an Arrow file or stream with batches of some rows."""

    def write(path: Path) -> pd.DataFrame:
        made = arrow(make)
        new = pa.ipc.new_stream if stream else pa.ipc.new_file
        with new(path, made.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(made, max_chunksize=rows)
        return made.to_pandas()

    return write


def feather(make: Make, **options: Any) -> Writer:
    """Return the writer of a feather file."""

    def write(path: Path) -> pd.DataFrame:
        made = arrow(make)
        pa.feather.write_feather(made, path, **options)
        return pa.feather.read_feather(path)

    return write


def folder(**options: Any) -> Writer:
    """Return the writer of a folder of files."""

    def write(path: Path) -> pd.DataFrame:
        made = pa.Table.from_pandas(table(300))
        pa.dataset.write_dataset(
            made, path, max_rows_per_file=100, max_rows_per_group=50, **options
        )
        return made.to_pandas()

    return write


def extension(path: Path) -> pd.DataFrame:
    """Write a column of tensors of 2 x 4 numbers."""
    cells = embeddings(50, 8)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(cells.reshape(50, 2, 4))
    pq.write_table(pa.table({"tensor": tensors}), path)
    return pd.DataFrame({"tensor": list(cells)})


def uneven(path: Path) -> pd.DataFrame:
    """Write lists of different lengths beside a column of numbers."""
    made = pd.DataFrame({"v": [[1.0, 2.0], [3.0]], "x": [1.0, 2.0]})
    made.to_parquet(path)
    return made[["x"]]


def structs(path: Path) -> pd.DataFrame:
    """Write a column of points beside a column of numbers."""
    made = pa.table({"point": [{"x": 1.0, "y": 2.0}] * 3, "x": [1.0, 2.0, 3.0]})
    pq.write_table(made, path)
    return made.select(["x"]).to_pandas()


def runs(path: Path) -> pd.DataFrame:
    """Write a column as runs of equal values."""
    run = pa.RunEndEncodedArray.from_arrays(pa.array([3, 5], pa.int32()), pa.array([1.5, 2.5]))
    made = pa.table({"x": run, "y": np.arange(5.0)})
    with pa.ipc.new_file(path, made.schema) as writer:
        writer.write_table(made)
    return pd.DataFrame({"x": [1.5] * 3 + [2.5] * 2, "y": np.arange(5.0)})


PARQUET: dict[str, dict[str, Any]] = {
    **{
        f"compressed by {kind}": {"compression": kind}
        for kind in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
    },
    "version 1.0": {"version": "1.0"},
    "version 2.4": {"version": "2.4"},
    "data pages of version 2": {"data_page_version": "2.0"},
    "no dictionaries": {"use_dictionary": False},
    "a row in each row group": {"row_group_size": 1},
    "row groups of 7 rows": {"row_group_size": 7},
    "pages of 1 kB": {"data_page_size": 1024, "write_batch_size": 16},
    "byte stream split": {"use_dictionary": False, "use_byte_stream_split": True},
    "no statistics": {"write_statistics": False},
    "page index and checksums": {"write_page_index": True, "write_page_checksum": True},
    "schema not stored": {"store_schema": False},
    "zstd of level 19": {"compression": "zstd", "compression_level": 19},
}
INT8, ZEROS = COLUMNS["fixed-size lists of int8"], COLUMNS["mostly zeros, 200,000 x 20"]


def from_pyarrow() -> Iterator[Case]:
    """Yield what pyarrow writes."""
    for name, options in PARQUET.items():
        yield Case("pyarrow", f"parquet: {name}", "a.parquet", parquet(gapped, **options))
    for name, make in COLUMNS.items():
        yield Case("pyarrow", f"parquet: {name}", "a.parquet", parquet(make))
        yield Case("pyarrow", f"arrow: {name}", "a.arrow", ipc(make))
    for name, write in {
        "int8, zstd": parquet(INT8, compression="zstd"),
        "zeros, zstd": parquet(ZEROS, compression="zstd"),
        "zeros, gzip": parquet(ZEROS, compression="gzip", use_dictionary=False),
        "a tensor column": extension,
        "differences": parquet(
            lambda: {"i": np.arange(5000), "j": np.arange(5000) % 7},
            use_dictionary=False,
            column_encoding="DELTA_BINARY_PACKED",
        ),
    }.items():
        yield Case("pyarrow", f"parquet: {name}", "a.parquet", write)
    for kind in ("parquet", "feather"):
        yield Case("pyarrow", f"{kind}: a folder", "a", folder(format=kind))
    yield Case(
        "pyarrow", "parquet: uneven lists", "a.parquet", uneven, {}, "", "v", {"exclude": ["v"]}
    )
    yield Case(
        "pyarrow", "parquet: structs", "a.parquet", structs, {}, "", "point", {"exclude": ["point"]}
    )
    for name, write in {
        "stream": ipc(gapped, stream=True),
        "stream, zstd": ipc(gapped, stream=True, compression="zstd"),
        "batches of 3 rows": ipc(gapped, rows=3),
        "runs of equal values": runs,
        **{f"{kind}": ipc(gapped, compression=kind) for kind in ("lz4", "zstd")},
        **{f"int8, {kind}": ipc(INT8, compression=kind) for kind in ("lz4", "zstd")},
        **{f"zeros, {kind}": ipc(ZEROS, compression=kind) for kind in ("lz4", "zstd")},
        "zeros, stream, zstd": ipc(ZEROS, stream=True, compression="zstd"),
    }.items():
        yield Case("pyarrow", f"arrow: {name}", "a.arrow", write)
    for kind in ("uncompressed", "lz4", "zstd"):
        yield Case("pyarrow", f"feather: {kind}", "a.feather", feather(gapped, compression=kind))
    old = feather(gapped, version=1)
    yield Case("pyarrow", "feather: version 1", "a.feather", old, {}, "", "version")


def frame(make: Callable[[], pd.DataFrame], method: str, **options: Any) -> Writer:
    """Return the writer that is a method of a frame of pandas."""

    def write(path: Path) -> pd.DataFrame:
        getattr(make(), method)(path, **options)
        read = pd.read_parquet if method == "to_parquet" else pd.read_feather
        return read(path).reset_index(drop=True)

    return write


def nullable() -> pd.DataFrame:
    """Return columns of the types of pandas that know missing values."""
    made = pd.DataFrame({"i": [1, None, 3], "b": [True, None, False], "f": [0.5, 1.5, None]})
    return made.astype({"i": "Int64", "b": "boolean", "f": "Float32"})


def of_arrow() -> pd.DataFrame:
    """Return columns of the types of pyarrow."""
    return gapped().astype("float64[pyarrow]").assign(text="a")


FRAMES: dict[str, Callable[[], pd.DataFrame]] = {
    "missing values": gapped,
    "text, dates, categories": mixed,
    "mostly zeros": mostly_zeros,
    "nullable types": nullable,
    "types of pyarrow": of_arrow,
    "lists": lambda: pd.DataFrame({"id": range(100), "v": list(embeddings(100, 8))}),
    "categories of text": lambda: table().assign(kind=pd.Categorical(["a", "b", "c"] * 50)),
    "float32 and int8": lambda: table().astype({"x0": "float32"}).assign(i=np.int8(3)),
    "time zones": lambda: table().assign(
        at=pd.date_range("2024-01-01", periods=150, tz="Europe/Paris")
    ),
    "2,000 columns": lambda: table(100, 2000),
}


def from_pandas() -> Iterator[Case]:
    """Yield what pandas writes in columns."""
    for name, make in FRAMES.items():
        yield Case("pandas", f"parquet: {name}", "a.parquet", frame(make, "to_parquet"))
        yield Case("pandas", f"feather: {name}", "a.feather", frame(make, "to_feather"))
    indexed: dict[str, Callable[[], pd.DataFrame]] = {
        "a named index": lambda: table().set_index(pd.Index(range(10, 160), name="row")),
        "an index of text": lambda: table().set_index(pd.Index([f"r{i}" for i in range(150)])),
        "an index of dates": lambda: table().set_index(pd.date_range("2024-01-01", periods=150)),
        "a row taken out": lambda: table().drop(index=3),
        "an index of two levels": lambda: table().set_index(
            pd.MultiIndex.from_product([range(15), range(10)], names=["a", "b"])
        ),
    }
    for name, make in indexed.items():
        yield Case("pandas", f"parquet: {name}", "a.parquet", frame(make, "to_parquet"))
    for kind in ("gzip", "zstd", "brotli"):
        write = frame(mostly_zeros, "to_parquet", compression=kind)
        yield Case("pandas", f"parquet: zeros by {kind}", "a.parquet", write)


def polar(make: Callable[[], pl.DataFrame], method: str, **options: Any) -> Writer:
    """Return the writer that is a method of a frame of polars."""

    def write(path: Path) -> pd.DataFrame:
        made = make()
        getattr(made, method)(path, **options)
        return made.to_pandas()

    return write


POLARS: dict[str, Callable[[], pl.DataFrame]] = {
    "missing values": lambda: pl.from_pandas(gapped()),
    "text, dates, categories": lambda: pl.from_pandas(mixed()),
    "mostly zeros": lambda: pl.from_pandas(mostly_zeros()),
    "enumerated text": lambda: pl.DataFrame({"x": [1.0, 2.0], "e": ["a", "b"]}).with_columns(
        pl.col("e").cast(pl.Enum(["a", "b"]))
    ),
    "lists": lambda: pl.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]]}),
    "lists, the first 70 null": lambda: pl.DataFrame({"v": [None] * 70 + [[1.0, 2.0]] * 30}),
    "arrays": lambda: pl.DataFrame({"v": embeddings(100, 16)}),
    "decimals": lambda: pl.DataFrame({"p": [Decimal("1.50"), None, Decimal("2.25")]}),
    "durations and times": lambda: pl.DataFrame({"x": [1.0, 2.0], "n": [3, 4]}).with_columns(
        day=pl.date(2024, 1, 1)
    ),
}


def from_polars() -> Iterator[Case]:
    """Yield what polars writes in columns."""
    for name, make in POLARS.items():
        yield Case("polars", f"parquet: {name}", "a.parquet", polar(make, "write_parquet"))
        yield Case("polars", f"ipc: {name}", "a.arrow", polar(make, "write_ipc"))
    for kind in ("lz4", "uncompressed", "snappy", "gzip", "brotli", "zstd"):
        write = polar(POLARS["missing values"], "write_parquet", compression=kind)
        yield Case("polars", f"parquet: {kind}", "a.parquet", write)
    for kind in ("lz4", "zstd"):
        write = polar(POLARS["mostly zeros"], "write_ipc", compression=kind)
        yield Case("polars", f"ipc: zeros by {kind}", "a.arrow", write)
    small = polar(POLARS["missing values"], "write_parquet", row_group_size=9, statistics="full")
    yield Case("polars", "parquet: row groups of 9 rows", "a.parquet", small)
    stream = polar(POLARS["missing values"], "write_ipc_stream")
    yield Case("polars", "ipc: stream", "a.arrow", stream)


def query(select: str, options: str = "format parquet") -> Writer:
    """Return the writer of what a query of duckdb gives."""

    def write(path: Path) -> pd.DataFrame:
        duckdb.sql(f"copy ({select}) to '{path}' ({options})")
        return duckdb.sql(f"from '{path}'").df()

    return write


NUMBERS = "select i, sin(i) as x, i / 7 as y, i::smallint as s from range(500) t(i)"
QUERIES = {
    "numbers": NUMBERS,
    "nulls": "select i, case when i % 5 > 0 then sqrt(i) end as x from range(500) t(i)",
    "text and dates": "select i, 'r' || i as name, date '2024-01-01' as d from range(500) t(i)",
    "decimals": "select (i / 8)::decimal(18, 3) as price, i from range(500) t(i)",
    "truth values": "select i % 2 = 0 as even, i from range(500) t(i)",
    "small unsigned numbers": "select (i % 200)::utinyint as u, i::float as f from range(500) t(i)",
    "arrays": "select [i, i + 1, i * 2]::float[3] as v from range(500) t(i)",
    "lists": "select [i, i + 1, i * 2] as v from range(500) t(i)",
    "lists, null at first": "select case when i > 90 then [i, 1] end as v from range(99) t(i)",
    "mostly zeros": "select (i % 997 = 0)::int as x, 0.0::double as y from range(400000) t(i)",
    "enumerated text": "select i, (['a', 'b'])[1 + i % 2]::enum('a', 'b') as e from range(50) t(i)",
}


def from_duckdb() -> Iterator[Case]:
    """Yield what duckdb writes in columns."""
    for name, select in QUERIES.items():
        yield Case("duckdb", f"parquet: {name}", "a.parquet", query(select))
    for kind in ("uncompressed", "snappy", "gzip", "zstd", "lz4_raw"):
        write = query(NUMBERS, f"format parquet, compression {kind}")
        yield Case("duckdb", f"parquet: {kind}", "a.parquet", write)
    v2 = query(NUMBERS, "format parquet, parquet_version v2, row_group_size 2048")
    yield Case("duckdb", "parquet: version 2", "a.parquet", v2)


def fast(make: Callable[[], pd.DataFrame], **options: Any) -> Writer:
    """Return the writer of a parquet file by fastparquet."""

    def write(path: Path) -> pd.DataFrame:
        import fastparquet

        fastparquet.write(str(path), make(), **options)
        return fastparquet.ParquetFile(str(path)).to_pandas().reset_index(drop=True)

    return write


def from_fastparquet() -> Iterator[Case]:
    """Yield what fastparquet writes."""
    cases: dict[str, Writer] = {
        "defaults": fast(table),
        "missing values": fast(gapped),
        "mostly zeros": fast(mostly_zeros),
        "zeros of 2 million rows": fast(lambda: pd.DataFrame({"x": np.zeros(2_000_000)})),
        "text, dates, categories": fast(mixed),
        "never null": fast(table, has_nulls=False),
        "row groups": fast(table, row_group_offsets=40),
        "times of 96 bits": fast(mixed, times="int96"),
        "nullable types": fast(lambda: nullable().astype({"f": "float32"})),
        "1,000 columns": fast(lambda: table(50, 1000)),
        **{kind.lower(): fast(table, compression=kind) for kind in ("GZIP", "SNAPPY", "ZSTD")},
    }
    for name, write in cases.items():
        yield Case("fastparquet", name, "a.parquet", write)
    yield Case("fastparquet", "a folder", "a", fast(table, file_scheme="hive"))


def cases() -> Iterator[Case]:
    """Yield all files in columns."""
    yield from from_pyarrow()
    yield from from_pandas()
    yield from from_polars()
    yield from from_duckdb()
    yield from from_fastparquet()
