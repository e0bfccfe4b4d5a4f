"""Files of any width take little memory, and rows that never end are refused."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from onepass.sources import SourceError, open_source

# Not ru_maxrss, which begins with that of the parent.
READ = """
import sys, scipy.sparse, pyarrow.compute, pyarrow.csv, pyarrow.parquet
from onepass.sources import open_source
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
before = peak()
rows = sum(block.shape[0] for block in open_source(sys.argv[1]))
print(rows, peak() - before)
"""


def taken(path, rows):
    """Return how much memory it takes to read a file of so many rows, in kB."""
    command = [sys.executable, "-c", READ, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, kilobytes = map(int, done.stdout.split())
    assert found == rows
    return kilobytes


linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")


@linux
def test_wide_csv_files_take_little_for_each_column(tmp_path):
    """pyarrow holds what stands for a missing value once for each column."""
    rows = [",".join(str(10 * i + j % 7 + 0.5) for j in range(8000)) for i in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["c" + ",c" * 7999, *rows]) + "\n")
    assert taken(tmp_path / "a.csv", 12) < 8000 * 20


@linux
def test_lists_take_little(tmp_path):
    numbers = np.random.default_rng(0).standard_normal(120_000 * 384, dtype=np.float32)
    column = pa.FixedSizeListArray.from_arrays(numbers, 384).cast(pa.list_(pa.float32()))
    pa.parquet.write_table(pa.table({"embedding": column}), tmp_path / "a.parquet")
    assert taken(tmp_path / "a.parquet", 120_000) < 120_000  # of 184 MB


@linux
@pytest.mark.parametrize("group_rows", [50_000, 400_000])
def test_memory_does_not_grow_with_the_file(tmp_path, group_rows):
    columns = np.random.default_rng(0).standard_normal((20, group_rows))
    table = pa.table(list(columns), names=[f"c{j}" for j in range(20)])
    with pa.parquet.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for _ in range(1_600_000 // group_rows):
            writer.write_table(table, row_group_size=group_rows)
    assert taken(tmp_path / "a.parquet", 1_600_000) < 150_000  # of 256 MB


def test_a_line_that_never_ends_is_refused(tmp_path):
    (tmp_path / "a.svmlight").write_text("1 " + "1:1 " * (1 << 24))
    with pytest.raises(SourceError, match="a line of more than 64 MB"):
        open_source(tmp_path / "a.svmlight")
