"""Completed rows are conditional means, and their squares include the conditional covariances."""

import numpy as np
import pytest

from onepass.rows.completion import Completed, FactorModel
from onepass.rows.rows import rows_about

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
    seen = ~np.isnan(row)
    mean, spread = np.where(seen, row, 0.0), np.zeros((D, D))
    solved = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, ~seen)])
    mean[~seen] = MODEL.mean[~seen] + (row - MODEL.mean)[seen] @ solved
    spread[np.ix_(~seen, ~seen)] = (
        covariance[np.ix_(~seen, ~seen)] - covariance[np.ix_(~seen, seen)] @ solved
    )
    return mean, spread


@pytest.mark.parametrize("part", [slice(None), slice(3, 20)], ids=["all", "part"])
@pytest.mark.parametrize("scale", [None, np.arange(1.0, 1.0 + D)], ids=["plain", "scaled"])
def test_squares_are_expected_ones(scale, part):
    units = np.ones(D) if scale is None else scale
    given, weights = Completed.by(MODEL, ROWS)[part], WEIGHTS[part]
    rows = rows_about(given, weights, ORIGIN, scale)
    expected = []
    for row in ROWS[part]:
        mean, spread = conditional(row)
        x = (mean - ORIGIN) / units
        expected.append(np.outer(x, x) + spread / np.outer(units, units))
    sums = np.einsum("i,ijk->jk", weights, expected)
    if scale is None:  # exact second moments are those of rows that are not scaled
        matrix = np.zeros((D, D), order="F")
        rows.add_outer(weights, matrix)
        np.testing.assert_allclose(np.tril(matrix), np.tril(sums), atol=1e-10)
    np.testing.assert_allclose(rows.column_squares(weights), sums.diagonal(), atol=1e-10)
    np.testing.assert_allclose(rows.energies, [each.trace() for each in expected], atol=1e-10)
