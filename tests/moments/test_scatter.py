"""Mean and scatter about any point, merged and moved: those of all rows."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments.chunk import Chunk
from onepass.moments.scatter import ExactScatter, spread
from tests import reference

N, D = 40, 6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, D)) * np.linspace(3, 0.5, D) + 4
WEIGHTS = RNG.uniform(0.5, 2, N)
SCALE = RNG.uniform(0.5, 2, D)


def scatter_of(rows, weights, center=True, origin=None, kind=np.asarray):
    """Return the scatter of rows that are added in two parts, about a point."""
    scatter = ExactScatter(D, center)
    scatter.origin = np.zeros(D) if origin is None else origin
    for part in np.array_split(np.arange(len(rows)), 2):
        chunk = Chunk(kind(rows[part]), weights[part], scatter.origin)
        scatter.add(chunk, weights[part])
    return scatter


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("origin", [None, ROWS[0]])
def test_it_is_that_of_all_rows(kind, origin):
    found = scatter_of(ROWS, WEIGHTS, origin=origin, kind=kind)
    mean, wanted = reference.scatter(ROWS, WEIGHTS, center=True)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.matrix(), wanted, atol=1e-10)
    assert found.weight == pytest.approx(WEIGHTS.sum())
    assert found.energy() == pytest.approx(np.trace(wanted))
    np.testing.assert_allclose(found.variances(), np.diag(wanted))


def test_about_zero_there_is_no_mean():
    found = scatter_of(ROWS, WEIGHTS, center=False)
    _, wanted = reference.scatter(ROWS, WEIGHTS, center=False)
    np.testing.assert_array_equal(found.mean, np.zeros(D))
    np.testing.assert_allclose(found.matrix(), wanted)
    np.testing.assert_allclose(found.variances(), np.diag(wanted))


def test_columns_may_be_divided():
    found = scatter_of(ROWS, WEIGHTS, origin=ROWS[0])
    _, wanted = reference.scatter(ROWS / SCALE, WEIGHTS, center=True)
    np.testing.assert_allclose(found.matrix(SCALE), wanted, atol=1e-10)
    assert found.energy(SCALE) == pytest.approx(np.trace(wanted))
    values, vectors = np.linalg.eigh(wanted)
    directions, sums = found.leading(3, SCALE)
    np.testing.assert_allclose(sums, values[::-1][:3])
    np.testing.assert_allclose(np.abs(directions @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(found.compress(directions, SCALE), np.diag(sums), atol=1e-8)


def test_leading_directions_and_what_is_along_them():
    found = scatter_of(ROWS, WEIGHTS)
    _, S = reference.scatter(ROWS, WEIGHTS, center=True)
    directions, sums = found.leading(2)
    np.testing.assert_allclose(found.compress(directions), np.diag(sums), atol=1e-8)
    turned = np.linalg.qr(RNG.normal(size=(D, 3)))[0].T
    np.testing.assert_allclose(found.compress(turned), turned @ S @ turned.T, atol=1e-8)


@pytest.mark.parametrize("center", [False, True])
def test_another_point_changes_nothing(center):
    found = scatter_of(ROWS, WEIGHTS, center=center)
    matrix, mean = found.matrix(), found.mean
    found.move(np.full(D, 3.0) if center else np.zeros(D))
    np.testing.assert_allclose(found.matrix(), matrix, atol=1e-10)
    np.testing.assert_allclose(found.mean, mean)
    if center:
        np.testing.assert_array_equal(found.origin, np.full(D, 3.0))


@pytest.mark.parametrize("center", [False, True])
def test_merged_they_are_that_of_all_rows(center):
    points = (None, ROWS[0]) if center else (None, None)
    one, other = (
        scatter_of(ROWS[part], WEIGHTS[part], center, point)
        for part, point in zip((slice(0, 13), slice(13, N)), points, strict=True)
    )
    before = other.matrix()
    one.merge(other)
    mean, wanted = reference.scatter(ROWS, WEIGHTS, center=center)
    np.testing.assert_allclose(one.matrix(), wanted, atol=1e-10)
    np.testing.assert_allclose(one.mean, mean)
    assert one.weight == pytest.approx(WEIGHTS.sum())
    np.testing.assert_array_equal(other.matrix(), before)


def test_what_fades_counts_less():
    found = scatter_of(ROWS[:20], WEIGHTS[:20])
    found.fade(0.25)
    found.add(Chunk(ROWS[20:], WEIGHTS[20:], np.zeros(D)), WEIGHTS[20:])
    counts = WEIGHTS * np.repeat([0.25, 1.0], 20)
    mean, wanted = reference.scatter(ROWS, counts, center=True)
    np.testing.assert_allclose(found.matrix(), wanted, atol=1e-10)
    np.testing.assert_allclose(found.mean, mean)


def test_nothing_is_nothing():
    for center in (False, True):
        empty = ExactScatter(D, center)
        np.testing.assert_array_equal(empty.matrix(), np.zeros((D, D)))
        np.testing.assert_array_equal(empty.mean, np.zeros(D))
        assert empty.energy() == 0.0
        np.testing.assert_array_equal(empty.compress(np.eye(2, D)), np.zeros((2, 2)))
    found = scatter_of(ROWS, WEIGHTS, origin=ROWS[0])
    fresh = found.empty()
    assert fresh.weight == 0.0
    assert fresh.center
    np.testing.assert_array_equal(fresh.origin, found.origin)
    np.testing.assert_array_equal(fresh.mean, found.origin)
    fresh.merge(found)
    np.testing.assert_allclose(fresh.matrix(), found.matrix())


def test_copies_are_independent():
    found = scatter_of(ROWS, WEIGHTS)
    before, twin = found.matrix(), found.copy()
    np.testing.assert_array_equal(twin.matrix(), before)
    twin.add(Chunk(ROWS, WEIGHTS, np.zeros(D)), WEIGHTS)
    twin.fade(0.5)
    twin.move(ROWS[0])
    np.testing.assert_array_equal(found.matrix(), before)
    found.matrix()[:] = 0
    np.testing.assert_array_equal(found.matrix(), before)


def test_what_is_left_of_rounding_is_no_spread():
    total, weight = np.array([3e8, 3.0]), 3.0
    squares = np.array([3e16 * (1 + 1e-16), 5.0])
    np.testing.assert_allclose(spread(squares, total, weight), [0.0, 2.0])
    np.testing.assert_allclose(spread(squares, total, 0.0), squares)
    rows = np.tile(ROWS[0] * 1e6, (N, 1))
    assert scatter_of(rows, WEIGHTS).energy() == 0.0
