"""Files are read as the tools that write them read them: `python -m benchmarks.files`, in part."""

import pytest

from benchmarks.files import arrays, cells, columnar, text

CASES = {
    f"{case.tool}: {case.name}": case
    for module in (columnar, text, arrays, cells)
    for case in module.cases()
}
# Words in the names of large files, and of those of libraries that the tests do not need.
LEFT_OUT = ["zeros", "million", "MB", "00,000", "70,000", "1,500", "3,000", "20,000 cells"]
LEFT_OUT += ["parquet: one row of", "arrow: one row of", "fastparquet", "h5netcdf", "netcdf4"]
LEFT_OUT += ["hdf5plugin", "to_hdf"]


@pytest.mark.parametrize(
    "name", [name for name in CASES if not any(words in name for words in LEFT_OUT)]
)
def test_a_file_is_read_as_its_tool_reads_it(name, tmp_path):
    kind, seen = CASES[name].outcome(tmp_path)
    assert kind in ("read", "refused"), seen
