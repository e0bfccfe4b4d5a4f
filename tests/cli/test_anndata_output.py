"""``onepass transform ... -o coordinates.h5ad``: an AnnData file that scanpy goes on with."""

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import onepass
from onepass.sources import arrays, files
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.sources.files.written import csv_text

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(RNG.gamma(0.4, size=12) * 5, size=(60, 12)).astype(np.float32)
TYPES = RNG.choice(["B", "T", "NK"], size=60)


def write_cells(path, counts=COUNTS, types=TYPES):
    obs = pd.DataFrame(
        {"type": pd.Categorical(types), "n": counts.sum(axis=1)},
        index=[f"cell{i}" for i in range(len(counts))],
    )
    var = pd.DataFrame(index=[f"g{j}" for j in range(counts.shape[1])])
    adata = anndata.AnnData(scipy.sparse.csr_array(counts), obs=obs, var=var)
    adata.obsm["X_umap"], adata.uns["note"] = counts[:, :2], "kept"
    adata.obsm["X_pca"] = counts[:, :9]  # of an analysis before
    getattr(adata, f"write_{path.suffix[1:]}")(path)


def read_cells(path):
    return getattr(anndata, f"read_{path.suffix[1:]}")(path)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(files, "rows_per_block", lambda d: 7)
    monkeypatch.setattr(arrays, "_SPARSE_BLOCK_ROWS", 7)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["cells.h5ad", "cells.zarr"])
@pytest.mark.filterwarnings("ignore:Writing zarr v2 data|Consolidated metadata")
def test_cells_keep_what_they_have_and_get_coordinates(tmp_path, name):
    path = tmp_path / name
    write_cells(path)
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    preparing = ["--normalize", 100, "--log1p"]
    run("fit", path, "-k", 4, "--no-robust", *preparing, "-o", model)
    result = run("transform", model, path, "-o", out)
    assert "60 rows of 4 coordinates" in result.stdout
    given, written = read_cells(path), anndata.read_h5ad(out)
    pd.testing.assert_frame_equal(written.obs, given.obs)
    assert (written.X != given.X).nnz == 0
    assert written.uns["note"] == "kept"
    np.testing.assert_array_equal(written.obsm["X_umap"], given.obsm["X_umap"])
    assert written.var_names.tolist() == given.var_names.tolist()
    fitted = onepass.load(model)
    source = onepass.open_source(path, normalize=100, log1p=True)
    np.testing.assert_array_equal(written.obsm["X_pca"], fitted.transform(source))
    assert written.obsm["X_pca"].dtype == np.float32
    np.testing.assert_array_equal(written.varm["PCs"], fitted.components_.T)
    found = written.uns["pca"]
    np.testing.assert_array_equal(found["variance"], fitted.explained_variance_)
    np.testing.assert_array_equal(found["variance_ratio"], fitted.explained_variance_ratio_)
    assert found["params"]["zero_center"]


def test_genes_that_are_left_out_have_zeros(tmp_path):
    write_cells(tmp_path / "cells.h5ad")
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "cells.h5ad", "-k", 2, "--columns", "g7,g2,g5", "-o", model)
    run("transform", model, tmp_path / "cells.h5ad", "-o", out)
    written, fitted = anndata.read_h5ad(out), onepass.load(model)
    np.testing.assert_array_equal(written.varm["PCs"][[7, 2, 5]], fitted.components_.T)
    assert np.count_nonzero(written.varm["PCs"].any(axis=1)) == 3
    assert written.n_vars == 12


def test_flags_and_kept_columns_are_columns_of_obs(tmp_path):
    X = rows(300)
    lines = csv_text(X, list("abcdef")).splitlines()
    lines = [f"{'id' if i == 0 else f'p{i}'},{line}" for i, line in enumerate(lines)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "a.csv", "-k", 2, "--exclude", "id", "-o", model)
    more = ["--keep", "id", "--flag", "--quantile", 0.8]
    run("transform", model, tmp_path / "a.csv", "-o", out, *more)
    written = anndata.read_h5ad(out)
    assert written.obs_names.tolist() == [str(line) for line in range(2, 302)]
    assert written.obs_names.name == "line"
    assert written.obs["id"].tolist() == [f"p{i}" for i in range(1, 301)]
    assert written.obs["outlier"].dtype == bool
    fitted = onepass.load(model)
    above = fitted.reconstruction_error([X]) > fitted.error_threshold(0.8)
    assert 0 < above.sum() < 300
    assert written.obs["outlier"].tolist() == above.tolist()
    assert written.obsm["X_pca"].shape == (300, 2)


def test_several_files_are_told_apart(tmp_path):
    X = rows(20)
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:5])
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "a.npy", "-k", 2, "-o", model)
    run("transform", model, tmp_path / "a.npy", tmp_path / "b.npy", "-o", out)
    written = anndata.read_h5ad(out)
    assert written.obs_names.is_unique
    assert written.obs_names[-1] == f"{tmp_path / 'b.npy'}:5"
    assert (
        written.obs["file"].tolist()
        == [str(tmp_path / "a.npy")] * 20 + [str(tmp_path / "b.npy")] * 5
    )


def test_cells_of_several_files_have_names_of_their_own(tmp_path):
    write_cells(tmp_path / "a.h5ad")
    write_cells(tmp_path / "b.h5ad", COUNTS[:9], TYPES[:9])
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "a.h5ad", "-k", 2, "-o", model)
    run("transform", model, tmp_path / "a.h5ad", tmp_path / "b.h5ad", "-o", out)
    written = anndata.read_h5ad(out)
    assert written.obs_names.is_unique
    assert written.obs_names[[0, 60]].tolist() == ["cell0-0", "cell0-1"]
    assert written.obs["type"].astype(str).tolist() == [*TYPES, *TYPES[:9]]
    assert written.obs["file"].astype(str).iloc[-1] == str(tmp_path / "b.h5ad")


def test_barcodes_of_10x_files_are_names(tmp_path):
    columns = scipy.sparse.csr_array(COUNTS)  # cells by genes is CSC of genes by cells
    names = [f"AAAC{i}-1" for i in range(60)]
    with h5py.File(tmp_path / "cells.h5", "w") as root:
        matrix = root.create_group("matrix")
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(columns, part)
        matrix["shape"] = np.array([12, 60])
        matrix["features/name"] = [f"g{j}" for j in range(12)]
        matrix["features/feature_type"] = ["Gene Expression"] * 12
        matrix["barcodes"] = names
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "cells.h5", "-k", 2, "-o", model)
    run("transform", model, tmp_path / "cells.h5", "-o", out)
    assert anndata.read_h5ad(out).obs_names.tolist() == names


def test_only_transform_writes_anndata(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    model = tmp_path / "m.onepass"
    run("fit", tmp_path / "a.npy", "-k", 2, "-o", model)
    for words in (
        ["score", model, tmp_path / "a.npy", "--rows", tmp_path / "out.h5ad"],
        ["impute", model, tmp_path / "a.npy", "-o", tmp_path / "out.h5ad"],
        ["info", model, "--loadings", tmp_path / "out.h5ad"],
    ):
        assert "must end in one of .npy, .csv, .parquet\n" in run(*words, code=2).stderr
    said = run("transform", model, tmp_path / "a.npy", "-o", tmp_path / "out.xls", code=2).stderr
    assert "must end in one of .npy, .csv, .parquet, .h5ad\n" in said
