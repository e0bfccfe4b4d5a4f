"""npy, npz, HDF5 and Zarr as other tools write them: wide, in chunks, linked, with attributes."""

import json
import sys
import zipfile

import h5py
import numpy as np
import pytest
import scipy.sparse
import zarr

from onepass.sources import SourceError, open_source

ROWS = np.random.default_rng(0).standard_normal((60, 4))


def read(path, **options):
    return np.vstack(list(open_source(path, **options)))


def test_some_of_very_many_sparse_columns(tmp_path):
    last = (1 << 28) - 1
    matrix = scipy.sparse.csr_matrix(([1.0], ([0], [last])), shape=(1, last + 1))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    (block,) = open_source(tmp_path / "a.npz", columns=[last, 0])
    assert block.toarray().tolist() == [[1, 0]]


def test_compressed_sparse_files_are_read_forward_only(tmp_path, monkeypatch):
    matrix = scipy.sparse.random_array((20_000, 5), density=0.5, format="csr", rng=0)
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    source = open_source(tmp_path / "a.npz")
    seek = zipfile.ZipExtFile.seek

    def forward(self, offset, whence=0):
        assert whence or offset >= self.tell()
        return seek(self, offset, whence)

    monkeypatch.setattr(zipfile.ZipExtFile, "seek", forward)
    assert (scipy.sparse.vstack(list(source)) != matrix).nnz == 0


@pytest.mark.parametrize("chunks", [(7, 3), (25, 1), (60, 4)])
@pytest.mark.parametrize("name", ["a.h5", "a.zarr"])
def test_no_chunk_is_read_twice(tmp_path, monkeypatch, name, chunks):
    """However few rows are in a block, and wherever reading begins."""
    if name == "a.h5":
        kind = h5py.Dataset
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("a", data=ROWS, chunks=chunks, compression="gzip")
    else:
        kind = zarr.Array
        zarr.create_array(tmp_path / name, data=ROWS, chunks=chunks)
    get, seen = kind.__getitem__, []
    monkeypatch.setattr(kind, "__getitem__", lambda at, rows: seen.append(rows) or get(at, rows))
    monkeypatch.setattr("onepass.sources.base.READ_BYTES", 10 * 4 * 8)
    source = open_source(tmp_path / name, batch_rows=4)
    np.testing.assert_array_equal(np.vstack(list(source)), ROWS)
    bounds = [rows.start for rows in seen] + [seen[-1].stop]
    assert bounds == sorted(set(bounds))
    assert all(bound % chunks[0] == 0 for bound in bounds[:-1])
    rest = np.vstack([block for _, block in source.blocks((0, 33))])
    np.testing.assert_array_equal(rest, ROWS[33:])


def test_a_virtual_dataset_without_its_file(tmp_path):
    """It is an error, and not zeros."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        layout = h5py.VirtualLayout(ROWS.shape, "f8")
        layout[:] = h5py.VirtualSource("other.h5", "rows", ROWS.shape)
        file.create_virtual_dataset("a", layout)
    with pytest.raises(SourceError, match=r"a\.h5: its rows lie in 'other\.h5', which is"):
        open_source(tmp_path / "a.h5")


PACKED = {
    "float": {"dtype": "f4", "_FillValue": -1e30},
    "unsigned": {"dtype": "i1", "_FillValue": -1, "scale_factor": 0.5, "_Unsigned": "true"},
}


@pytest.mark.parametrize("kind", PACKED)
def test_attributes_of_packed_arrays(tmp_path, kind):
    """Scaled, and missing where nothing was measured; the corpus has more of them."""
    rows = np.abs(ROWS).round(1) * 10
    packing = dict(PACKED[kind])
    dtype = packing.pop("dtype")
    stored = rows.round() / packing.get("scale_factor", 1)
    stored[[3, 40], [1, 2]] = packing["_FillValue"]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = stored.astype(dtype)
        file["a"].attrs.update(packing)
    rows[[3, 40], [1, 2]] = np.nan
    found = read(tmp_path / "a.h5")
    np.testing.assert_array_equal(found, rows.round())
    assert found.dtype == (np.float32 if kind == "float" else np.float64)


def test_what_netcdf_writes_where_nothing_was_written(tmp_path):
    rows = ROWS.copy()
    rows[7, 1] = 9.969209968386869e36
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=rows, fillvalue=9.969209968386869e36)
        file.attrs["_NCProperties"] = "version=2,netcdf=4.9.2,hdf5=1.14.2"
    assert np.argwhere(np.isnan(read(tmp_path / "a.h5"))).tolist() == [[7, 1]]


def test_attributes_that_cannot_be_applied_are_named(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = ROWS
        file["a"].attrs["scale_factor"] = "a tenth"
    with pytest.raises(SourceError, match="its attribute scale_factor='a tenth' cannot be"):
        open_source(tmp_path / "a.h5")


def test_a_plug_in_that_is_missing_is_named(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_chunk((9, 2))
        settings.set_filter(32013, h5py.h5z.FLAG_OPTIONAL, (1,))  # Zfp
        space = h5py.h5s.create_simple((9, 2))
        h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F64LE, space, settings)
    monkeypatch.setitem(sys.modules, "hdf5plugin", None)
    with pytest.raises(SourceError, match=r"number 32013.*pip install hdf5plugin"):
        open_source(tmp_path / "a.h5")


@pytest.mark.parametrize("place", ["compressor", "filters"])
def test_pickled_codecs_are_refused(tmp_path, place):
    """Reading them executes code where numcodecs is old."""
    pickled = {"id": "pickle", "protocol": 4}
    codecs = {"compressor": pickled, "filters": [{"id": "vlen-utf8"}]}
    if place == "filters":
        codecs = {"compressor": None, "filters": [pickled]}
    array = {"shape": [9, 2], "chunks": [9, 2], "dtype": "|O", "fill_value": "", "order": "C"}
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps({"zarr_format": 2, **array, **codecs}))
    with pytest.raises(SourceError, match="pickle"):
        open_source(tmp_path / "a.zarr")


def test_tables_of_pandas_are_refused_with_the_line_that_converts_them(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:  # as pandas.DataFrame.to_hdf writes it
        file["df/block0_values"] = ROWS
        file["df"].attrs["pandas_type"] = np.bytes_(b"frame")
    with pytest.raises(SourceError, match=r"pandas\.read_hdf\('.*a\.h5', 'df'\)\.to_parquet"):
        open_source(tmp_path / "a.h5")
