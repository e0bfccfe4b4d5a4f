"""Rows that do not fit: distances, likelihoods, and the threshold from the stream."""

import numpy as np
import pytest
from scipy import sparse, stats

import onepass
from tests.contracts.variants import BATCH, ESTIMATORS, build

D, K = 12, 3
RNG = np.random.default_rng(0)
SCALES = np.geomspace(5, 0.2, D)
X = RNG.normal(size=(6000, D)) * SCALES + 3
NEW = RNG.normal(size=(20_000, D)) * SCALES + 3
EVERY = pytest.mark.parametrize("algorithm", ESTIMATORS)


def fitted(algorithm, rows=X, **params):
    return build(algorithm, K, center=True, random_state=0, **params).fit(rows)


@EVERY
def test_reconstruction_error_is_the_squared_distance(algorithm):
    model = fitted(algorithm)
    rest = NEW[:50] - model.inverse_transform(model.transform(NEW[:50]))
    for given in (NEW[:50], sparse.csr_array(NEW[:50]), [NEW[:20], NEW[20:50]]):
        found = model.reconstruction_error(given)
        np.testing.assert_allclose(found, (rest**2).sum(axis=1))


@EVERY
def test_likelihood_is_that_of_the_gaussian_of_the_model(algorithm):
    model = fitted(algorithm)
    gaussian = stats.multivariate_normal(model.mean_, model.get_covariance())
    for kind in (np.asarray, sparse.csr_array):
        found = model.score_samples(kind(NEW[:50]))
        np.testing.assert_allclose(found, gaussian.logpdf(NEW[:50]))
    identity = model.get_covariance() @ model.get_precision()
    np.testing.assert_allclose(identity, np.eye(D), atol=1e-9)


def test_likelihood_of_rows_without_variance_in_some_directions():
    flat = X.copy()
    flat[:, K:] = 0.0
    model = onepass.ERM(K, center=True).fit(flat)
    scores = model.score_samples(np.vstack([flat[:1], flat[:1] + np.eye(D)[-1]]))
    assert scores[0] > 0.0 > scores[1]
    with pytest.warns(onepass.OnepassWarning, match="nothing varies"):
        constant = onepass.ERM(K, center=True).fit(np.ones((50, D)))
    with pytest.raises(ValueError, match="nothing varies"):
        constant.score_samples(flat)


@EVERY
@pytest.mark.parametrize("quantile", [0.9, 0.99])
def test_as_many_new_rows_are_above_the_threshold_as_it_says(algorithm, quantile):
    model = fitted(algorithm)
    share = (model.reconstruction_error(NEW) > model.error_threshold(quantile)).mean()
    assert share == pytest.approx(1 - quantile, rel=0.35)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("robust", [True, False])
def test_the_threshold_is_in_the_units_of_the_answer(robust, kind):
    """That is of all rows, whichever candidate answers."""
    heavy = np.sqrt(1.0 / RNG.chisquare(3.0, size=(len(X) + len(NEW), 1)))
    rows = RNG.normal(size=(len(heavy), D)) * SCALES * heavy + 3
    model = onepass.PCA(K, scale=True, robust=robust).partial_fit(kind(rows[: len(X)]))
    errors = model.reconstruction_error(rows[len(X) :])
    assert (errors > model.error_threshold(0.9)).mean() == pytest.approx(0.1, rel=0.2)


@EVERY
def test_the_threshold_is_saved_and_merged_and_depends_on_no_split_or_weight(algorithm, tmp_path):
    model = fitted(algorithm)
    parts = build(algorithm, K, center=True, random_state=0)
    for part in np.split(X, [1, 500, 501, 4000]):
        parts.partial_fit(part)
    assert parts.error_threshold(0.9) == model.error_threshold(0.9)
    model.save(tmp_path / "model.onepass")
    loaded = onepass.load(tmp_path / "model.onepass")
    assert loaded.error_threshold(0.9) == model.error_threshold(0.9)
    heavy = build(algorithm, K, center=True, random_state=0)
    heavy.fit(X, sample_weight=np.full(len(X), 100.0))
    assert heavy.error_threshold(0.9) == pytest.approx(model.error_threshold(0.9), rel=0.1)
    merged = fitted(algorithm, X[:3000]).merge(fitted(algorithm, X[3000:]))
    assert merged.error_threshold(0.9) == pytest.approx(model.error_threshold(0.9), rel=0.15)


def test_a_share_that_is_none_is_refused():
    model = fitted("ERM")
    for share in (0.0, -0.1, 1.1, "0.9", float("nan"), True):
        with pytest.raises(ValueError, match="quantile must be above 0 and at most 1"):
            model.error_threshold(share)
    assert model.error_threshold(1) >= model.error_threshold(0.5)


def shares_above(algorithm, count, quantile):
    """Return the shares of new rows above the thresholds of several short streams."""
    models = [
        fitted(algorithm, X[start : start + count], robust=False) for start in range(0, 4000, 200)
    ]
    return [np.mean(m.reconstruction_error(NEW) > m.error_threshold(quantile)) for m in models]


@pytest.mark.parametrize("algorithm", BATCH)
def test_a_threshold_is_known_from_as_many_rows_as_it_takes(algorithm):
    """The first rows of all are measured as well, along directions that are not from them."""
    for count in (50, 98, 130):
        assert 0.06 < np.mean(shares_above(algorithm, count, 0.9)) < 0.11
    assert np.mean(shares_above(algorithm, 99, 0.99)) < 0.02
    with pytest.warns(onepass.OnepassWarning, match="at least 99 rows .* 98"):
        assert np.isnan(fitted(algorithm, X[:98]).error_threshold(0.99))


@EVERY
def test_a_threshold_holds_for_new_rows_after_a_short_stream(algorithm):
    assert 0.02 < np.mean(shares_above(algorithm, 250, 0.9)) < 0.12
    assert np.mean(shares_above(algorithm, 250, 0.99)) < 0.02


def test_as_many_components_as_rows_leave_no_errors_to_measure():
    with pytest.warns(onepass.OnepassWarning, match="there are 0"):
        assert np.isnan(onepass.ERM(3).fit(X[:4]).error_threshold(0.5))


@pytest.mark.parametrize("offset", [1e3, 1e6])
@EVERY
def test_sparse_rows_about_a_far_mean_score_as_dense_ones(algorithm, offset):
    rows = X[:600] + offset * (np.arange(D) < 6)
    model = fitted(algorithm, rows)
    thin = sparse.csr_array(rows)
    tolerance = 1e-14 * offset
    assert model.score(thin) == pytest.approx(model.score(rows), rel=tolerance)
    np.testing.assert_allclose(model.transform(thin), model.transform(rows), atol=30 * tolerance)
    errors = model.reconstruction_error(rows)
    np.testing.assert_allclose(model.reconstruction_error(thin), errors, rtol=1e-9)
