"""Rows with gaps against a normal distribution that is conditioned on what is observed."""

import numpy as np
import pytest

from onepass import _core
from tests import reference


def a_model(d, r, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(d, r)) * np.linspace(3, 1, r)
    return rng.normal(size=d), loadings, noise * rng.uniform(0.5, 2.0, d)


def rows_with_gaps(model, n, missing, seed=1):
    mean, loadings, noise = model
    rng = np.random.default_rng(seed)
    rows = mean + rng.normal(size=(n, loadings.shape[1])) @ loadings.T
    rows += rng.normal(size=rows.shape) * np.sqrt(noise)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def expected(rows, model):
    mean, loadings, noise = model
    covariance = loadings @ loadings.T + np.diag(noise)
    return [reference.complete(row.astype(np.float64), mean, covariance) for row in rows]


@pytest.mark.parametrize(("d", "r"), [(1, 1), (6, 2), (23, 7), (40, 18), (5, 0), (9, 9)])
@pytest.mark.parametrize("missing", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_equals_conditioning_row_by_row(d, r, missing):
    model = a_model(d, r)
    rows = rows_with_gaps(model, 12, missing)
    weights = np.random.default_rng(2).random(12)
    before = np.random.default_rng(3).random((d, d))
    sums = before.copy()
    got = _core.complete(
        rows, *model, weights=weights, covariance=sums, variances=True, likelihood=True
    )
    wanted = expected(rows, model)
    np.testing.assert_allclose(got.rows, [w.row for w in wanted], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(got.rows[~np.isnan(rows)], rows[~np.isnan(rows)])
    left = np.array([w.covariance for w in wanted])
    diagonals = np.einsum("nii->ni", left)
    np.testing.assert_allclose(got.variances, diagonals, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(got.log_determinants, [w.log_determinant for w in wanted], atol=1e-8)
    np.testing.assert_allclose(got.distances, [w.distance for w in wanted], rtol=1e-7)
    total = before + np.triu(np.einsum("n,nij->ij", weights, left))
    np.testing.assert_allclose(sums, total, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(np.tril(sums, -1), np.tril(before, -1))


def test_a_column_without_noise_is_constant():
    mean, loadings, noise = a_model(6, 2)
    loadings[3], noise[3] = 0.0, 0.0
    rows, others = rows_with_gaps((mean, loadings, noise), 20, 0.3), np.arange(6) != 3
    got = _core.complete(rows, mean, loadings, noise, variances=True, likelihood=True)
    left = mean[others], np.ascontiguousarray(loadings[others]), noise[others]
    wanted = _core.complete(np.ascontiguousarray(rows[:, others]), *left, likelihood=True)
    np.testing.assert_array_equal(got.rows[:, 3], mean[3])
    np.testing.assert_array_equal(got.variances[:, 3], 0.0)
    np.testing.assert_allclose(got.rows[:, others], wanted.rows)
    np.testing.assert_allclose(got.log_determinants, wanted.log_determinants)


def test_rows_with_the_same_gaps_share_their_work():
    """Test that repeated patterns, which are conditioned once, change nothing."""
    model = a_model(11, 4)
    patterns = rows_with_gaps(model, 3, 0.4)
    rows = np.where(np.isnan(patterns[[0, 0, 1, 1, 1, 2, 0]]), np.nan, rows_with_gaps(model, 7, 0))
    weights, sums = np.arange(1.0, 8.0), np.zeros((11, 11))
    got = _core.complete(rows, *model, weights=weights, covariance=sums, likelihood=True)
    one_by_one = np.zeros((11, 11))
    for t in range(7):
        one = _core.complete(
            rows[t : t + 1], *model, weights=weights[t : t + 1], covariance=one_by_one,
            likelihood=True,
        )  # fmt: skip
        np.testing.assert_array_equal(got.rows[t], one.rows[0])
        assert got.distances[t] == one.distances[0]
    np.testing.assert_allclose(sums, one_by_one, rtol=1e-13, atol=1e-15)


def test_only_what_is_asked_for_comes_back():
    model = a_model(6, 2)
    rows = rows_with_gaps(model, 4, 0.3)
    got = _core.complete(rows, *model)
    assert got.variances is None
    assert got.log_determinants is None
    assert got.distances is None
    unweighted, ones = np.zeros((6, 6)), np.zeros((6, 6))
    _core.complete(rows, *model, covariance=unweighted)
    _core.complete(rows, *model, covariance=ones, weights=np.ones(4))
    np.testing.assert_array_equal(unweighted, ones)


def test_single_precision():
    model = a_model(20, 5)
    rows = rows_with_gaps(model, 30, 0.3).astype(np.float32)
    got = _core.complete(rows, *model, variances=True)
    assert got.rows.dtype == got.variances.dtype == np.float32
    np.testing.assert_allclose(
        got.rows, [w.row for w in expected(rows, model)], rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(got.rows[~np.isnan(rows)], rows[~np.isnan(rows)])


@pytest.mark.parametrize("noise", [1e-6, 1e-12])
def test_a_model_with_little_noise(noise):
    """Test where the sum over missing entries would take most digits of that over all of them."""
    d, r = 30, 4
    model = a_model(d, r)
    model[1][:3] *= 1e3  # these columns have nearly all that says something of z
    model[2][:3] *= noise
    rows = rows_with_gaps(model, 20, 0.0)
    rows[:, :3] = np.nan
    got = _core.complete(rows, *model)
    mean, loadings, psi = model
    weighted = loadings[3:] / np.sqrt(psi[3:, None])
    deviations = (rows[:, 3:] - mean[3:]) / np.sqrt(psi[3:])
    augmented = np.vstack([weighted, np.eye(r)])  # the mean of z is a ridge regression
    z = np.linalg.lstsq(augmented, np.hstack([deviations, np.zeros((20, r))]).T, rcond=None)[0].T
    filled = mean[:3] + z @ loadings[:3].T
    np.testing.assert_allclose(got.rows[:, :3], filled, rtol=1e-6, atol=1e-6 * np.abs(filled).max())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": np.zeros(4)}, "mean has 4 entries, but 5 are needed"),
        ({"loadings": np.zeros((4, 2))}, "loadings have 4 rows, and the rows 5 columns"),
        ({"noise": np.ones(6)}, "noise has 6 entries, but 5 are needed"),
        ({"weights": np.ones(2)}, "weights has 2 entries, but 3 are needed"),
        ({"covariance": np.zeros((5, 4))}, "a row and a column for each column"),
    ],
)
def test_arguments_that_do_not_fit(changes, message):
    fitting = {
        "rows": np.full((3, 5), np.nan), "mean": np.zeros(5), "loadings": np.ones((5, 2)),
        "noise": np.ones(5),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.complete(**fitting | changes)
