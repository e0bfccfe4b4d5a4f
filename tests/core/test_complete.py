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
    rows = np.where(np.isnan(rows[[*range(12), 3, 3, 0]]), np.nan, rows_with_gaps(model, 15, 0.0))
    weights = np.random.default_rng(2).random(15)
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


def test_single_precision():
    model = a_model(20, 5)
    rows = rows_with_gaps(model, 30, 0.3).astype(np.float32)
    got, wanted = _core.complete(rows, *model), [w.row for w in expected(rows, model)]
    assert got.rows.dtype == np.float32
    np.testing.assert_allclose(got.rows, wanted, rtol=1e-5, atol=1e-5)


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
