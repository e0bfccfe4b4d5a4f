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

from onepass.sources import SourceError, base, expansion, files, open_source
from onepass.sources.parquet_pages import _pages, check_pages
from onepass.sources.tables import Table
from onepass.sources.zarr_store import open_store
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


@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_large_chunks(tmp_path, name):
    shape, chunks = (1 << 20, 64), (1 << 20, 64)
    if name == "a.h5":
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("a", shape=shape, dtype="f8", chunks=chunks)
    else:
        zarr.create_array(tmp_path / name, shape=shape, dtype="f8", chunks=chunks)
    message = r"chunks of shape \(1048576, 64\) are too large: each takes 512 MB, the limit is 24"
    with pytest.raises(SourceError, match=message):
        open_source(tmp_path / name)


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


def test_hdf5_reads_no_other_files(tmp_path):
    (tmp_path / "secret").write_bytes(np.ones(8).tobytes())
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["rows"] = np.ones((4, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", (4, 2), "f8", external=[(str(tmp_path / "secret"), 0, 64)])
    with h5py.File(tmp_path / "b.h5", "w") as file:
        layout = h5py.VirtualLayout((4, 2), "f8")
        layout[:] = h5py.VirtualSource(other, "rows", (4, 2))
        file.create_virtual_dataset("a", layout)
    for name in ("a.h5", "b.h5"):
        with pytest.raises(SourceError, match=f"{name}: its numbers lie in other files"):
            open_source(tmp_path / name)
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file["a"] = h5py.ExternalLink(other, "rows")
    with pytest.raises(SourceError, match="there is no array of two dimensions in it"):
        open_source(tmp_path / "c.h5")
    with pytest.raises(SourceError, match="there is no 2-D array 'a' in it, only none"):
        open_source(f"{tmp_path / 'c.h5'}::a")


def write_bomb(path, kind, opened, n_rows=25_000_000, dictionary=False):
    """A compressed batch of zeros that is a thousand times smaller than what it expands to."""
    zeros = pa.array(np.zeros(n_rows))
    columns = {"a": zeros, "b": zeros}
    if dictionary:  # the numbers are in a dictionary, which is read although nobody asks for it
        index = pa.array([0, 1], pa.int32())
        columns = {"a": pa.array([1.0, 2.0]), "b": pa.DictionaryArray.from_arrays(index, zeros)}
    batch = pa.record_batch(columns)
    options = pa.ipc.IpcWriteOptions(compression=kind)
    with pa.OSFile(str(path), "wb") as file, opened(file, batch.schema, options=options) as writer:
        writer.write_batch(pa.record_batch([column[:10] for column in batch], batch.schema.names))
        writer.write_batch(batch)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize("kind", ["zstd", "lz4"])
def test_arrow_batches_that_expand(tmp_path, make, kind):
    write_bomb(tmp_path / "a.arrow", kind, make)
    message, kilobytes = opened(tmp_path / "a.arrow")
    assert re.search(r"bytes expands to 381 MB, the limit is 2\d MB; write smaller", message)
    assert kilobytes < 60_000


@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_batches_compressed_as_in_version_017(tmp_path, make):
    """It said so in the metadata of a message only, and pyarrow still expands its buffers."""
    batch = pa.record_batch({"a": np.zeros(1000)})
    version = pa.ipc.MetadataVersion.V4
    options = pa.ipc.IpcWriteOptions(metadata_version=version, compression="zstd")
    with make(tmp_path / "a.arrow", batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "zstd"})
    with pytest.raises(SourceError, match=r"compressed as by Arrow 0\.17, which is not read"):
        list(open_source(tmp_path / "a.arrow"))


@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_dictionaries_that_expand(tmp_path, make, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 16)
    write_bomb(tmp_path / "a.arrow", "zstd", make, 1 << 17, dictionary=True)
    with pytest.raises(SourceError, match="expands to 1 MB, the limit is 0 MB"):
        list(open_source(tmp_path / "a.arrow", columns=["a"]))


@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_batches_that_are_large_on_disk(tmp_path, make, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 12)
    batch = pa.record_batch({"a": np.random.default_rng(0).standard_normal(5000)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    path = str(tmp_path / "a.arrow")
    with pa.OSFile(path, "wb") as file, make(file, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    assert sum(map(len, open_source(path))) == 5000


@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_very_many_chunks_that_are_missing(tmp_path, name):
    options = {"shape": (70_000, 2), "dtype": "f8", "chunks": (1, 2)}
    if name == "a.h5":
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("a", **options)[0] = 1.0
    else:
        zarr.create_array(tmp_path / name, **options)[0] = 1.0
    with pytest.raises(SourceError, match="69,999 of 70,000 chunks are not stored, and reading"):
        open_source(tmp_path / name)


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


def zstd_blocks(content, size=None, checksum=False):
    """A zstd frame of one block that is repeated, and one that is as it was; see RFC 8878."""
    flags = 4 * checksum + (0 if size is None else 32)
    header = b"\x28\xb5\x2f\xfd" + bytes([flags, 0 if size is None else size])
    repeated = (len(content) - 1 << 3 | 2).to_bytes(3, "little") + content[:1]
    return (
        header + repeated + (1 << 3 | 1).to_bytes(3, "little") + content[-1:] + bytes(4 * checksum)
    )


def streamed(content):
    """A zstd frame that does not say how long its content is."""
    sink = io.BytesIO()
    with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd") as stream:
        stream.write(content)
        stream.flush()
        return sink.getvalue()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize(
    "kind", ["zstd", "unsized-zstd", "gzip", "blosc", "sharded", "v2", "v2-lz4"]
)
def test_zarr_chunks_that_expand(tmp_path, kind):
    path, zeros = tmp_path / "a.zarr", bytes(480 << 20)
    blosc, lz4 = numcodecs.Blosc("zstd"), numcodecs.LZ4()
    options, encode = {
        "zstd": ({}, lambda data: pa.Codec("zstd").compress(data, asbytes=True)),
        "unsized-zstd": ({}, streamed),
        "gzip": ({"compressors": zarr.codecs.GzipCodec()}, gzip.compress),
        "blosc": ({"compressors": zarr.codecs.BloscCodec()}, blosc.encode),
        "sharded": (
            {"shards": (128, 64)},
            lambda data: pa.Codec("zstd").compress(data, asbytes=True),
        ),
        "v2": ({"zarr_format": 2, "compressors": blosc}, blosc.encode),
        "v2-lz4": ({"zarr_format": 2, "compressors": lz4}, lz4.encode),
    }[kind]
    array = zarr.create_array(path, shape=(128, 64), dtype="f8", chunks=(64, 64), **options)
    array[:] = 1
    file = next(file for file in sorted(path.rglob("*0")) if file.is_file())
    bomb = encode(zeros)
    if kind == "sharded":
        index = np.array([0, len(bomb), 2**64 - 1, 2**64 - 1], "<u8").tobytes()
        bomb += index + bytes(numcodecs.CRC32C(location="end").encode(index)[-4:])
    file.write_bytes(bomb)
    message, kilobytes = opened(path)
    assert "expands to" in message
    assert r"chunks of shape (64, 64) are declared" in message
    assert kilobytes < 60_000


def write_declared(path, shape, chunks):
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("a", shape=shape, dtype="f8", chunks=chunks)
    else:
        zarr.create_array(path, shape=shape, dtype="f8", chunks=chunks or (1024, 4))


@pytest.mark.parametrize("chunks", [(1024, 4), None])
@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_rows_that_are_declared_and_not_stored(tmp_path, name, chunks):
    write_declared(tmp_path / name, (1 << 40, 4), chunks)
    message = (
        r"1,099,511,627,776 rows are declared, 33,554,432 MB in all, and only [\d,]+ bytes are"
    )
    with pytest.raises(SourceError, match=message):
        open_source(tmp_path / name)


@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_chunks_that_are_missing(tmp_path, name):
    write_declared(tmp_path / name, (20, 4), (5, 2))
    opened = h5py.File(tmp_path / name, "a") if name == "a.h5" else zarr.open(tmp_path / name)
    array = opened["a"] if name == "a.h5" else opened
    array[:10] = 1
    if name == "a.h5":
        opened.close()
    with pytest.warns(OnepassWarning, match=r"4 of 8 chunks are not stored, and are read as the"):
        source = open_source(tmp_path / name)
    assert sum(block.sum() for block in source) == 40


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


def write_pages(path, n_rows, lists=False):
    """Zeros in one page of each column."""
    zeros = np.zeros(n_rows)
    column = pa.FixedSizeListArray.from_arrays(zeros, 2) if lists else zeros
    table = pa.table({"a": column, "b": column})
    options = {"use_dictionary": False, "compression": "zstd", "data_page_size": 2**31 - 1}
    # Otherwise pages end after a number of rows.
    options |= {"write_batch_size": 10**9, "row_group_size": 10**9}
    if "max_rows_per_page" in inspect.signature(pa.parquet.write_table).parameters:
        options["max_rows_per_page"] = 10**9
    pa.parquet.write_table(table, path, **options)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("lists", [False, True])
def test_parquet_pages_that_expand(tmp_path, lists):
    write_pages(tmp_path / "a.parquet", 25_000_000, lists)
    message, kilobytes = opened(tmp_path / "a.parquet")
    assert re.search(
        r"pages in [\d,]+ bytes of a row group expand to 38\d MB, the limit is", message
    )
    assert kilobytes < 60_000


def test_parquet_pages_of_columns_that_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    zeros, few = np.zeros(1 << 18), np.arange(1 << 18) % 7
    table = pa.table({"a.b": few, "a": pa.FixedSizeListArray.from_arrays(zeros, 1), "c": zeros})
    options = {"use_dictionary": ["a.b"], "data_page_size": 1 << 30, "write_batch_size": 1 << 30}
    if "max_rows_per_page" in inspect.signature(pa.parquet.write_table).parameters:
        options["max_rows_per_page"] = 1 << 30
    pa.parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", **options)
    for columns in (["a"], ["c"]):
        with pytest.raises(SourceError, match="expand to 2 MB, the limit is 1 MB"):
            list(open_source(tmp_path / "a.parquet", columns=columns))


def test_parquet_pages_with_long_headers(tmp_path):
    text = ["x" * 3000, "y" * 3000] * 10
    table = pa.table({"text": text, "a": np.arange(20.0)})
    options = {"write_page_checksum": True, "write_statistics": True}
    for version in ("1.0", "2.0"):
        path = tmp_path / f"{version}.parquet"
        pa.parquet.write_table(table, path, data_page_version=version, **options)
        with open(path, "rb") as file:
            opened = pa.parquet.ParquetFile(path)
            group = opened.metadata.row_group(0)
            check_pages(file, group, opened.schema, {"text", "a"}, 20, "")
            largest, count = _pages(file, group.column(0))
            assert largest > 3000
            assert count == 20
        assert sum(map(len, open_source(path, columns=["a"]))) == 20


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_hdf5_chunks_that_expand(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        array = file.create_dataset("a", (64, 64), "f8", chunks=(64, 64), compression="gzip")
        array.id.write_direct_chunk((0, 0), zlib.compress(bytes(200 << 20)))
    message, kilobytes = opened(tmp_path / "a.h5")
    assert "bytes is said to hold numbers of 32,768 bytes" in message
    assert kilobytes < 60_000


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
CODECS = {
    "bz2": {"compressor": {"id": "bz2", "level": 1}, "filters": None},
    "lzma": {"compressor": None, "filters": [{"id": "lzma"}]},
    "pickle": {"compressor": {"id": "pickle", "protocol": 4}, "filters": [{"id": "vlen-utf8"}]},
}


@pytest.mark.parametrize("name", CODECS)
def test_zarr_codecs_that_are_not_read(tmp_path, name):
    (tmp_path / "a.zarr").mkdir()
    dtype, fill = ("|O", '""') if name == "pickle" else ("<f8", "0.0")
    codecs = json.dumps(CODECS[name])[1:-1]
    array = f'"shape": [9, 2], "chunks": [9, 2], "dtype": "{dtype}", "fill_value": {fill}'
    text = f'{{"zarr_format": 2, "order": "C", {array}, {codecs}}}'
    (tmp_path / "a.zarr" / ".zarray").write_text(text)
    store = open_store(str(tmp_path / "a.zarr"))
    node = zarr.open(store, mode="r")
    with pytest.raises(ValueError, match=f"its chunks are encoded with {name}, which is not read"):
        store.check(node)


def test_compressed_zarr_filters_that_expand(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    array = '"shape": [9, 2], "chunks": [9, 2], "dtype": "<f8", "fill_value": 0.0'
    codecs = '"compressor": null, "filters": [{"id": "zlib", "level": 9}]'
    text = f'{{"zarr_format": 2, "order": "C", {array}, {codecs}}}'
    (tmp_path / "a.zarr" / ".zarray").write_text(text)
    (tmp_path / "a.zarr" / "0.0").write_bytes(zlib.compress(bytes(2 << 20)))
    with pytest.raises(SourceError, match=r"the chunk 0\.0 expands to 2 MB"):
        list(open_source(tmp_path / "a.zarr"))


# Before a frame that expands: one that is skipped, one of nothing, and a short one.
FIRST_FRAMES = {
    "skipped": b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd",
    "empty": pa.Codec("zstd").compress(b"", asbytes=True),
    "short": pa.Codec("zstd").compress(b"x" * 10, asbytes=True),
    "unsized": zstd_blocks(b"x" * 10),
}


@pytest.mark.parametrize("first", FIRST_FRAMES)
@pytest.mark.parametrize("version", [2, 3])
def test_zstd_frames_after_the_first(tmp_path, first, version):
    options = {"zarr_format": version, "compressors": numcodecs.Zstd()} if version == 2 else {}
    array = zarr.create_array(tmp_path / "a.zarr", shape=(9, 2), dtype="f8", **options)
    array[:] = 1
    (chunk,) = (file for file in (tmp_path / "a.zarr").rglob("*0") if file.is_file())
    assert sum(map(len, open_source(tmp_path / "a.zarr"))) == 9
    whole = chunk.read_bytes()
    chunk.write_bytes(FIRST_FRAMES[first] + pa.Codec("zstd").compress(bytes(2 << 20), asbytes=True))
    with pytest.raises(SourceError, match=r"the chunk \S+ expands to [12] MB"):
        list(open_source(tmp_path / "a.zarr"))
    chunk.write_bytes(FIRST_FRAMES["skipped"] + whole)
    assert sum(map(len, open_source(tmp_path / "a.zarr"))) == 9


def test_zstd_frames_that_are_not_counted(monkeypatch):
    """Nearly all chunks are one frame that says how long its content is."""
    monkeypatch.setattr(expansion, "_counted", None)
    for n_bytes in (0, 10, 300, 100_000, 1 << 20):
        content = np.random.default_rng(0).bytes(n_bytes // 2) + bytes(n_bytes - n_bytes // 2)
        frame = pa.Codec("zstd").compress(content, asbytes=True)
        assert expansion.of_zstd(frame, 1 << 30) == n_bytes
    checked = zstd_blocks(b"x" * 10, size=10, checksum=True)
    assert expansion.of_zstd(checked, 1 << 30) == 10


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


def deflated(megabytes):
    """As zlib writes zeros, and what it takes."""
    stream = zlib.compressobj(1)
    return b"".join([*(stream.compress(bytes(1 << 20)) for _ in range(megabytes)), stream.flush()])


EXPANDING = {"gzip": deflated(300), "lzf": b"\0\0" + b"\xe0\xff\0" * ((300 << 20) // 264)}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("kind", EXPANDING)
def test_large_hdf5_chunks_that_expand(tmp_path, kind):
    """They are no longer than what they are said to hold."""
    data = EXPANDING[kind]
    n = len(data) // 16 + 1
    with h5py.File(tmp_path / "a.h5", "w") as file:
        array = file.create_dataset("a", (n, 2), "f8", chunks=(n, 2), compression=kind)
        array.id.write_direct_chunk((0, 0), data)
    message, kilobytes = opened(tmp_path / "a.h5")
    assert re.search(r"a\.h5: its chunk at \(0, 0\) expands to \d+ MB, the limit is \d+", message)
    assert kilobytes < 60_000


@pytest.mark.parametrize("kind", ["gzip", "lzf", None])
def test_large_hdf5_chunks_are_read(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    rows = np.random.default_rng(0).integers(3, size=(30_000, 4)).astype(float)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = {"shuffle": True, "compression": kind} if kind else {}
        file.create_dataset("a", data=rows, chunks=(20_000, 3), **options)
    np.testing.assert_array_equal(np.concatenate(list(open_source(tmp_path / "a.h5"))), rows)


def test_hdf5_chunks_that_are_compressed_twice(tmp_path):
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_chunk((9, 2))
    for _ in range(2):
        settings.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (9,))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        space = h5py.h5s.create_simple((9, 2))
        h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F64LE, space, settings)
    with pytest.raises(SourceError, match="its chunks are compressed more than once"):
        open_source(tmp_path / "a.h5")


def test_hdf5_chunks_that_are_packed(tmp_path):
    """The size that they are unpacked to is in the header of the data set."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=np.ones((1234, 2), int), chunks=(1234, 2), scaleoffset=0)
    assert sum(map(len, open_source(tmp_path / "a.h5"))) == 1234
    count = (2468).to_bytes(4, "little") + bytes(4) + (8).to_bytes(4, "little")
    content = (tmp_path / "a.h5").read_bytes()
    assert content.count(count) == 1
    (tmp_path / "a.h5").write_bytes(content.replace(count, b"\xff\xff\xff\x0f" + count[4:]))
    with pytest.raises(SourceError, match="packed to another size"):
        open_source(tmp_path / "a.h5")


def test_hdf5_chunks_that_claim_to_be_stored_in_more_than_the_file(tmp_path):
    """A chunk of 16 bytes that is unpacked to 64 MB, beside one that is said to take 4 GB."""
    shape = (1 << 23, 2)
    with h5py.File(tmp_path / "a.h5", "w", libver="earliest") as file:
        array = file.create_dataset("a", (1 << 24, 2), "i4", chunks=shape, scaleoffset=0)
        packed = bytes(4) + b"\x08" + bytes(16)
        array.id.write_direct_chunk((0, 0), packed)
        array.id.write_direct_chunk((1 << 23, 0), packed + bytes(979))
    content, length = (tmp_path / "a.h5").read_bytes(), (1000).to_bytes(8, "little")
    assert content.count(length) == 1
    (tmp_path / "a.h5").write_bytes(content.replace(length, b"\xff\xff\xff\xff" + bytes(4)))
    with pytest.raises(SourceError, match="a chunk of 4,294,967,295 bytes is said to hold"):
        open_source(tmp_path / "a.h5")
    # No longer than what is said to be in it.
    (tmp_path / "a.h5").write_bytes(content.replace(length, (1 << 26).to_bytes(8, "little")))
    with pytest.raises(SourceError, match="too large: each takes 64 MB, the limit is 24 MB"):
        open_source(tmp_path / "a.h5")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_npz_files_that_numpy_does_not_write(tmp_path, method):
    np.savez(tmp_path / "b.npz", np.ones((9, 2)))
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("a.npy", zipfile.ZipFile(tmp_path / "b.npz").read("arr_0.npy"))
    with pytest.raises(SourceError, match="in a way that NumPy does not write"):
        open_source(tmp_path / "a.npz")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
@pytest.mark.parametrize("lengths", [[20_000_000], [2] * 100 + [20_000_000]])
def test_parquet_lists_of_equal_numbers(tmp_path, lengths):
    """They take next to nothing in the file, whatever its codec."""
    bounds = pa.array(np.cumsum([0, *lengths]))
    lists = pa.LargeListArray.from_arrays(bounds, pa.array(np.zeros(sum(lengths), np.float32)))
    pa.parquet.write_table(pa.table({"a": lists}), tmp_path / "a.parquet", compression="none")
    message, kilobytes = opened(tmp_path / "a.parquet")
    assert re.search(r"lists of 20,000,\d+ numbers are stored in [\d,]+ bytes", message)
    assert kilobytes < 60_000


def test_parquet_lists_of_many_row_groups(tmp_path, monkeypatch):
    """A batch may have rows of several row groups, which are small enough one by one."""
    lists = pa.FixedSizeListArray.from_arrays(np.arange(2000.0), 2)
    table = pa.table({"a": lists, "b": np.arange(1000.0)})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=200)
    monkeypatch.setattr(base, "LIMIT_BYTES", 2 * 400 * 24)
    for columns, expected in ((["a"], [400, 400, 200]), (["b"], [1000])):
        file = open_source(tmp_path / "a.parquet", columns=columns).tables[0]
        batches = list(file.batches(0, 1000))
        assert [len(batch) for _, batch in batches] == expected
        assert [row for row, _ in batches] == [0, 400, 800][: len(expected)]


def test_parquet_runs_of_very_many_rows(tmp_path, monkeypatch):
    pa.parquet.write_table(pa.table({"a": np.ones(1_000_000)}), tmp_path / "a.parquet")
    file = open_source(tmp_path / "a.parquet").tables[0]
    file.n_rows = 100_000
    with pytest.raises(SourceError, match="it has more rows than the 100,000 that are declared"):
        list(file.batches(0, 1 << 16))
    monkeypatch.setattr("onepass.sources.arrow._RUNS_LIMIT_BYTES", 7 << 20)
    assert open_source(tmp_path / "a.parquet").n_rows == 1_000_000
    monkeypatch.setattr("onepass.sources.arrow._RUNS_RATIO", 1 << 7)
    with pytest.raises(SourceError, match=r"1,000,000 rows are declared, 7 MB in all, and only"):
        open_source(tmp_path / "a.parquet")


def test_parquet_values_of_many_bytes(tmp_path, monkeypatch):
    """Each is as long as the schema says, and one in a dictionary stands for many."""
    words = pa.array([bytes(1000)] * 2000, pa.binary(1000))
    pa.parquet.write_table(pa.table({"a": np.arange(2000.0), "b": words}), tmp_path / "a.parquet")
    file = open_source(tmp_path / "a.parquet", columns=["a"]).tables[0]
    assert sum(len(column) for (column,) in file.cells([1])) == 2000
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    with pytest.raises(SourceError, match=r"values of a fixed length take 1 MB, the limit is 1"):
        list(file.cells([1]))


def test_parquet_decimals_of_any_length(tmp_path):
    options = {"store_schema": False, "compression": "none"}
    pa.parquet.write_table(pa.table({"a": ["\1", "\2"]}), tmp_path / "a.parquet", **options)
    content = (tmp_path / "a.parquet").read_bytes()
    # In Thrift: that it is text, and that it is a decimal number of nine digits.
    text, decimal = bytes.fromhex("25004c1c000000"), bytes.fromhex("250a1500151200")
    assert content.count(text) == 1
    (tmp_path / "a.parquet").write_bytes(content.replace(text, decimal))
    with pytest.raises(SourceError, match=r"column 'a': decimal numbers in bytes of any length"):
        list(open_source(tmp_path / "a.parquet"))


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["zarr.json", "c/0/0"])
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "device"])
def test_zarr_stores_of_what_is_no_file(tmp_path, name, kind):
    """A pipe is waited for, and a device may give bytes without end."""
    zarr.create_array(tmp_path / "a.zarr", shape=(9, 2), dtype="f8")[:] = 1
    part = tmp_path / "a.zarr" / name
    part.rename(tmp_path / "part")
    part.symlink_to(tmp_path / "part")
    assert sum(map(len, open_source(tmp_path / "a.zarr"))) == 9
    part.unlink()
    os.mkfifo(tmp_path / "pipe")
    if kind == "pipe":
        (tmp_path / "pipe").rename(part)
    else:
        part.symlink_to(tmp_path / "pipe" if kind == "link to a pipe" else "/dev/zero")
    with pytest.raises(SourceError, match=f"{name} is not a file"):
        list(open_source(tmp_path / "a.zarr"))
