"""Parquet: the same rows whatever the writer did, and the memory that they take."""

import decimal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onepass
from onepass.sources import SourceError, open_source
from onepass.warning import OnepassWarning
from tests.sources.files.written import arrow_table

ROWS = np.random.default_rng(0).standard_normal((100, 4))


def test_from_every_row(tmp_path):
    pa.parquet.write_table(arrow_table(ROWS), tmp_path / "a.parquet", row_group_size=30)
    source = open_source(tmp_path / "a.parquet", columns=["c3", "c1"], batch_rows=7)
    for start in range(101):
        rest = [block for _, block in source.blocks((0, start))]
        expected = ROWS[start:][:, [3, 1]]
        np.testing.assert_array_equal(np.vstack([expected[:0], *rest]), expected)


def test_blocks_are_full_across_row_groups(tmp_path):
    """So that they end where the chunks of estimators end."""
    pa.parquet.write_table(arrow_table(ROWS), tmp_path / "a.parquet", row_group_size=30)
    lengths = [len(block) for block in open_source(tmp_path / "a.parquet", batch_rows=16)]
    assert lengths == [16] * 6 + [4]


KINDS = {
    "float64": (pa.float64(), ROWS[:, 0]),
    "float32": (pa.float32(), ROWS[:, 0].astype("f4")),
    "float16": (pa.float16(), ROWS[:, 0].astype("f2")),
    "int64": (pa.int64(), np.arange(100) ** 7),
    "uint64": (pa.uint64(), np.arange(100, dtype="u8")),
    "int8": (pa.int8(), np.arange(100, dtype="i1") - 50),
    "uint16": (pa.uint16(), np.arange(100, dtype="u2") + 65_000),
    "bool": (pa.bool_(), np.arange(100) % 3 == 0),
    "few values": (pa.float64(), np.arange(100.0) % 3),
    "constant": (pa.float64(), np.full(100, 2.5)),
    "decimal": (pa.decimal128(9, 2), [decimal.Decimal(i) / 4 for i in range(100)]),
    "rounded decimal": (
        pa.decimal128(15, 4),
        [decimal.Decimal(i * 98_765_432_109).scaleb(-4) for i in range(100)],
    ),
    "long decimal": (pa.decimal128(30, 2), [decimal.Decimal(i) / 4 for i in range(100)]),
}


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
    st.fixed_dictionaries(
        {
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "compression": st.sampled_from(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
            "use_dictionary": st.booleans(),
            "row_group_size": st.sampled_from([9, 37, 1000]),
            "data_page_size": st.sampled_from([1, 64, 1 << 20]),
            "dictionary_pagesize_limit": st.sampled_from([64, 1 << 20]),
            "write_batch_size": st.sampled_from([3, 1024]),
            "write_page_checksum": st.booleans(),
            "write_page_index": st.booleans(),
            "version": st.sampled_from(["1.0", "2.6"]),
            "store_schema": st.booleans(),
        }
    ),
    st.booleans(),
    st.integers(0, 99),
)
def test_whatever_the_writer_did(tmp_path_factory, kinds, options, nullable, start):
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    fields, columns = [], []
    for j, kind in enumerate(kinds):
        # What is not a number stands between, and must not be mistaken for the next column.
        fields += [
            pa.field(f"t{j}", pa.struct([("x", pa.float64()), ("y", pa.string())])),
            pa.field(f"c{j}", KINDS[kind][0], nullable=nullable),
        ]
        columns += [
            pa.array([{"x": 1.0, "y": "a"}] * 100, fields[-2].type),
            pa.array(KINDS[kind][1], fields[-1].type),
        ]
    pa.parquet.write_table(pa.table(columns, schema=pa.schema(fields)), path, **options)
    expected = np.column_stack([np.asarray(KINDS[kind][1], dtype="f8") for kind in kinds])
    source = open_source(path, batch_rows=11, skip_non_numeric=True)
    found = np.vstack([block for _, block in source.blocks((0, start))])
    np.testing.assert_array_equal(found, expected[start:])


@pytest.mark.parametrize("encoding", ["BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED"])
def test_other_encodings(tmp_path, encoding):
    rows = np.arange(3000).reshape(-1, 3) ** 2
    pa.parquet.write_table(
        arrow_table(rows), tmp_path / "a.parquet", use_dictionary=False, column_encoding=encoding
    )
    np.testing.assert_array_equal(np.vstack(list(open_source(tmp_path / "a.parquet"))), rows)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "lz4", "uncompressed"])
def test_files_of_polars(tmp_path, compression):
    rows = np.column_stack([np.arange(5000.0) % 7, np.random.default_rng(0).normal(size=5000)])
    pl.DataFrame(rows, schema=["a", "b"]).write_parquet(
        tmp_path / "a.parquet", compression=compression, row_group_size=1100, data_page_size=900
    )
    np.testing.assert_array_equal(np.vstack(list(open_source(tmp_path / "a.parquet"))), rows)


def test_a_missing_value_is_nan(tmp_path):
    values = [1.0] * 77 + [None] + [2.0] * 22
    pa.parquet.write_table(pa.table({"a": ROWS[:, 0], "b": values}), tmp_path / "a.parquet")
    rows = np.vstack(list(open_source(tmp_path / "a.parquet")))
    assert np.argwhere(np.isnan(rows)).tolist() == [[77, 1]]


def test_names_with_dots_and_nested_columns(tmp_path):
    nested = pa.array([{"b": 1.0}, {"b": 2.0}])
    table = pa.table({"a.b": [1.0, 2.0], "a": nested, "a.c": [5.0, 6.0]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", skip_non_numeric=True)
    assert source.feature_names == ["a.b", "a.c"]
    assert np.vstack(list(source)).tolist() == [[1, 5], [2, 6]]


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_the_index_of_pandas_is_left_out(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[7, 9])
    if suffix == "parquet":
        table.to_parquet(path)
    else:
        pa.feather.write_feather(pa.Table.from_pandas(table), str(path))
    with pytest.warns(OnepassWarning, match=r"left out .*, column '__index_level_0__'; keep_ind"):
        source = open_source(path)
    assert source.feature_names == ["a", "b"]
    assert np.vstack(list(source)).tolist() == [[1, 3], [2, 4]]
    source = open_source(path, keep_index=True)
    assert source.feature_names == ["a", "b", "__index_level_0__"]
    assert np.vstack(list(source)).tolist() == [[1, 3, 7], [2, 4, 9]]
    assert open_source(path, columns=["__index_level_0__", "a"]).n_features == 2


def test_an_index_with_a_name_is_left_out(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0], "day": [3.0, 4.0]}).set_index("day")
    table.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(OnepassWarning, match="column 'day'"):
        assert open_source(tmp_path / "a.parquet").feature_names == ["a"]


def test_no_index_is_said_where_there_is_none(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(tmp_path / "a.parquet")  # a range, in the metadata
    assert open_source(tmp_path / "a.parquet").feature_names == ["a"]
    odd = arrow_table(ROWS).replace_schema_metadata({"pandas": "[1"})
    pa.parquet.write_table(odd, tmp_path / "b.parquet")
    assert open_source(tmp_path / "b.parquet").n_features == 4


READ = """
import resource, sys
import onepass
from onepass.sources import SourceError, open_source
import pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = sum(len(block) for block in open_source(sys.argv[1]))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("group_rows", [50_000, 400_000])
def test_memory_does_not_grow_with_the_file(tmp_path, group_rows):
    columns = np.random.default_rng(0).standard_normal((20, group_rows))
    table = pa.table(list(columns), names=[f"c{j}" for j in range(20)])
    path = tmp_path / "a.parquet"
    groups = 800_000 // group_rows
    with pa.parquet.ParquetWriter(path, table.schema) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=group_rows)
    assert path.stat().st_size > 100e6
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
    )
    rows, kilobytes = map(int, done.stdout.split())
    assert rows == 800_000
    assert kilobytes < 60_000


def test_names_of_folders_are_left_out_and_pyarrow_takes_them(tmp_path):
    rng = np.random.default_rng(0)
    x, year = rng.normal(size=400), np.repeat([2023, 2024], 200)
    table = pa.table({"x": x, "y": x + rng.normal(size=400), "year": year})
    folder = str(tmp_path / "events")
    parts = {"partitioning": ["year"], "partitioning_flavor": "hive"}
    pyarrow.dataset.write_dataset(table, folder, format="parquet", **parts)
    for exclude in (None, ["year"]):
        source = open_source(folder, exclude=exclude)
        assert source.feature_names == ["x", "y"]
        assert source.notes == ["the names of folders are not read as columns: 'year'"]
    with pytest.raises(SourceError, match="column 'year': it is in the name of a folder"):
        open_source(folder, columns=["x", "year"])
    model = onepass.PCA(2).fit(pyarrow.dataset.dataset(folder, partitioning="hive"))
    assert model.feature_names_in_.tolist() == ["x", "y", "year"]
    np.testing.assert_allclose(model.mean_[2], 2023.5)


def test_the_time_for_many_columns_is_linear(tmp_path):
    times = {}
    for width in (500, 2000):
        table = pa.table({f"c{j}": np.ones(2) for j in range(width)})
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        for _ in range(3):
            begin = time.process_time()
            assert [block.shape for block in open_source(tmp_path / "a.parquet")] == [(2, width)]
            taken = time.process_time() - begin
            times[width] = min(taken, times.get(width, taken))
    assert times[2000] < 8 * times[500]
