"""AnnData objects: in memory, backed and as views, with results where scanpy looks for them."""

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.decomposition import PCA as BatchPCA

import onepass
import onepass.anndata
from onepass import PCA, SourceError

RNG = np.random.default_rng(0)
TYPES = RNG.integers(3, size=400)
RATES = RNG.gamma(0.3, size=(3, 30))
ROWS = np.log1p(RNG.poisson(RATES[TYPES] * 4)).astype(np.float32)
VARIABLE = ROWS.var(axis=0) > np.median(ROWS.var(axis=0))


def cells(X, **layers):
    var = pd.DataFrame(index=[f"g{j}" for j in range(30)])
    obs = pd.DataFrame({"type": TYPES.astype(str)}, index=[f"c{i}" for i in range(len(ROWS))])
    return anndata.AnnData(X, obs=obs, var=var, layers=layers)


def backed(folder, adata):
    adata.write_h5ad(folder / "cells.h5ad")
    return anndata.read_h5ad(folder / "cells.h5ad", backed="r")


OBJECTS = ["dense", "csr", "csc", "backed dense", "backed csr", "backed csc"]
VIEWS = ["view", "backed view"]  # writing into one makes it a copy


@pytest.fixture(params=OBJECTS + VIEWS)
def adata(request, tmp_path):
    """The same rows in objects of several kinds."""
    kind = request.param.split()[-1]
    make = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array}.get(kind, np.array)
    if kind != "view":
        made = cells(make(ROWS))
        return backed(tmp_path, made) if "backed" in request.param else made
    twice = cells(scipy.sparse.csr_array(np.vstack([-ROWS, ROWS])[: len(ROWS)]))
    twice = anndata.concat([twice, cells(scipy.sparse.csr_array(ROWS))], index_unique="-")
    made = backed(tmp_path, twice) if "backed" in request.param else twice
    return made[len(ROWS) :]


def along(components, expected):
    """Components with the signs of others."""
    return components * np.sign((components * expected).sum(axis=1, keepdims=True))


def test_fit_and_transform(adata):
    model = PCA(4, robust=False).fit(adata)
    expected = BatchPCA(4, svd_solver="full").fit(ROWS.astype(np.float64))
    assert model.feature_names_in_.tolist() == [f"g{j}" for j in range(30)]
    assert model.n_samples_seen_ == 400
    np.testing.assert_allclose(
        along(model.components_, expected.components_), expected.components_, atol=1e-5
    )
    coordinates = model.transform(adata)
    np.testing.assert_allclose(
        coordinates, model.transform(pd.DataFrame(ROWS, columns=adata.var_names)), atol=1e-5
    )


@pytest.mark.parametrize("adata", OBJECTS, indirect=True)
def test_results_are_where_scanpy_looks_for_them(adata):
    expected = BatchPCA(4, svd_solver="full").fit(ROWS.astype(np.float64))
    model = onepass.anndata.pca(adata, n_comps=4)
    np.testing.assert_allclose(adata.varm["PCs"], model.components_.T)
    assert adata.obsm["X_pca"].dtype == np.float32
    np.testing.assert_allclose(adata.obsm["X_pca"], model.transform(adata), atol=1e-5)
    found = adata.uns["pca"]
    np.testing.assert_allclose(found["variance"], expected.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(
        found["variance_ratio"], expected.explained_variance_ratio_, rtol=1e-5
    )
    assert found["params"]["zero_center"]
    assert not found["params"]["use_highly_variable"]


def test_genes_left_out_have_zeros(tmp_path):
    adata = cells(scipy.sparse.csr_array(ROWS))
    adata.var["highly_variable"] = VARIABLE
    onepass.anndata.pca(adata, n_comps=3)
    assert adata.uns["pca"]["params"]["use_highly_variable"]
    assert adata.uns["pca"]["params"]["mask_var"] == "highly_variable"
    expected = BatchPCA(3, svd_solver="full").fit(ROWS[:, VARIABLE].astype(np.float64))
    components = adata.varm["PCs"].T
    assert not components[:, ~VARIABLE].any()
    found = along(components[:, VARIABLE], expected.components_)
    np.testing.assert_allclose(found, expected.components_, atol=1e-5)
    names = adata.var_names[VARIABLE].tolist()
    for mask in (VARIABLE, names, np.array(names), VARIABLE.tolist()):
        again = adata.copy()
        onepass.anndata.pca(again, n_comps=3, mask_var=mask)
        np.testing.assert_array_equal(again.varm["PCs"], adata.varm["PCs"])
        again.write_h5ad(tmp_path / "again.h5ad")
    read = anndata.read_h5ad(tmp_path / "again.h5ad")
    np.testing.assert_array_equal(read.uns["pca"]["params"]["mask_var"], VARIABLE)
    onepass.anndata.pca(adata, n_comps=3, mask_var=None)
    assert (adata.varm["PCs"] != 0).any(axis=1).all()


def test_layers_and_scale():
    adata = cells(np.zeros_like(ROWS), logs=scipy.sparse.csr_array(ROWS))
    model = onepass.anndata.pca(adata, n_comps=3, layer="logs", scale=True)
    assert adata.uns["pca"]["params"]["layer"] == "logs"
    np.testing.assert_allclose(model.scale_, ROWS.std(axis=0), rtol=1e-4)


def test_what_is_wrong_is_said():
    adata = cells(ROWS)
    with pytest.raises(ValueError, match=r"mask_var='hvg': adata\.var has no columns"):
        onepass.anndata.pca(adata, mask_var="hvg")
    with pytest.raises(ValueError, match="mask_var has 'x', and there is no gene of this name"):
        onepass.anndata.pca(adata, mask_var=["g1", "x"])
    with pytest.raises(ValueError, match=r"type bool and shape \(3,\), not bool and \(30,\)"):
        onepass.anndata.pca(adata, mask_var=[True] * 3)
    with pytest.raises(SourceError, match="there is no layer 'raw' in it, only none"):
        onepass.anndata.pca(adata, layer="raw")
    with pytest.raises(SourceError, match="there is no X in it"):
        PCA(2).fit(cells(None))
    assert not adata.obsm
    assert not adata.uns


@pytest.mark.parametrize("n_comps", [0, 6, 100])
def test_components_are_fewer_than_cells_and_genes(n_comps):
    adata = anndata.AnnData(np.random.default_rng(0).normal(size=(30, 6)))
    with pytest.raises(ValueError, match=f"n_comps={n_comps} must be between 1 and 5"):
        onepass.anndata.pca(adata, n_comps)
