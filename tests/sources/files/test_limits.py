"""A few bytes must not cost gigabytes, nor read other files."""

import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.sparse
import zarr

from onepass.sources import SourceError, base, open_source

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
OPEN = """
import resource, sys
import scipy.sparse, h5py, zarr
from onepass.sources import open_source
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for block in open_source(sys.argv[1]):
        pass
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
@pytest.mark.parametrize("name", WIDE)
def test_many_columns_in_a_small_file(tmp_path, name):
    WIDE[name](tmp_path)
    command = [sys.executable, "-c", OPEN, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message, kilobytes = done.stdout.splitlines()
    assert "268,435,456 columns are too many: one row takes 2,048 MB, the limit is 256" in message
    assert int(kilobytes) < 60_000


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
    message = r"chunks of shape \(1048576, 64\) are too large: each takes 512 MB, the limit is 256"
    with pytest.raises(SourceError, match=message):
        open_source(tmp_path / name)


def test_arrays_in_fortran_order_that_have_to_be_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "LIMIT_BYTES", 1 << 20)
    np.savez(tmp_path / "a.npz", np.zeros((1 << 17, 2), order="F"))
    with pytest.raises(SourceError, match="read whole, which takes 2 MB, the limit is 1 MB"):
        open_source(tmp_path / "a.npz")


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
