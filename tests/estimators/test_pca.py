"""`PCA`: batch PCA, right without a parameter."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition

from onepass import PCA
from onepass.pca import learner


@pytest.fixture
def sketched(monkeypatch):
    """Have a sketch instead of the exact matrix from 101 columns on."""
    monkeypatch.setattr(learner, "EXACT_COLUMNS", 100)
    monkeypatch.setattr(learner, "SPARSE_EXACT_COLUMNS", 100)


def _batch(X, k):
    return decomposition.PCA(k, svd_solver="full").fit(X)


def _gapped(n, d, seed, k=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.r_[np.full(k, 5.0) + np.arange(k)[::-1], np.ones(d - k)]


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_a_far_mean_does_no_harm(offset):
    X = _gapped(1000, 30, 5)
    near, far = PCA(3).fit(X), PCA(3).fit(X + offset)
    inner = np.abs(near.components_ @ far.components_.T)
    np.testing.assert_allclose(inner, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-5)


@pytest.mark.parametrize("n", [12, 2000])
def test_a_share_of_the_variance(n):
    X = _gapped(n, 20, 8)
    ratio = np.cumsum(_batch(X, min(n, 20)).explained_variance_ratio_)
    for share in (0.3, 0.8, 0.95):
        model = PCA(share, robust=False).fit(X)
        assert model.n_components_ == 1 + np.searchsorted(ratio, share)
        assert model.explained_variance_ratio_.sum() >= share


def test_signs_hold_while_the_data_stays_the_same():
    X = _gapped(6000, 40, 11)
    model, flips = PCA(3), 0
    last = None
    for rows in np.array_split(X, 40):
        now = model.partial_fit(rows).components_
        if last is not None and model.n_samples_seen_ > 1000:
            flips += int((np.diag(now @ last.T) < 0).sum())
        last = now
    assert flips == 0


@pytest.mark.parametrize("as_sparse", [False, True])
def test_all_directions_capture_everything(as_sparse):
    X = _gapped(700, 6, 14) + 3
    rows = sparse.csr_array(X) if as_sparse else X
    assert PCA(6).fit(rows).captured_.mean == pytest.approx(1.0)


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("mean", [1e6, 1e8])
def test_a_far_mean_does_no_harm_where_the_second_moment_is_a_sketch(mean):
    spread = np.r_[10, 8, 6, np.full(147, 0.1)]
    rows = np.random.default_rng(0).normal(size=(1500, 150)) * spread
    model = PCA(3).fit(rows + mean)
    exact = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:3] ** 2 / 1499
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=1e-3)
    assert np.abs(model.components_[:, :3]).max(axis=1).min() > 0.99


def test_captured_is_that_of_the_components_where_their_number_is_found():
    rows = np.random.default_rng(5).normal(size=(5000, 60)) * np.geomspace(3, 0.03, 60)
    model = PCA(0.5).fit(rows)
    assert model.captured_.mean == pytest.approx(model.score(rows), abs=0.03)


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("n", [1, 5, 600])
@pytest.mark.parametrize("d", [40, 150])
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_that_are_all_the_same_have_no_variance(n, d, robust, kind):
    row = np.linspace(0.1, 1e8 / 3, d)
    row[1::7] = 0.0
    with pytest.warns(UserWarning, match=f"{n} rows? span.*nothing varies"):
        model = PCA(2, robust=robust).fit(kind(np.tile(row, (n, 1))))
    assert model.explained_variance_.max() == 0.0


@pytest.mark.parametrize("weight", [1e-3, 0.1, 10.0])
def test_the_scale_of_weights_is_not_the_scale_of_variances(weight):
    X = _gapped(700, 6, 15)
    plain = PCA(2).fit(X)
    weighted = PCA(2).partial_fit(X, sample_weight=np.full(700, weight))
    np.testing.assert_allclose(weighted.explained_variance_, plain.explained_variance_, rtol=1e-8)
