"""Completed rows are conditional means, and their squares include the conditional covariances."""

import numpy as np
import pytest

from onepass.gaps.completion import CompletedChunk, Filled
from onepass.gaps.counts import MissingCounts
from onepass.gaps.factor_model import FactorModel
from onepass.moments.chunk import chunk_about
from onepass.moments.exact import SecondMoment
from tests import reference

RNG = np.random.default_rng(0)
N, D, R = 30, 6, 2
MODEL = FactorModel(RNG.normal(size=D), RNG.normal(size=(D, R)), RNG.uniform(0.5, 2.0, D))
ORIGIN, WEIGHTS = RNG.normal(size=D), RNG.uniform(0.0, 2.0, N)
ROWS = RNG.normal(size=(N, D))
ROWS[RNG.random((N, D)) < 0.3] = np.nan
ROWS[:5] = 1.0  # without gaps
WEIGHTS[7] = 0.0


def conditional(row):
    """Return mean and covariance of a row, given what is observed of it."""
    covariance = MODEL.loadings @ MODEL.loadings.T + np.diag(MODEL.noise)
    return reference.complete(row, MODEL.mean, covariance)[:2]


def completed(scale):
    """Return all rows, completed."""
    values, filled = Filled.by(MODEL, ROWS)
    return CompletedChunk(values, WEIGHTS, ORIGIN, scale, filled=filled)


@pytest.mark.parametrize("part", [slice(None), slice(3, 20)], ids=["all", "part"])
@pytest.mark.parametrize("scale", [None, np.arange(1.0, 1.0 + D)], ids=["plain", "scaled"])
def test_squares_are_expected_ones(scale, part):
    units = np.ones(D) if scale is None else scale
    rows, weights = completed(scale)[part], WEIGHTS[part]
    expected = []
    for row in ROWS[part]:
        mean, spread = conditional(row)
        x = (mean - ORIGIN) / units
        expected.append(np.outer(x, x) + spread / np.outer(units, units))
    sums = np.einsum("i,ijk->jk", weights, expected)
    matrix = np.zeros((D, D), order="F")
    rows.add_outer(weights, matrix)
    np.testing.assert_allclose(np.tril(matrix), np.tril(sums), atol=1e-10)
    np.testing.assert_allclose(rows.column_squares(weights), sums.diagonal(), atol=1e-10)
    np.testing.assert_allclose(rows.energies, [each.trace() for each in expected], atol=1e-10)


@pytest.mark.parametrize("scale", [None, np.arange(1.0, 1.0 + D)], ids=["plain", "scaled"])
def test_distances_include_what_is_not_known_and_errors_leave_it_out(scale):
    units = np.ones(D) if scale is None else scale
    rows = completed(scale)
    point, directions = RNG.normal(size=D), np.linalg.qr(RNG.normal(size=(D, 2)))[0].T
    known = chunk_about(rows.values, WEIGHTS, ORIGIN, scale).measure(point, directions)
    distances, errors = rows.measure(point, directions)
    for i, row in enumerate(ROWS):
        mean, spread = conditional(row)
        x = (mean - ORIGIN) / units - point
        rest = (x - directions.T @ directions @ x)[~np.isnan(row)]
        assert distances[i] - known[0][i] == pytest.approx((spread / units**2).trace(), abs=1e-10)
        assert errors[i] == pytest.approx(rest @ rest)


@pytest.mark.parametrize("scale", [None, np.linspace(0.1, 10.0, 40)], ids=["plain", "scaled"])
def test_a_shrunk_model_varies_along_its_directions_as_new_rows_do(scale):
    d, n, variances = 40, 120, np.r_[20.0, 8.0]
    units = np.ones(d) if scale is None else scale
    rng = np.random.default_rng(1)
    ratios, noises = [], []
    for _ in range(20):
        truth = np.linalg.qr(rng.normal(size=(d, 2)))[0]
        X = rng.normal(size=(n, 2)) * np.sqrt(variances) @ truth.T + rng.normal(size=(n, d))
        moment = SecondMoment(d)
        moment.add(chunk_about(X * units, np.ones(n), np.zeros(d)), np.ones(n))
        counts = MissingCounts(d, n)
        counts.count(X * units)
        found = FactorModel.of(moment, counts, 2, scale)
        model = found.shrunk(n)
        assert model.loadings.shape[1] <= 3  # of twelve directions, ten are noise
        spread = (found.loadings**2).sum(axis=1) + found.noise
        np.testing.assert_allclose((model.loadings**2).sum(axis=1) + model.noise, spread)
        W = model.loadings[:, :2] / units[:, None]
        squares = (W**2).sum(axis=0)
        along = ((truth.T @ (W / np.sqrt(squares))) ** 2 * variances[:, None]).sum(axis=0)
        ratios.append(squares / along)  # of what new rows vary there
        noises.append([(each.noise / units**2).mean() for each in (found, model)])
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1.0, atol=0.1)
    before, after = np.mean(noises, axis=0)
    assert before < 0.75
    assert abs(after - 1.0) < 0.05


def test_a_model_of_many_rows_stays_and_one_of_noise_predicts_means():
    many = MODEL.shrunk(1e12)
    np.testing.assert_allclose(
        many.loadings @ many.loadings.T, MODEL.loadings @ MODEL.loadings.T, rtol=1e-5
    )
    noise = FactorModel(np.zeros(D), 0.1 * MODEL.loadings, np.ones(D)).shrunk(20.0)
    assert not noise.loadings.any()
    assert noise.loadings.shape == (D, 1)
    np.testing.assert_allclose(noise.noise, 1.0 + 0.01 * (MODEL.loadings**2).sum(axis=1))


def test_draws_have_the_conditional_distribution():
    mean, spread = conditional(ROWS[9])
    drawn = MODEL.drawn(np.tile(ROWS[9], (20_000, 1)), seed=0)
    seen = ~np.isnan(ROWS[9])
    np.testing.assert_array_equal(drawn[:, seen], np.tile(ROWS[9, seen], (20_000, 1)))
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), spread, atol=0.1)
