"""Rows on their way to an algorithm: the mean moves past them, and they wait for a chunk."""

import copy

import numpy as np
import pytest
from scipy import sparse

from onepass.algorithms.centred import Mean, MixedRows, centred
from onepass.stream import RowBuffer, Stream

RNG = np.random.default_rng(0)
ROWS, WEIGHTS = RNG.normal(size=(30, 4)) + 5, RNG.uniform(0.5, 2, 30)
KINDS = [np.asarray, sparse.csr_array]


def mean_of(rows, weights, kind=np.asarray):
    """Return the mean of rows that come in three parts."""
    mean = Mean(4)
    for part in np.array_split(np.arange(len(rows)), 3):
        centred(kind(rows[part]), weights[part], mean, center=True)
    return mean


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_is_that_of_all_rows(kind):
    mean = mean_of(ROWS, WEIGHTS, kind)
    np.testing.assert_allclose(mean.vector, WEIGHTS @ ROWS / WEIGHTS.sum(), rtol=1e-13)
    assert mean.weight == pytest.approx(WEIGHTS.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_moment_of_centred_rows_is_the_scatter(kind):
    mean, total = Mean(4), np.zeros((4, 4))
    for part in np.array_split(np.arange(30), 3):
        learned = centred(kind(ROWS[part]), WEIGHTS[part], mean, center=True)
        dense = np.eye(len(learned)) @ learned
        np.testing.assert_allclose(learned @ np.eye(4), dense)
        total += dense.T @ dense
    apart = ROWS - WEIGHTS @ ROWS / WEIGHTS.sum()
    np.testing.assert_allclose(total, apart.T @ (WEIGHTS[:, None] * apart), rtol=1e-10)


def test_parts_of_sparse_rows_are_the_rows():
    mean = mean_of(ROWS, WEIGHTS)
    rows = centred(sparse.csr_array(ROWS), WEIGHTS, mean, center=True)
    whole = np.asarray(rows)
    for part in (slice(0, 7), slice(7, 19), slice(19, None), slice(5, 5)):
        assert len(rows[part]) == len(whole[part])
        np.testing.assert_allclose(np.asarray(rows[part]), whole[part], atol=1e-13)
        np.testing.assert_allclose(rows[part].gram(), whole[part] @ whole[part].T, atol=1e-11)
    again = rows[7:19][2:5]
    np.testing.assert_allclose(np.asarray(again), whole[9:12], atol=1e-13)
    plain = MixedRows(sparse.csr_array(ROWS))[3:9]
    np.testing.assert_array_equal(np.asarray(plain), ROWS[3:9])


def test_rows_that_are_all_the_same_are_the_mean_to_the_last_bit():
    rows = np.tile(RNG.normal(size=4) * 1e8 / 3, (30, 1))
    np.testing.assert_array_equal(mean_of(rows, WEIGHTS).vector, rows[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("room", [0, 7, 64])
def test_rows_wait_in_order_and_are_copied(kind, room):
    buffer = RowBuffer(Stream(4, np.dtype(float), kind is not np.asarray, True))
    given = ROWS.copy()
    for part in np.array_split(np.arange(30), 7):
        rows = kind(given[part])
        buffer.add(rows, WEIGHTS[part], room)
        rows *= 0.0
    twin = buffer.copy()
    twin.add(kind(ROWS[:2]), WEIGHTS[:2], room)
    other = RowBuffer(buffer.stream)
    other.restore(*buffer.saved())
    for each in (buffer, other):
        rows, weights = each.content()
        assert each.count == 30
        np.testing.assert_array_equal(rows @ np.eye(4), ROWS)
        np.testing.assert_array_equal(weights, WEIGHTS)
    assert twin.count == twin.content()[0].shape[0] == 32
    other = buffer.copy()
    buffer.clear()
    assert buffer.count == buffer.content()[0].shape[0] == len(buffer.content()[1]) == 0
    buffer.add(kind(ROWS[5:8]), None, room)
    np.testing.assert_array_equal(buffer.content()[0] @ np.eye(4), ROWS[5:8])
    np.testing.assert_array_equal(buffer.content()[1], 1.0)
    np.testing.assert_array_equal(other.content()[0] @ np.eye(4), ROWS)
    empty = RowBuffer(buffer.stream)
    assert empty.content()[0].shape == (0, 4)
    assert empty.count == len(empty.content()[1]) == 0


def test_merged_means_are_that_of_all_rows():
    one, other = mean_of(ROWS[:9], WEIGHTS[:9]), mean_of(ROWS[9:], WEIGHTS[9:])
    row = one.row_between(other)
    shares = WEIGHTS[:9].sum(), WEIGHTS[9:].sum()
    apart = other.vector - one.vector
    wanted = shares[0] * shares[1] / sum(shares) * np.outer(apart, apart)
    np.testing.assert_allclose(np.outer(row, row), wanted, rtol=1e-12)
    one.merge(other)
    np.testing.assert_allclose(one.vector, WEIGHTS @ ROWS / WEIGHTS.sum(), rtol=1e-13)
    assert one.weight == pytest.approx(WEIGHTS.sum())


def test_means_of_nothing_merge():
    empty, other = Mean(4), mean_of(ROWS, WEIGHTS)
    np.testing.assert_array_equal(empty.row_between(Mean(4)), np.zeros(4))
    empty.merge(Mean(4))
    assert empty.weight == 0.0
    empty.merge(other)
    np.testing.assert_allclose(empty.vector, other.vector)
    assert empty.weight == other.weight


def test_copies_and_saved_means_are_the_same_and_independent():
    mean, loaded = mean_of(ROWS, WEIGHTS), Mean(4)
    loaded.restore(*mean.saved())
    before = mean.vector.copy()
    for twin in (mean.copy(), loaded):
        np.testing.assert_array_equal(twin.vector, mean.vector)
        assert twin.weight == mean.weight
        centred(ROWS, WEIGHTS, twin, center=True)
        np.testing.assert_array_equal(mean.vector, before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_that_shares_the_memory_is_cleared_without_harm(kind):
    buffer = RowBuffer(Stream(4, np.dtype(float), kind is not np.asarray, True))
    buffer.add(kind(ROWS[:20]), WEIGHTS[:20], 64)
    twin = copy.copy(buffer)
    twin.add(kind(ROWS[20:]), WEIGHTS[20:], 64)
    twin.clear()
    twin.add(kind(-ROWS[:25]), None, 64)
    rows, weights = buffer.content()
    np.testing.assert_array_equal(rows @ np.eye(4), ROWS[:20])
    np.testing.assert_array_equal(weights, WEIGHTS[:20])
    np.testing.assert_array_equal(twin.content()[0] @ np.eye(4), -ROWS[:25])
