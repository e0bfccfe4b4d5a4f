"""Parquet: the two ways to read a row group, and the memory that they take."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from onepass.sources import open_source
from onepass.sources.files import parquet
from tests.sources.files.written import arrow_table

ROWS = np.random.default_rng(0).standard_normal((100, 4))


@pytest.mark.parametrize("streamed", [False, True])
def test_both_ways_from_every_row(tmp_path, monkeypatch, streamed):
    if streamed:
        monkeypatch.setattr(parquet, "_STREAMED_COLUMN", 0)
    pa.parquet.write_table(arrow_table(ROWS), tmp_path / "a.parquet", row_group_size=30)
    source = open_source(tmp_path / "a.parquet", columns=["c3", "c1"], batch_rows=7)
    for start in range(101):
        rest = [block for _, block in source.blocks((0, start))]
        expected = ROWS[start:][:, [3, 1]]
        np.testing.assert_array_equal(np.vstack([expected[:0], *rest]), expected)


def test_names_with_dots_and_nested_columns(tmp_path):
    nested = pa.array([{"b": 1.0}, {"b": 2.0}])
    table = pa.table({"a.b": [1.0, 2.0], "a": nested, "a.c": [5.0, 6.0]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", skip_non_numeric=True)
    assert source.feature_names == ["a.b", "a.c"]
    assert np.vstack(list(source)).tolist() == [[1, 5], [2, 6]]


READ = """
import resource, sys
from onepass.sources import open_source
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
    assert kilobytes < 80_000
