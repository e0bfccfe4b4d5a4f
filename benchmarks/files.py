"""What a fit from a file costs beyond reading the file, and the memory that it takes.

``python -m benchmarks.files`` writes csv and parquet files of normal rows and prints a table: wall
microseconds per row of only reading and of fitting, the ratio, and the peak memory of the program.
The rows have directions to be found, as those of the speed benchmark; with ``--noise`` they have
none, which is the worst case: no expert is ever better beyond doubt, and all go on learning.
"""

from __future__ import annotations

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
    X = normal((n, d)) if noise else load(Size(k, d, n), None).X
    columns = X.round(6).T
    rows = pa.table(list(columns.copy()), names=[f"c{j}" for j in range(d)])
    paths = [folder / name for name in ("rows.csv", "one-group.parquet", "many-groups.parquet")]
    plain = pyarrow.csv.WriteOptions(quoting_style="none")
    pyarrow.csv.write_csv(rows, paths[0], write_options=plain)
    pyarrow.parquet.write_table(rows, paths[1], row_group_size=n)
    pyarrow.parquet.write_table(rows, paths[2], row_group_size=100_000)
    return paths


def read(path: Path) -> None:
    """Only read, in the same way as a fit."""
    for _ in open_source(path):
        pass


def seconds(work: Callable[[], object]) -> float:
    """Return how long work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def compare(path: Path, n: int, k: int, repeat: int) -> tuple[float, float]:
    """Return the least seconds per row of only reading and of fitting, taken in turns."""
    times = [
        (seconds(lambda: read(path)), seconds(lambda: PCA(k).fit(open_source(path))))
        for _ in range(repeat)
    ]
    reading, fitting = (min(each) / n for each in zip(*times, strict=True))
    return reading, fitting


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
@click.option("--repeat", default=3, show_default=True, help="The least of so many times counts.")
def main(n: int, d: int, k: int, noise: bool, repeat: int) -> None:
    """Compare fitting from files with only reading them."""
    found = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1):
        PCA(k).fit(np.random.default_rng(0).normal(size=(1000, d)))  # compiles
        for path in write(Path(folder), n, d, k, noise):
            reading, fitting = compare(path, n, k, repeat)
            cells = [number(1e6 * reading), number(1e6 * fitting), f"{fitting / reading:.2f}"]
            found.append([path.name, *cells, peak_memory(path, k)])
    print(table(["file", "reading", "fit", "ratio", "peak memory, MB"], found))


if __name__ == "__main__":
    main()
