"""The running mean: what all rows together give, in any parts and from any origin."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments.mean import Mean

RNG = np.random.default_rng(0)
ROWS, WEIGHTS = RNG.normal(size=(30, 4)) + 5, RNG.uniform(0.5, 2, 30)


def mean_of(rows, weights, origin=None):
    """Return the mean of rows that are added in three parts."""
    mean = Mean(4)
    for part in np.array_split(np.arange(len(rows)), 3):
        near = mean.origin(rows[part]) if origin is None else origin
        total = weights[part] @ (rows[part] - near)
        mean.add(total, float(weights[part].sum()), near)
    return mean


@pytest.mark.parametrize("origin", [None, np.zeros(4), np.full(4, -3.0)])
def test_parts_add_up(origin):
    mean = mean_of(ROWS, WEIGHTS, origin)
    np.testing.assert_allclose(mean.vector, WEIGHTS @ ROWS / WEIGHTS.sum(), rtol=1e-13)
    assert mean.weight == pytest.approx(WEIGHTS.sum())


def test_nothing_adds_nothing():
    mean = mean_of(ROWS, WEIGHTS)
    before = mean.vector
    mean.add(np.ones(4), 0.0, np.ones(4))
    assert mean.vector is before


def test_the_origin_is_near_the_rows():
    mean = Mean(4)
    first = mean.origin(ROWS.astype(np.float32))
    np.testing.assert_array_equal(first, ROWS.astype(np.float32)[0])
    assert first.dtype == np.float64
    np.testing.assert_array_equal(mean.origin(sparse.csr_array(ROWS)), np.zeros(4))
    mean = mean_of(ROWS, WEIGHTS)
    assert mean.origin(ROWS) is mean.vector


def test_rows_that_are_all_the_same_are_the_mean_to_the_last_bit():
    rows = np.tile(RNG.normal(size=4) * 1e8 / 3, (30, 1))
    np.testing.assert_array_equal(mean_of(rows, WEIGHTS).vector, rows[0])


def test_merged_means_are_that_of_all_rows():
    one, other = mean_of(ROWS[:9], WEIGHTS[:9]), mean_of(ROWS[9:], WEIGHTS[9:])
    between = one.between(other)
    shares = WEIGHTS[:9].sum(), WEIGHTS[9:].sum()
    apart = other.vector - one.vector
    wanted = shares[0] * shares[1] / sum(shares) * np.outer(apart, apart)
    np.testing.assert_allclose(np.outer(between, between), wanted, rtol=1e-12)
    one.merge(other)
    np.testing.assert_allclose(one.vector, WEIGHTS @ ROWS / WEIGHTS.sum(), rtol=1e-13)
    assert one.weight == pytest.approx(WEIGHTS.sum())


def test_means_of_nothing_merge():
    empty, other = Mean(4), mean_of(ROWS, WEIGHTS)
    np.testing.assert_array_equal(empty.between(Mean(4)), np.zeros(4))
    empty.merge(Mean(4))
    assert empty.weight == 0.0
    empty.merge(other)
    np.testing.assert_allclose(empty.vector, other.vector)
    assert empty.weight == other.weight


def test_a_faded_mean_counts_less():
    mean = mean_of(ROWS, np.ones(30))
    before = mean.vector
    mean.fade(0.5)
    np.testing.assert_array_equal(mean.vector, before)
    mean.add(np.full(4, 3.0), 1.0, np.zeros(4))
    np.testing.assert_allclose(mean.vector, (15 * before + 3) / 16)


def test_copies_and_states_are_the_same_and_independent():
    mean = mean_of(ROWS, WEIGHTS)
    for twin in (mean.copy(), Mean.from_state(mean.state())):
        np.testing.assert_array_equal(twin.vector, mean.vector)
        assert twin.weight == mean.weight
        before = mean.vector.copy()
        twin.add(np.ones(4), 5.0, np.zeros(4))
        np.testing.assert_array_equal(mean.vector, before)
    assert mean.state().keys() == {"weight", "vector"}
