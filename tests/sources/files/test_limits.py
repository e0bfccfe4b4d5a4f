"""A few bytes must not cost gigabytes, nor read other files."""

import gzip
import inspect
import io
import json
import os
import re
import subprocess
import sys
import zipfile
import zlib

import h5py
import numcodecs
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
import zarr

from onepass.sources import SourceError, base, files, open_source
from onepass.sources.tables import Table
from onepass.warning import OnepassWarning

MANY = 1 << 28


def write_npy(folder):
    header = {"descr": "<f8", "fortran_order": False, "shape": (0, MANY)}
    with open(folder / "a.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)


def write_sparse_npz(folder):
    matrix = scipy.sparse.csr_matrix(([1.0], ([0], [MANY - 1])), shape=(1, MANY))
    scipy.sparse.save_npz(folder / "a.npz", matrix)


def write_h5(folder):
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("a", shape=(2, MANY), dtype="f8", chunks=(1, 1 << 16))


def write_zarr(folder):
    zarr.create_array(folder / "a.zarr", shape=(2, MANY), dtype="f8", chunks=(1, 1 << 16))


def write_svmlight(folder):
    (folder / "a.svmlight").write_text(f"1 {MANY}:1\n")


WIDE = {
    "a.npy": write_npy,
    "a.npz": write_sparse_npz,
    "a.h5": write_h5,
    "a.zarr": write_zarr,
    "a.svmlight": write_svmlight,
}
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


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("name", WIDE)
def test_many_columns_in_a_small_file(tmp_path, name):
    WIDE[name](tmp_path)
    message, kilobytes = opened(tmp_path / name)
    assert "268,435,456 columns are too many: one row takes 2,048 MB, the limit is 256" in message
    assert kilobytes < 60_000


def sparse(folder, width):
    matrix = scipy.sparse.csr_matrix(([1.0], ([0], [width - 1])), shape=(1, width))
    scipy.sparse.save_npz(folder / "a.npz", matrix)


def dense(folder, width):
    np.savez_compressed(folder / "a.npz", np.zeros((4, width), np.int8))


def lists(folder, width):
    rows = pa.FixedSizeListArray.from_arrays(np.zeros(4 * width, np.float32), width)
    with pa.ipc.new_file(folder / "a.arrow", pa.schema([("a", rows.type)]), options=ZSTD) as writer:
        writer.write(pa.record_batch([rows], ["a"]))


def text(folder, width):
    with gzip.open(folder / "a.csv.gz", "wt") as file:
        file.write((",".join(["0"] * width) + "\n") * 4)


ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")
DECLARED = {  # a writer, and how many columns are accepted in a few bytes
    "a.npz": (sparse, 24_576),
    "a.npz dense": (dense, 9_830),
    "a.arrow": (lists, 9_830),
    "a.csv.gz": (text, 9_830),
}


@pytest.mark.parametrize("kind", DECLARED)
def test_columns_that_are_declared_in_a_few_bytes(tmp_path, kind):
    name, (write, most) = kind.split()[0], DECLARED[kind]
    write(tmp_path, most)
    options = {"header": False} if kind == "a.csv.gz" else {}
    assert open_source(tmp_path / name, **options).n_features == most
    write(tmp_path, most + 1)
    with pytest.raises(SourceError, match=r"columns in [\d,]+ bytes, .* may take 96 MB of memory"):
        open_source(tmp_path / name, **options)
    assert open_source(tmp_path / name, columns=["0-9"] if name != "a.arrow" else ["a_0:a_9"])


# Few lists of many numbers, more lists of fewer, and a long name: 24 MB or more of names each.
NAMED = {
    "one": [("a", 1 << 18)],
    "two": [("a", 1 << 17), ("b", 1 << 17)],
    "long": [("a" * 50_000, 600)],
}


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "stream.arrow"])
def test_lists_that_declare_many_names(tmp_path, name, kind):
    schema = pa.schema([(label, pa.list_(pa.float32(), size)) for label, size in NAMED[kind]])
    if name == "a.parquet":
        pa.parquet.write_table(schema.empty_table(), tmp_path / name)
    else:
        make = pa.ipc.new_file if name == "a.arrow" else pa.ipc.new_stream
        make(tmp_path / name, schema).close()
    with pytest.raises(SourceError, match=r"names of the [\d,]+ numbers of lists take \d\d MB"):
        open_source(tmp_path / name)


def test_columns_that_are_stored(tmp_path):
    """A hundred genomes: numbers from 0 to 2, which zip packs well."""
    variants = np.random.default_rng(0).binomial(2, 0.2, (100, 50_000)).astype(np.int8)
    np.savez_compressed(tmp_path / "a.npz", variants)
    assert open_source(tmp_path / "a.npz").n_features == 50_000


def test_many_small_files_declare_columns_together(tmp_path):
    for number in range(3):
        sparse(tmp_path, 1 << 17)
        (tmp_path / "a.npz").rename(tmp_path / f"{number}.npz")
    np.savez(tmp_path / "z.npz", np.ones((16, 1 << 17), np.int8))
    assert open_source(tmp_path).n_features == 1 << 17
    with pytest.raises(SourceError, match="131,072 columns in"):
        open_source(tmp_path / "[0-2].npz")


@pytest.mark.parametrize("name", ["a.npz", "a.svmlight"])
def test_some_of_very_many_sparse_columns(tmp_path, name):
    WIDE[name](tmp_path)
    (block,) = open_source(tmp_path / name, columns=[MANY - 1, 0])
    assert block.toarray().tolist() == [[1, 0]]




def write_chunks(path, rows, width):
    """A small file, nearly all of zeros, in two chunks of so many rows."""
    X = np.zeros((2 * rows, width), np.float32)
    X[:, :8] = np.random.default_rng(0).integers(9, size=(2 * rows, 8))
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("a", data=X, chunks=(rows, width), compression="gzip")
    else:
        zarr.create_array(path, data=X, chunks=(rows, width))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_a_fit_of_a_small_file_just_below_all_limits(tmp_path, name):
    width = files._COLUMNS_LIMIT_BYTES // Table.column_bytes
    write_chunks(tmp_path / name, base.LIMIT_BYTES // (4 * width), width)
    program = f"{PEAK}\nimport sys, onepass\nonepass.PCA(2).fit(onepass.open_source(sys.argv[1]))"
    command = [sys.executable, "-W", "ignore", "-c", f"{program}\nprint(peak())"]
    done = subprocess.run([*command, tmp_path / name], stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) < 500_000


def test_arrays_in_fortran_order_that_have_to_be_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "a.npz", np.zeros((1 << 17, 2), order="F"))
    with pytest.raises(SourceError, match="read whole, which takes 2 MB, the limit is 1 MB"):
        open_source(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", np.zeros((1 << 17, 2), order="F"))
    assert sum(map(len, open_source(tmp_path / "a.npz"))) == 1 << 17
















def test_zarr_chunks_of_a_few_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("onepass.sources.arrays._PARTS_AT_ONCE", 64)
    rows = np.arange(1.0, 641.0).reshape(20, 32)
    for width, found in ((1, [2] * 10), (4, [8, 8, 4])):
        array = zarr.create_array(
            tmp_path / f"{width}.zarr", shape=rows.shape, dtype="f8", chunks=(1, width)
        )
        array[:] = rows
        blocks = list(open_source(tmp_path / f"{width}.zarr"))
        assert [len(block) for block in blocks] == found
        np.testing.assert_array_equal(np.concatenate(blocks), rows)
    zarr.create_array(tmp_path / "a.zarr", shape=(2, 65), dtype="f8", chunks=(1, 1))[:] = 1.0
    with pytest.raises(SourceError, match=r"a row is in 65 chunks of shape \(1, 1\)"):
        open_source(tmp_path / "a.zarr")














def test_compressed_sparse_files_are_read_forward_only(tmp_path, monkeypatch):
    matrix = scipy.sparse.random_array((20_000, 5), density=0.5, format="csr", rng=0)
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    source = open_source(tmp_path / "a.npz")
    seek, back = zipfile.ZipExtFile.seek, []

    def noted(self, offset, whence=0):
        if whence == 0 and offset < self.tell():
            back.append((self.name, offset))
        return seek(self, offset, whence)

    monkeypatch.setattr(zipfile.ZipExtFile, "seek", noted)
    assert (scipy.sparse.vstack(list(source)) != matrix).nnz == 0
    assert back == []












def test_hdf5_chunks_that_do_not_compress(tmp_path):
    rows = np.random.default_rng(0).integers(256, size=(1 << 17, 4), dtype=np.uint8)
    for kind in ("gzip", "lzf"):
        with h5py.File(tmp_path / f"{kind}.h5", "w") as file:
            file.create_dataset("a", data=rows, chunks=(1 << 16, 2), compression=kind)
        assert sum(map(len, open_source(tmp_path / f"{kind}.h5"))) == len(rows)


def test_wide_csv_files_take_little_for_each_column(tmp_path):
    """pyarrow holds what stands for a missing value once for each column."""
    rows = [",".join(str(10 * i + j % 7) for j in range(8000)) for i in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    said, kilobytes = opened(tmp_path / "a.csv", "header=False")
    assert said is None
    assert kilobytes < 8000 * 20


@pytest.mark.parametrize("text", ["12," * (1 << 22), "1" * (1 << 25), '"' + "1\n" * (1 << 24)])
def test_first_rows_of_text_that_are_too_long(tmp_path, text):
    with gzip.open(tmp_path / "a.csv.gz", "wb", 1) as file:
        file.write(text.encode())
    said, kilobytes = opened(tmp_path / "a.csv.gz")
    assert "columns or more are too many" in said or "more than 4 MB" in said
    assert kilobytes < 250_000


# Lists that begin far before their numbers, and an index beyond a dictionary.
OFFSETS = np.arange(0, 404, 4, dtype="i4")
OUTSIDE = {
    "list": (OFFSETS, OFFSETS - 2_000_000_000),
    "dictionary": (np.full(100, 3, "i4"), np.full(100, 1_000_000_000, "i4")),
}


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_offsets_that_lead_outside(tmp_path, make, kind):
    lists = pa.ListArray.from_arrays(pa.array(OFFSETS), pa.array(np.arange(400.0)))
    words = pa.DictionaryArray.from_arrays(np.full(100, 3, "i4"), ["u", "v", "w", "x"])
    batch = pa.record_batch({"a": lists if kind == "list" else words})
    with make(tmp_path / "a.arrow", batch.schema) as writer:
        writer.write_batch(batch)
    before, after = (array.tobytes() for array in OUTSIDE[kind])
    content = (tmp_path / "a.arrow").read_bytes()
    assert content.count(before) == 1
    (tmp_path / "a.arrow").write_bytes(content.replace(before, after))
    code = "import sys; from onepass.sources.arrow import *; table = ArrowTable(sys.argv[1], None)"
    code += "; print(list(table.cells([0])), list(table.read(0, 9, np.dtype('f8'))))"
    command = [sys.executable, "-c", code, str(tmp_path / "a.arrow")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ArrowInvalid" in done.stderr or "ArrowIndexError" in done.stderr


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






def npy_of(descr, body=b""):
    stream = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": ()}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + body


LONG = 100 << 20  # bytes
LONG_PARTS = {
    "a long header": b"\x93NUMPY\x02\x00" + LONG.to_bytes(4, "little") + b" " * LONG,
    "a long format": npy_of(f"<U{LONG}", bytes(4 * LONG)),
}


@pytest.mark.parametrize("part", LONG_PARTS)
def test_npz_files_with_long_parts(tmp_path, part):
    others = {"data": np.ones(1), "indices": np.zeros(1, "i4"), "indptr": np.array([0, 1])}
    np.savez(tmp_path / "a.npz", shape=np.array([1, 1]), **others)
    with zipfile.ZipFile(tmp_path / "a.npz", "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("format.npy", LONG_PARTS[part])
    message, kilobytes = opened(tmp_path / "a.npz")
    assert "hold no plain numbers" in message or "its format takes 400 MB" in message
    assert kilobytes < 60_000








@pytest.mark.parametrize("kind", ["gzip", "lzf", None])
def test_large_hdf5_chunks_are_read(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    rows = np.random.default_rng(0).integers(3, size=(30_000, 4)).astype(float)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = {"shuffle": True, "compression": kind} if kind else {}
        file.create_dataset("a", data=rows, chunks=(20_000, 3), **options)
    np.testing.assert_array_equal(np.concatenate(list(open_source(tmp_path / "a.h5"))), rows)








@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_npz_files_that_numpy_does_not_write(tmp_path, method):
    np.savez(tmp_path / "b.npz", np.ones((9, 2)))
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("a.npy", zipfile.ZipFile(tmp_path / "b.npz").read("arr_0.npy"))
    with pytest.raises(SourceError, match="in a way that NumPy does not write"):
        open_source(tmp_path / "a.npz")












@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_one_text_that_stands_for_many(tmp_path, name, monkeypatch):
    words = pa.DictionaryArray.from_arrays(np.zeros(2000, "i4"), ["x" * 1000])
    words = words if name == "a.arrow" else words.cast(pa.string())
    table = pa.table({"a": np.arange(2000.0), "b": words})
    if name == "a.parquet":
        pa.parquet.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    file = open_source(tmp_path / name, columns=["a"]).tables[0]
    assert [column.type for (column,) in file.cells([1])] == [table.schema.types[1]]
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    with pytest.raises(SourceError, match=r"in 2,000 rows of 'b' take 1 MB, the limit is 1 MB"):
        list(file.cells([1]))
