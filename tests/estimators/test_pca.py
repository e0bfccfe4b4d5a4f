"""`PCA`: batch PCA, right without a parameter."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA as BatchPCA
from sklearn.preprocessing import StandardScaler

import onepass
from onepass import PCA
from onepass.pca import learner


@pytest.fixture
def sketched(monkeypatch):
    """Have a sketch instead of the exact matrix from 101 columns on."""
    monkeypatch.setattr(learner, "EXACT_COLUMNS", 100)
    monkeypatch.setattr(learner, "SPARSE_EXACT_COLUMNS", 100)


def _batch(X, k):
    return BatchPCA(k, svd_solver="full").fit(X)


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


K = 4
SHAPES = [(400, 6), (700, 60), (300, 301)]


def scaled_rows(n, d, seed=0):
    """Return rows with columns of very different units, a few directions that stand out."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) + rng.normal(size=(n, K)) * [3, 2.5, 2, 1.6] @ rng.normal(
        size=(K, d)
    )
    return rows * 10.0 ** rng.uniform(-3, 3, size=d) + rng.normal(size=d) * 100


def whole(X):
    return PCA(K, scale=True, robust=False).fit(X)


def merged(X):
    parts = np.split(X, [37, 200])
    return onepass.merge(*(PCA(K, scale=True, robust=False).fit(part) for part in parts))


def from_sparse(X):
    return PCA(K, scale=True, robust=False).fit(sparse.csr_array(X))


def assert_equal(model, X, tolerance=1e-9):
    """Compare with a scaler followed by batch PCA: everything that both have.

    Errors of directions are roots of those of variances.
    """
    scaler = StandardScaler().fit(X)
    few = len(X) < X.shape[1] // 2  # then the noise of svd_solver="full" is that of n directions
    batch = BatchPCA(K, svd_solver="full" if few else "covariance_eigh").fit(scaler.transform(X))
    signs = np.sign(np.sum(batch.components_ * model.components_, axis=1))
    components = batch.components_ * signs[:, None]
    np.testing.assert_allclose(model.components_, components, atol=1e-6)
    np.testing.assert_allclose(model.scale_, scaler.scale_, rtol=tolerance)
    np.testing.assert_allclose(model.mean_, scaler.mean_, rtol=tolerance, atol=1e-12)
    np.testing.assert_allclose(model.var_, scaler.var_, rtol=tolerance)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(model, name), getattr(batch, name), rtol=tolerance)
    wanted = batch.transform(scaler.transform(X)) * signs
    np.testing.assert_allclose(model.transform(X), wanted, atol=1e-6 * np.abs(wanted).max())
    rebuilt = scaler.inverse_transform(
        batch.inverse_transform(batch.transform(scaler.transform(X)))
    )
    error = (model.inverse_transform(model.transform(X)) - rebuilt) / scaler.scale_
    assert np.abs(error).max() < 1e-6 * np.abs(wanted).max()
    if few:
        return
    np.testing.assert_allclose(model.noise_variance_, batch.noise_variance_, rtol=tolerance)
    likelihood = batch.score_samples(scaler.transform(X)) - np.log(scaler.scale_).sum()
    np.testing.assert_allclose(model.score_samples(X), likelihood, rtol=1e-6)


@pytest.mark.parametrize("way", [whole, merged, from_sparse])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equals_a_scaler_and_batch_pca(shape, way):
    X = scaled_rows(*shape)
    assert_equal(way(X), X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("constant", [0.0, 7.0, 1e6 / 3, 0.1])
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_stay_constant(constant, kind, robust, weighted):
    X = scaled_rows(400, 6)
    X[:, 2] = constant
    weights = np.random.default_rng(1).random(400) if weighted else None
    model = PCA(3, scale=True, robust=robust).partial_fit(kind(X), sample_weight=weights)
    assert model.scale_[2] == 1.0
    assert np.abs(model.components_[:, 2]).max() < 1e-6
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X))[:, 2], constant, atol=1e-12
    )


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("d", [6, 150])
def test_about_zero_or_beyond_the_exact_matrix_units_do_not_matter(d, robust, monkeypatch):
    monkeypatch.setattr(learner, "EXACT_COLUMNS", 100)
    X = scaled_rows(500, d) if d == 6 else np.random.default_rng(0).normal(size=(400, d)) * 3 + 1
    units = 10.0 ** np.random.default_rng(2).uniform(-3, 3, size=d)
    for center in (True, False):
        plain = PCA(K, scale=True, center=center, robust=robust).fit(X)
        other = PCA(K, scale=True, center=center, robust=robust).fit(X * units)
        np.testing.assert_allclose(other.scale_, plain.scale_ * units, rtol=1e-8)
        np.testing.assert_allclose(
            np.abs(np.sum(other.components_ * plain.components_, axis=1)), 1.0, atol=1e-6
        )
