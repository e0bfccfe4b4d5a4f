"""The program as it is installed, and the memory that it takes."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

RUN = """
import sys
from onepass.cli.program import run
try:
    run()
finally:
    with open("/proc/self/status") as status:
        peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    print(peak, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems say it differently")
# Libraries take half of it; pyarrow keeps dictionary and pages of all columns of a row group.
@pytest.mark.parametrize("group_rows", [60_000, 200_000])
def test_a_fit_stays_small(tmp_path, group_rows):
    def peak(rows):
        done = subprocess.run(
            [sys.executable, "-c", RUN, "fit", "a.parquet", "-k", "8", "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert f'"rows": {rows}' in done.stdout
        return int(done.stderr.split()[-1])

    table = pa.table(
        list(np.random.default_rng(0).standard_normal((50, 200_000))),
        names=[f"c{j}" for j in range(50)],
    )
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=group_rows)
    assert peak(200_000) < 600_000
