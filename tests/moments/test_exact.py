"""The second moment as a matrix: that of all rows about their mean, however they came."""

import numpy as np
import pytest

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
        moment.add(rows[part], weights[part], mean, center)
        other = Mean(D)
        other.weight = float(weights[part].sum())
        other.vector = weights[part] @ rows[part] / other.weight
        mean.merge(other)
    return moment, mean


def dense(moment):
    """Return the whole matrix, of which only a triangle is kept."""
    return moment.compress(np.eye(D))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weights", [WEIGHTS, np.ones(40)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_scatter_of_all_rows(center, weights, dtype):
    rows = ROWS.astype(dtype)
    moment, _ = moment_of(rows, weights, center)
    _, wanted = reference.scatter(rows.astype(float), weights, center=center)
    np.testing.assert_allclose(dense(moment), wanted, atol=1e-10 * np.trace(wanted))
    assert moment.energy == pytest.approx(np.trace(wanted))


@pytest.mark.parametrize("center", [False, True])
def test_merged_moments_are_that_of_all_rows(center):
    (one, first), (other, second) = (
        moment_of(ROWS[part], WEIGHTS[part], center) for part in (slice(0, 15), slice(15, 40))
    )
    kept = dense(other)
    one.merge(other, first.between(second) if center else None)
    _, wanted = reference.scatter(ROWS, WEIGHTS, center=center)
    np.testing.assert_allclose(dense(one), wanted, atol=1e-10 * np.trace(wanted))
    np.testing.assert_array_equal(dense(other), kept)


def test_leading_pairs_are_those_of_the_matrix():
    moment, _ = moment_of(ROWS, WEIGHTS, True)
    _, S = reference.scatter(ROWS, WEIGHTS, center=True)
    values, vectors = np.linalg.eigh(S)
    for k in (1, 3, D):
        directions, sums = moment.leading(k)
        assert directions.shape == (k, D)
        assert directions.flags.c_contiguous
        np.testing.assert_allclose(sums, values[::-1][:k])
        np.testing.assert_allclose(
            np.abs(directions @ vectors[:, ::-1][:, :k]), np.eye(k), atol=1e-9
        )
        np.testing.assert_allclose(moment.compress(directions), np.diag(sums), atol=1e-9 * sums[0])


def test_no_sum_is_negative():
    rows = np.tile(ROWS[0], (40, 1))
    moment, _ = moment_of(rows, np.ones(40), True)
    assert (moment.leading(D)[1] >= 0).all()
    assert moment.energy == pytest.approx(0, abs=1e-10)


def test_what_fades_counts_less():
    moment, _ = moment_of(ROWS, WEIGHTS, False)
    before = dense(moment)
    moment.fade(0.25)
    np.testing.assert_allclose(dense(moment), 0.25 * before)


def loaded(moment):
    again = ExactMoment(D)
    again.restore(moment.saved())
    return again


@pytest.mark.parametrize("again", [ExactMoment.copy, loaded])
def test_copies_and_states_are_the_same_and_independent(again):
    moment, mean = moment_of(ROWS, WEIGHTS, True)
    twin = again(moment)
    np.testing.assert_array_equal(dense(twin), dense(moment))
    before = dense(moment)
    for one in (twin, again(moment)):
        one.add(ROWS, WEIGHTS, mean, True)
        one.fade(0.5)
        np.testing.assert_array_equal(dense(moment), before)
    assert moment.saved()["triangle"].shape == (D * (D + 1) // 2,)


def test_rows_that_are_given_stay_as_they_are():
    given = ROWS.copy()
    moment_of(given, WEIGHTS, True)
    moment_of(given, WEIGHTS, False)
    np.testing.assert_array_equal(given, ROWS)
