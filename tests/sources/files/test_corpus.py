"""Files are read as the tools that write them read them: a part of `python -m benchmarks.files`."""

import pytest

from benchmarks.files import arrays, cells, columnar, text

QUICK = [
    "pyarrow: parquet: missing values",
    "pyarrow: parquet: decimals",
    "pyarrow: parquet: fixed-size lists of int8",
    "pyarrow: parquet: data pages of version 2",
    "pyarrow: parquet: uneven lists",
    "pyarrow: arrow: truth values with nulls",
    "pyarrow: arrow: int64 and uint64",
    "pyarrow: arrow: stream, zstd",
    "pyarrow: arrow: fixed-size lists with nulls",
    "pyarrow: arrow: runs of equal values",
    "pyarrow: arrow: dictionary of numbers",
    "pyarrow: arrow: float16 and float32",
    "pyarrow: parquet: a tensor column",
    "pyarrow: feather: lz4",
    "pandas: parquet: nullable types",
    "pandas: parquet: an index of two levels",
    "pandas: feather: mostly zeros",
    "polars: parquet: missing values",
    "polars: ipc: arrays",
    "duckdb: parquet: decimals",
    "duckdb: parquet: truth values",
    "pandas: csv: defaults, with its index",
    "pandas: csv: one row of 20,000 columns",
    "pandas: csv: quotes around all",
    "pandas: csv: lines end with CR",
    "pandas: csv: utf-16",
    "pandas: csv: utf-32",
    "pandas: csv: zst",
    "pandas: csv: decimal comma, not said",
    "pandas: csv: a word among numbers",
    "pandas: csv: missing as '#N/A'",
    "pyarrow: csv: semicolon",
    "numpy: savetxt: defaults",
    "numpy: savetxt: .dat",
    "numpy: savetxt: .txt.bz2",
    "numpy: savetxt: fixed width, blanks first",
    "scikit-learn: svmlight: empty rows",
    "scikit-learn: svmlight: gz",
    "scikit-learn: svmlight: query ids",
    "scikit-learn: svmlight: several labels",
    "scikit-learn: svmlight: .libsvm",
    "Excel: empty columns on the right",
    "PostgreSQL: COPY csv",
    "MySQL: \\N",
    "an instrument: a title",
    "numpy: save: >f8",
    "numpy: save: by columns",
    "numpy: savez_compressed, by columns",
    "numpy: savez, two",
    "numpy: save: objects",
    "scipy: save_npz: csr",
    "scipy: mmwrite",
    "h5py: float16",
    "h5py: gzip 9, shuffled, checked",
    "h5py: rows never written",
    "h5py: soft link",
    "h5py: external link",
    "h5py: bytes in another file",
    "h5py: packed, _FillValue",
    "h5py: missing_value",
    "h5py: one row of 20,000 columns",
    "h5py: two arrays",
    "MATLAB: v7.3",
    "R: text with blanks and numbers",
    "R: write.csv2",
    "xarray: zarr 2: packed",
    "xarray: zarr 3: packed, unsigned",
    "xarray: zarr 3: missing_value",
    "zarr: 2: one row of 20,000 columns",
    "zarr: 2: fixed point",
    "zarr: 2: chunks not written",
    "zarr: 3: shards",
    "zarr: 3: a group",
    "anndata: h5ad: CSR",
    "anndata: h5ad: all that analyses add",
    "anndata: zarr: dense",
    "anndata: h5ad: CSC",
    "anndata: h5ad: no X",
    "10x: version 3: 300 cells, gzip",
]
CASES = {
    f"{case.tool}: {case.name}": case
    for module in (columnar, text, arrays, cells)
    for case in module.cases()
}


@pytest.mark.parametrize("name", QUICK)
def test_a_file_is_read_as_its_tool_reads_it(name, tmp_path):
    kind, seen = CASES[name].outcome(tmp_path)
    assert kind in ("read", "refused"), seen
