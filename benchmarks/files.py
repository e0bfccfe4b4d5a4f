"""What a fit from a file costs beyond reading the file, and the memory that it takes.

``python -m benchmarks.files`` writes csv and parquet files of normal rows and prints a table: CPU
microseconds per row of only reading and of fitting, the ratio, and the peak memory of the program.
The rows have directions to be found, as those of the speed benchmark; with ``--noise`` they have
none, which is the worst case: no candidate is ever better beyond doubt, and all go on learning.
``--rows 2500000`` makes files of about 1 GB.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from threadpoolctl import threadpool_limits

from benchmarks.dataset import Size
from benchmarks.datasets.synthetic import load
from benchmarks.tables import number, table
from onepass import PCA, open_source

GROUPS = {"million-rows.parquet": 1_000_000, "many-groups.parquet": 100_000}
# The peak that the system counts for a child includes its parent's: the program has to look itself.
PROGRAM = """
import sys
from onepass.cli.program import run
try:
    run()
finally:
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def write(folder: Path, n: int, d: int, k: int, noise: bool) -> list[Path]:
    """Write n rows of d columns in every way, and return the files."""
    normal = np.random.default_rng(0).standard_normal
    some = min(n, 1_000_000)
    X = normal((some, d)) if noise else load(Size(k, d, some), None).X
    rows = pa.table(list(X.round(6).T.copy()), names=[f"c{j}" for j in range(d)])
    plain = pyarrow.csv.WriteOptions(quoting_style="none")
    with pyarrow.csv.CSVWriter(folder / "rows.csv", rows.schema, write_options=plain) as file:
        for left in range(n, 0, -some):
            file.write_table(rows[:left])
    for name, group in GROUPS.items():
        with pyarrow.parquet.ParquetWriter(folder / name, rows.schema) as file:
            for left in range(n, 0, -some):
                file.write_table(rows[:left], row_group_size=group)
    return [folder / name for name in ("rows.csv", *GROUPS)]


def read(path: Path) -> None:
    """Only read, in the same way as a fit."""
    for _ in open_source(path):
        pass


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that work takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def compare(path: Path, n: int, k: int, repeat: int) -> tuple[float, float, float]:
    """Return medians, taken in turns: CPU seconds per row of reading and fitting, and the ratio."""
    times = [
        (seconds(lambda: read(path)), seconds(lambda: PCA(k).fit(open_source(path))))
        for _ in range(repeat)
    ]
    reading, fitting = (statistics.median(each) / n for each in zip(*times, strict=True))
    return reading, fitting, statistics.median(fit / read for read, fit in times)


def peak_memory(path: Path, k: int) -> str:
    """Return the peak memory of ``onepass fit`` in megabytes, where the system tells it."""
    if sys.platform != "linux":
        return "-"
    command = [sys.executable, "-c", PROGRAM, "fit", str(path), "-k", str(k)]
    run = subprocess.run(command, cwd=path.parent, check=True, capture_output=True, text=True)
    return f"{int(run.stdout.split()[-1]) // 1024}"


@click.command()
@click.option("--rows", "n", default=200_000, show_default=True)
@click.option("--columns", "d", default=50, show_default=True)
@click.option("-k", default=8, show_default=True)
@click.option("--noise", is_flag=True, help="Rows without any direction to be found.")
@click.option("--repeat", default=3, show_default=True, help="The median of so many times counts.")
def main(n: int, d: int, k: int, noise: bool, repeat: int) -> None:
    """Compare fitting from files with only reading them."""
    found = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1):
        PCA(k).fit(np.random.default_rng(0).normal(size=(1000, d)))  # imports what is needed
        for path in write(Path(folder), n, d, k, noise):
            reading, fitting, ratio = compare(path, n, k, repeat)
            cells = [number(1e6 * reading), number(1e6 * fitting), f"{ratio:.2f}"]
            found.append([path.name, *cells, peak_memory(path, k)])
    print(table(["file", "reading", "fit", "ratio", "peak memory, MB"], found))


if __name__ == "__main__":
    main()
