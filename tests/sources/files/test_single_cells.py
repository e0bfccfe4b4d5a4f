"""AnnData and 10x files: rows, names, the choice of genes, and preparation in the stream."""

import pickle
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from onepass.sources import SourceError, open_source
from tests.sources.files.test_formats import dense

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.7, size=(60, 8)).astype(np.float32)
COUNTS[5] = 0  # a cell without counts
GENES = [f"g{j}" for j in range(8)]
VARIABLE = np.array([True, False, True, True, False, False, True, False])


def cells(X=None, **layers):
    var = pd.DataFrame({"highly_variable": VARIABLE, "length": np.arange(8)}, index=GENES)
    obs = pd.DataFrame(index=[f"c{i}" for i in range(len(COUNTS))])
    return anndata.AnnData(X=X, obs=obs, var=var, layers=layers)


def write(folder, kind, adata):
    suffix, version = (kind[:4], int(kind[4:] or 3)) if "zarr" in kind else (kind, 3)
    path = folder / f"cells.{suffix}"
    settings = {"zarr_write_format": version, "auto_shard_zarr_v3": version == 3}
    with anndata.settings.override(**settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Writing zarr v2 data|Consolidated metadata")
        getattr(adata, f"write_{suffix}")(path)
    return path


def stacked(source):
    blocks = list(source)
    return np.vstack([dense(block) for block in blocks]), blocks[0]


def prepared(counts, total):
    sums = counts.sum(axis=1, keepdims=True)
    return np.log1p(counts / np.where(sums == 0, 1, sums) * total)


@pytest.fixture(params=["h5ad", "zarr2", "zarr3"])
def kind(request):
    return request.param


MAKES = [scipy.sparse.csr_array, np.array]


@pytest.mark.parametrize("make", MAKES)
def test_rows_and_names(tmp_path, kind, make):
    source = open_source(write(tmp_path, kind, cells(make(COUNTS))))
    assert source.feature_names == GENES
    assert (source.n_rows, source.n_features) == COUNTS.shape
    rows, _ = stacked(pickle.loads(pickle.dumps(source)))
    np.testing.assert_array_equal(rows, COUNTS)


@pytest.mark.parametrize("make", MAKES)
def test_layers_and_masks(tmp_path, kind, make):
    path = write(tmp_path, kind, cells(make(COUNTS), counts=make(COUNTS + 1)))
    source = open_source(path, layer="counts", mask_var="highly_variable")
    assert source.feature_names == ["g0", "g2", "g3", "g6"]
    np.testing.assert_array_equal(stacked(source)[0], COUNTS[:, VARIABLE] + 1)
    source = open_source(path, mask_var=["g5", "g1"])  # in the order of the file, as masks are
    assert source.feature_names == ["g1", "g5"]
    source = open_source(path, columns=["g6", "g0"], mask_var="highly_variable")
    np.testing.assert_array_equal(stacked(source)[0], COUNTS[:, [6, 0]])


@pytest.mark.parametrize("make", MAKES)
def test_cells_are_normalized_by_all_of_their_counts(tmp_path, kind, make):
    path = write(tmp_path, kind, cells(make(COUNTS)))
    source = open_source(path, mask_var="highly_variable", normalize=1e4, log1p=True)
    rows, block = stacked(source)
    np.testing.assert_allclose(rows, prepared(COUNTS, 1e4)[:, VARIABLE], rtol=1e-6)
    assert block.dtype == np.float32
    assert scipy.sparse.issparse(block) == (make is not np.array)


def test_sparse_rows_come_by_the_thousand(tmp_path, kind):
    many = scipy.sparse.random_array((9000, 3000), density=0.01, format="csr", rng=0)
    source = open_source(write(tmp_path, kind, anndata.AnnData(many)))
    blocks = list(source)
    assert [block.shape[0] for block in blocks] == [4096, 4096, 808]
    assert (scipy.sparse.vstack(blocks) != many).nnz == 0
    (_, rest), *_ = source.blocks((0, 8999))
    assert (rest != many[8999:]).nnz == 0


def test_rows_with_many_entries_come_in_smaller_blocks(tmp_path):
    dense = scipy.sparse.csr_array(np.ones((3000, 2000), dtype=np.float32))
    entries = [block.nnz for block in open_source(write(tmp_path, "h5ad", anndata.AnnData(dense)))]
    assert max(entries) <= 1 << 21
    assert sum(entries) == 6_000_000


def test_columns_are_converted_and_it_is_said_what_that_takes(tmp_path, kind):
    path = write(tmp_path, kind, cells(None, counts=scipy.sparse.csc_matrix(COUNTS)))
    source = open_source(path, layer="counts")
    np.testing.assert_array_equal(stacked(source)[0], COUNTS)
    (note,) = source.notes
    assert "by genes (CSC)" in note
    assert " MB" in note


def test_what_is_not_there_is_named(tmp_path, kind):
    path = write(tmp_path, kind, cells(None, counts=COUNTS))
    for layer, mask, message in (
        (None, None, "there is no X in it; layers are: 'counts'"),
        ("raw", None, "there is no layers/raw in it; layers are: 'counts'"),
        ("counts", "hvg", "'hvg' is no .* has 'highly_variable', 'length'"),
        ("counts", "length", "mask_var='length' is no column of booleans"),
        ("counts", ["g1", "g9"], "mask_var has 'g9', and there is no gene of this name"),
    ):
        with pytest.raises(SourceError, match=message):
            open_source(path, layer=layer, mask_var=mask)


def test_names_that_come_twice_are_numbered(tmp_path, kind):
    var = pd.DataFrame(index=["a", "b", "a", "a-1", "c", "a", "d", "e"])
    with pytest.warns(UserWarning, match="not unique"):
        path = write(tmp_path, kind, anndata.AnnData(COUNTS, var=var))
    source = open_source(path)
    assert source.feature_names == ["a", "b", "a-2", "a-1", "c", "a-3", "d", "e"]
    assert source.notes == [f"{path}: 2 names of genes come again, and are numbered"]


def test_counts_below_zero_are_refused(tmp_path, kind):
    rows = COUNTS.copy()
    rows[41, 6] = -2
    path = write(tmp_path, kind, cells(scipy.sparse.csr_array(rows)))
    with pytest.raises(SourceError, match="row 42, column 'g6': -2 is below zero, and normalize"):
        list(open_source(path, mask_var=["g1"], normalize=1e4))


def test_options_of_other_formats(tmp_path):
    np.save(tmp_path / "a.npy", COUNTS)
    with pytest.raises(ValueError, match="layer does not apply"):
        open_source(tmp_path / "a.npy", layer="counts")
    path = write(tmp_path, "h5ad", cells(COUNTS))
    with pytest.raises(SourceError, match="choose a layer with layer="):
        open_source(f"{path}::X")


def write_10x(path, kinds=("Gene Expression",)):
    by_cells = scipy.sparse.csr_array(COUNTS.astype(np.int32))
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group.create_dataset(name, data=getattr(by_cells, name), chunks=(16,), compression=4)
        group["shape"] = np.array(COUNTS.shape[::-1], dtype=np.int32)
        group["barcodes"] = np.array([b"AAAC"] * len(COUNTS))
        group["features/name"] = group["features/id"] = np.array(GENES, dtype="S")
        group["features/feature_type"] = np.array([kinds[j % len(kinds)] for j in range(8)], "S")


def test_10x(tmp_path):
    write_10x(tmp_path / "a.h5")
    source = open_source(tmp_path / "a.h5", normalize=1e4, log1p=True, mask_var=["g1", "g4"])
    assert source.feature_names == ["g1", "g4"]
    assert source.n_rows == 60
    expected = prepared(COUNTS.astype(float), 1e4)[:, [1, 4]]
    np.testing.assert_allclose(stacked(source)[0], expected, rtol=1e-12)
    with pytest.raises(SourceError, match="mask_var must be a list of names"):
        open_source(tmp_path / "a.h5", mask_var="highly_variable")


def test_10x_with_proteins(tmp_path):
    write_10x(tmp_path / "a.h5", kinds=("Gene Expression", "Antibody Capture"))
    (note,) = open_source(tmp_path / "a.h5").notes
    assert "features of several types are read: 4 Gene Expression, 4 Antibody Capture" in note


@pytest.mark.parametrize("make", MAKES)
def test_missing_entries_stay_missing(tmp_path, kind, make):
    rows = COUNTS.copy()
    rows[7, 3] = np.nan
    path = write(tmp_path, kind, cells(make(rows)))
    np.testing.assert_array_equal(stacked(open_source(path))[0], rows)
    found = stacked(open_source(path, normalize=10))[0]
    expected = rows * 10 / np.where(np.nansum(rows, 1) == 0, 1, np.nansum(rows, 1))[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_anndata_in_a_file_with_the_suffix_of_hdf5(tmp_path):
    write(tmp_path, "h5ad", cells(COUNTS)).rename(tmp_path / "a.h5")
    assert open_source(tmp_path / "a.h5").feature_names == GENES
