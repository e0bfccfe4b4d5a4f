"""The second moment as a matrix: that of all rows about their mean, however they came."""

import numpy as np
import pytest

from onepass.learning.stream import weigh
from onepass.moments.accumulator import Mean
from onepass.moments.exact import ExactMoment
from tests import reference

D = 6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, D)) * np.linspace(3, 0.5, D) + 20
WEIGHTS = RNG.uniform(0.5, 2, 40)


def moment_of(rows, weights, center):
    """Return moment and mean of rows that are added in three parts."""
    moment, mean = ExactMoment(D), Mean(D)
    for part in np.array_split(np.arange(len(rows)), 3):
        moment.add(weigh(rows[part], weights[part], mean, center))
    return moment, mean


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weights", [WEIGHTS, np.ones(40)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_scatter_of_all_rows(center, weights, dtype):
    rows = ROWS.astype(dtype)
    moment, _ = moment_of(rows, weights, center)
    _, wanted = reference.scatter(rows.astype(float), weights, center=center)
    tolerance = 1e-10 if dtype is np.float64 else 1e-7
    np.testing.assert_allclose(moment.matrix, wanted, atol=tolerance * np.trace(wanted))
    assert moment.energy == pytest.approx(np.trace(wanted), rel=tolerance)
    assert moment.matrix.dtype == np.float64


@pytest.mark.parametrize("center", [False, True])
def test_merged_moments_are_that_of_all_rows(center):
    (one, first), (other, second) = (
        moment_of(ROWS[part], WEIGHTS[part], center) for part in (slice(0, 15), slice(15, 40))
    )
    kept = other.matrix.copy()
    one.merge(other, first.between(second))
    _, wanted = reference.scatter(ROWS, WEIGHTS, center=center)
    np.testing.assert_allclose(one.matrix, wanted, atol=1e-10 * np.trace(wanted))
    np.testing.assert_array_equal(other.matrix, kept)


def test_along_directions():
    moment, _ = moment_of(ROWS, WEIGHTS, True)
    _, S = reference.scatter(ROWS, WEIGHTS, center=True)
    directions = RNG.normal(size=(3, D))
    np.testing.assert_allclose(moment.compress(directions), directions @ S @ directions.T)


def test_rows_that_are_all_the_same_have_none():
    moment, _ = moment_of(np.tile(ROWS[0], (40, 1)), np.ones(40), True)
    np.testing.assert_array_equal(moment.matrix, np.zeros((D, D)))


def loaded(moment):
    again = ExactMoment(D)
    again.restore(moment.saved())
    return again


@pytest.mark.parametrize("again", [ExactMoment.copy, loaded])
def test_copies_and_states_are_the_same_and_independent(again):
    moment, _ = moment_of(ROWS, WEIGHTS, True)
    before, twin = moment.matrix.copy(), again(moment)
    np.testing.assert_array_equal(twin.matrix, before)
    twin.add(ROWS)
    np.testing.assert_array_equal(moment.matrix, before)
    assert moment.saved()["triangle"].shape == (D * (D + 1) // 2,)
