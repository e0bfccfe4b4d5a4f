"""Rows centred as they come."""

import itertools

import numpy as np
import pytest

from onepass import _core
from tests import reference


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equals_the_reference_however_the_rows_are_split(dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 7)).astype(dtype)
    weights = rng.uniform(0.5, 2.0, 50)
    wanted = reference.weigh(rows.astype(float), weights, center=True)
    tolerance = 1e-13 if dtype == np.float64 else 1e-6
    for cuts in ([0, 50], [0, 1, 2, 30, 30, 50]):
        mean, weight, parts = np.full(7, 9.0), 0.0, []  # any mean of no rows
        for start, stop in itertools.pairwise(cuts):
            given = mean.copy()
            centred, after, weight = _core.centre(
                rows[start:stop], weights[start:stop], mean, weight
            )
            assert np.array_equal(mean, given)
            assert centred.dtype == dtype
            parts.append(centred)
            mean = after
        np.testing.assert_allclose(np.vstack(parts), wanted, atol=tolerance)
        np.testing.assert_allclose(mean, np.average(rows, axis=0, weights=weights), atol=1e-14)
        assert weight == pytest.approx(weights.sum())


def test_a_mean_far_away_costs_no_digits():
    rng = np.random.default_rng(1)
    deviations = rng.integers(-8, 9, (200, 5)).astype(float)
    rows = 2.0**40 + deviations
    centred, mean, _ = _core.centre(rows, np.ones(200), np.zeros(5), 0.0)
    near, near_mean, _ = _core.centre(deviations, np.ones(200), np.zeros(5), 0.0)
    np.testing.assert_allclose(centred, near, atol=1e-12)
    np.testing.assert_allclose(mean - 2.0**40, near_mean, atol=2e-4)
