"""The second moment as a matrix: that of all rows about their mean, however they came."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments.chunk import chunk_about
from onepass.moments.exact import SecondMoment, sums_about_mean
from tests import reference

N, D = 40, 6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, D)) * np.linspace(3, 0.5, D) + 20
WEIGHTS = RNG.uniform(0.5, 2, N)
SCALE = RNG.uniform(0.5, 2, D)
CENTER = pytest.mark.parametrize("center", [False, True])
KINDS = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])


def moment_of(rows, weights=WEIGHTS, center=True, kind=np.asarray, parts=3):
    """Return the moment of rows that come in parts, each about a point near its rows."""
    moment = SecondMoment(D, center)
    for part in np.array_split(np.arange(len(rows)), parts):
        origin = rows[part[0]].astype(float) if center else np.zeros(D)
        moment.add(chunk_about(kind(rows[part]), weights[part], origin), weights[part])
    return moment


def assert_scatter(moment, rows, weights, center=True, tolerance=1e-12):
    """Demand mean, weight and scatter of rows, and everything that is read from them."""
    mean, S = reference.scatter(rows, weights, center=center)
    size = tolerance * np.trace(S)
    np.testing.assert_allclose(moment.mean, mean, rtol=tolerance)
    assert moment.weight == pytest.approx(weights.sum())
    np.testing.assert_allclose(moment.times(np.eye(D)), S, rtol=0, atol=size)
    np.testing.assert_allclose(moment.column_sums(), np.diag(S), rtol=0, atol=size)
    assert moment.energy() == pytest.approx(np.trace(S), rel=tolerance)


@CENTER
@KINDS
@pytest.mark.parametrize("weights", [WEIGHTS, np.ones(N), 1e-3 * WEIGHTS])
@pytest.mark.parametrize("parts", [1, 3, N])
def test_it_is_the_scatter_of_all_rows(center, kind, weights, parts):
    moment = moment_of(ROWS, weights, center, kind, parts)
    assert_scatter(moment, ROWS, weights, center)


@CENTER
@KINDS
def test_single_precision(center, kind):
    rows = ROWS.astype(np.float32)
    moment = moment_of(rows, WEIGHTS, center, kind)
    assert_scatter(moment, rows.astype(float), WEIGHTS, center, 1e-6)


@pytest.mark.parametrize("step", [0.0, 1.0, 1e3, -7.5])
def test_moved_to_another_point_it_is_the_same(step):
    moment = moment_of(ROWS)
    point = moment.origin + step * np.linspace(1, 2, D)
    moment.move(point)
    np.testing.assert_array_equal(moment.origin, point)
    near = ROWS - point
    np.testing.assert_allclose(moment.total, WEIGHTS @ near, rtol=1e-10)
    np.testing.assert_allclose(
        np.tril(moment.squares), np.tril(near.T @ (WEIGHTS[:, None] * near)), rtol=1e-10
    )
    assert_scatter(moment, ROWS, WEIGHTS, tolerance=1e-12 * max(1.0, step**2))


@CENTER
def test_merged_moments_are_that_of_all_rows(center):
    one, other = (
        moment_of(ROWS[part], WEIGHTS[part], center) for part in (slice(0, 15), slice(15, N))
    )
    kept = other.origin.copy(), other.total.copy(), other.squares.copy(), other.weight
    one.merge(other)
    assert_scatter(one, ROWS, WEIGHTS, center)
    for value, before in zip(
        (other.origin, other.total, other.squares, other.weight), kept, strict=True
    ):
        np.testing.assert_array_equal(value, before)


def test_merging_with_an_empty_one_changes_nothing():
    moment = moment_of(ROWS)
    squares = moment.squares.copy()
    moment.merge(SecondMoment(D))
    np.testing.assert_array_equal(moment.squares, squares)
    empty = SecondMoment(D)
    empty.merge(moment)
    np.testing.assert_array_equal(empty.squares, squares)
    np.testing.assert_array_equal(empty.mean, moment.mean)
    empty.add(chunk_about(ROWS, WEIGHTS, ROWS[0]), WEIGHTS)
    np.testing.assert_array_equal(moment.squares, squares)


@CENTER
@pytest.mark.parametrize("scale", [None, SCALE])
def test_everything_is_read_in_the_units_of_a_scale(center, scale):
    moment = moment_of(ROWS, WEIGHTS, center)
    divided = ROWS if scale is None else ROWS / scale
    _, S = reference.scatter(divided, WEIGHTS, center=center)
    size = 1e-12 * np.trace(S)
    directions = np.linalg.qr(RNG.normal(size=(D, 3)))[0].T
    np.testing.assert_allclose(moment.times(np.eye(D), scale), S, rtol=0, atol=size)
    np.testing.assert_allclose(
        moment.compress(directions, scale), directions @ S @ directions.T, rtol=0, atol=size
    )
    assert moment.energy(scale) == pytest.approx(np.trace(S))
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(moment.spectrum(scale), values[::-1], rtol=0, atol=size)
    found, sums = moment.leading(2, scale)
    np.testing.assert_allclose(sums, values[:-3:-1], rtol=1e-10)
    np.testing.assert_allclose(np.abs(found @ vectors[:, :-3:-1]), np.eye(2), atol=1e-6)


def test_rows_that_are_all_the_same_have_none():
    moment = moment_of(np.tile(ROWS[0], (N, 1)), np.ones(N))
    np.testing.assert_array_equal(moment.times(np.eye(D)), np.zeros((D, D)))
    np.testing.assert_array_equal(moment.mean, ROWS[0])


def test_columns_that_are_constant_to_rounding_have_no_squares():
    rows = ROWS.copy()
    rows[:, 2] = 1 / 3
    moment = SecondMoment(D)
    moment.add(chunk_about(rows, WEIGHTS, np.zeros(D)), WEIGHTS)  # about a point that is far
    assert moment.column_sums()[2] == 0.0
    assert (np.delete(moment.column_sums(), 2) > 0.0).all()
    sums = sums_about_mean(np.array([1.0, 1.0]), np.array([1.0, 0.5]), 1.0)
    np.testing.assert_array_equal(sums, [0.0, 0.75])
