"""A few bytes must not cost gigabytes, nor read other files."""

import subprocess
import sys

import pytest

# Not ru_maxrss, which begins with that of the parent.
PEAK = """
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
"""
OPEN = (
    PEAK
    + """
import sys
import scipy.sparse, h5py, zarr, pyarrow.dataset
from onepass.sources import open_source
before = peak()
try:
    for block in open_source(sys.argv[1], **eval(f"dict({sys.argv[2]})")):
        pass
    print()
except ValueError as error:
    print(error)
print(peak() - before)
"""
)


def opened(path, options=""):
    """What is said of a file, if anything, and how much memory it took to find it out, in kB."""
    command = [sys.executable, "-c", OPEN, str(path), options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message, kilobytes = done.stdout.splitlines()
    return message or None, int(kilobytes)


# Few lists of many numbers, more lists of fewer, and a long name: 24 MB or more of names each.


def test_wide_csv_files_take_little_for_each_column(tmp_path):
    """pyarrow holds what stands for a missing value once for each column."""
    rows = [",".join(str(10 * i + j % 7) for j in range(8000)) for i in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    said, kilobytes = opened(tmp_path / "a.csv", "header=False")
    assert said is None
    assert kilobytes < 8000 * 20


# Lists that begin far before their numbers, and an index beyond a dictionary.


@pytest.mark.parametrize(("entries", "end"), [(1 << 22, ""), (1_100_000, "\n1 1:1\n")])
def test_long_rows_of_svmlight_files(tmp_path, entries, end):
    (tmp_path / "a.svmlight").write_text("1 " + "1:1 " * entries + end)
    said, kilobytes = opened(tmp_path / "a.svmlight")
    assert "more than 4 MB" in said
    assert kilobytes < 100_000
    (tmp_path / "a.svmlight").write_text("1 " + "1:1 " * (1 << 19))
    said, kilobytes = opened(tmp_path / "a.svmlight")
    assert "an index comes twice" in said
    assert kilobytes < 200_000


# In each place of a Zarr array where a codec can stand; older numcodecs execute what is pickled.


# Before a frame that expands: one that is skipped, one of nothing, and a short one.
