"""PCA(scale=True): a StandardScaler in the same pass."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA as BatchPCA
from sklearn.preprocessing import StandardScaler

import onepass
from onepass import PCA
from onepass.pca import learner

K = 4
SHAPES = [(400, 6), (700, 60), (300, 301)]


def make(n, d, seed=0):
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
    X = make(*shape)
    assert_equal(way(X), X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("constant", [0.0, 7.0, 1e6 / 3, 0.1])
@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_stay_constant(constant, kind, robust, weighted):
    X = make(400, 6)
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
    X = make(500, d) if d == 6 else np.random.default_rng(0).normal(size=(400, d)) * 3 + 1
    units = 10.0 ** np.random.default_rng(2).uniform(-3, 3, size=d)
    for center in (True, False):
        plain = PCA(K, scale=True, center=center, robust=robust).fit(X)
        other = PCA(K, scale=True, center=center, robust=robust).fit(X * units)
        np.testing.assert_allclose(other.scale_, plain.scale_ * units, rtol=1e-8)
        np.testing.assert_allclose(
            np.abs(np.sum(other.components_ * plain.components_, axis=1)), 1.0, atol=1e-6
        )
