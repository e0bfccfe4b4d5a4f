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


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize(("d", "tolerance"), [(30, 1e-5), (150, 1e-3)])
def test_a_far_mean_does_no_harm(d, tolerance, offset):
    X = _gapped(1500, d, 5) * np.r_[np.ones(3), np.full(d - 3, 0.1)]
    exact, far = _batch(X, 3), PCA(3).fit(X + offset)
    inner = np.abs(exact.components_ @ far.components_.T)
    np.testing.assert_allclose(inner, np.eye(3), atol=tolerance)
    np.testing.assert_allclose(far.explained_variance_, exact.explained_variance_, rtol=tolerance)


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
