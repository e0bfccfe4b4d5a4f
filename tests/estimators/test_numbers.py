"""Numbers mean the same whichever candidate answers: they are those of all rows as they came."""

import numpy as np
import pytest
from sklearn import datasets

from onepass import PCA, merge

COMPONENTS = range(1, 8)


def student(n=2000, d=12, degrees=2.5):
    """Return rows of a Student distribution, with a spectrum in random directions."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
    rows /= np.sqrt(rng.chisquare(degrees, (n, 1)) / degrees)
    return rows @ np.linalg.qr(rng.normal(size=(d, d)))[0] + 3.0


DATA = {
    "breast cancer": datasets.load_breast_cancer().data,
    "digits": datasets.load_digits().data,
    "wine": datasets.load_wine().data,
    "t2.5": student(),
}


def assert_numbers_of_all_rows(model, X):
    """Demand means, deviations and variances of the coordinates of X, plain and whitened."""
    scale = X.std(axis=0) if model.scale else np.ones(X.shape[1])
    scale = np.where(X.std(axis=0) > 0.0, scale, 1.0)
    spread = np.abs(X).max()
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-10, atol=1e-10 * spread)
    np.testing.assert_allclose(model.scale_, scale, rtol=1e-10)
    np.testing.assert_allclose(model.var_, X.var(axis=0), rtol=1e-9, atol=1e-20 * spread**2)
    Z = model.transform(X)
    variances = model.explained_variance_
    np.testing.assert_allclose(Z.var(axis=0, ddof=1), variances, rtol=1e-8)
    assert np.abs(Z.mean(axis=0) / np.sqrt(variances)).max() < 1e-8
    whitened = model.set_params(whiten=True).transform(X)
    model.set_params(whiten=False)
    np.testing.assert_allclose(whitened.std(axis=0, ddof=1), 1.0, rtol=1e-8)
    total = (X / scale).var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(model.explained_variance_ratio_, variances / total, rtol=1e-8)
    d, k = model.n_features_in_, model.n_components_
    noise = (total - variances.sum()) / (d - k)
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-6, abs=1e-10 * total)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_they_are_those_of_all_rows(name, scale, robust):
    X = np.random.default_rng(0).permutation(DATA[name])
    for k in COMPONENTS:
        assert_numbers_of_all_rows(PCA(k, scale=scale, robust=robust).partial_fit(X), X)


def test_a_robust_answer_orders_components_by_robust_variances():
    """They need not descend, and coordinates may be correlated: only directions are robust."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 6)) * [3, 2.5, 1, 0.5, 0.5, 0.5]
    X[::200, 1:3] += 300.0 * rng.normal(size=(20, 2))
    model = PCA(2, robust=True).partial_fit(X)
    assert np.abs(model.components_[0, 0]) > 0.95
    assert model.explained_variance_[1] > model.explained_variance_[0]
    assert_numbers_of_all_rows(model, X)


@pytest.mark.parametrize("robust", [False, True])
def test_they_are_those_of_all_rows_after_merging(robust):
    X = DATA["t2.5"]
    parts = [PCA(3, robust=robust).partial_fit(part) for part in np.array_split(X, 7)]
    assert_numbers_of_all_rows(merge(*parts), X)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_weighted_numbers_are_those_of_weighted_rows(robust, scale):
    X, rng = DATA["t2.5"], np.random.default_rng(2)
    counts = rng.integers(0, 4, len(X))
    model = PCA(3, robust=robust, scale=scale).partial_fit(X, sample_weight=counts)
    repeated = np.repeat(X, counts, axis=0)
    np.testing.assert_allclose(model.mean_, repeated.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.var_, repeated.var(axis=0), rtol=1e-9)
    Z = model.transform(repeated)
    # Divided by the sum of the weights, less one row of mean weight.
    lost = 1.0 - 1.0 / np.count_nonzero(counts)
    np.testing.assert_allclose(model.explained_variance_ * lost, Z.var(axis=0), rtol=1e-8)


def test_single_precision_rows_keep_directions_of_small_variance():
    """Sums of float32 products would turn those of less than 1e-5 of the first variance."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    rows = (rng.normal(size=(6000, 10)) * 10.0 ** (-0.5 * np.arange(10))) @ turn
    rows = rows.astype(np.float32)
    single = PCA(8, robust=False).fit(rows).components_
    double = PCA(8, robust=False).fit(rows.astype(np.float64)).components_
    np.testing.assert_allclose(np.sum(single * double, axis=1), 1.0, atol=1e-6)
