"""Mean and scatter about any point, merged and moved: those of all rows."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments.chunk import Chunk
from onepass.moments.scatter import POWER, ExactScatter, spread
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
    found, fresh = scatter_of(ROWS, WEIGHTS, origin=ROWS[0]), ExactScatter(D, True)
    fresh.merge(found)
    np.testing.assert_array_equal(fresh.origin, ROWS[0])
    np.testing.assert_allclose(fresh.matrix(), found.matrix())


def parted(rows, weights, count=4):
    """Return the scatter of rows, the second half of which is in several parts."""
    scatter, half = ExactScatter(D, True), len(rows) // 2
    scatter.add(Chunk(rows[:half], weights[:half], rows[0]), weights[:half])
    scatter.split(count)
    scatter.add(Chunk(rows[half:], weights[half:], rows[1]), weights[half:])
    return scatter


def test_parts_add_up_to_all_rows():
    found = parted(ROWS, WEIGHTS)
    mean, wanted = reference.scatter(ROWS, WEIGHTS, center=True)
    pieces = np.split(WEIGHTS[20:], 4)
    np.testing.assert_allclose(found.weights[1:], [piece.sum() for piece in pieces[1:]])
    for scatter in (found, found.joined()):
        np.testing.assert_allclose(scatter.mean, mean)
        np.testing.assert_allclose(scatter.matrix(), wanted, atol=1e-10)
        np.testing.assert_allclose(scatter.variances(), np.diag(wanted))
        np.testing.assert_allclose(scatter.spectrum(), np.linalg.eigvalsh(wanted)[::-1])
    assert len(found.joined().parts) == 1
    found.split(2)
    assert len(found.parts) == 4


@pytest.mark.parametrize("counts", [(4, 4), (1, 4), (4, 1)])
def test_parts_merge_the_largest_into_the_smallest(counts):
    one, other = (
        parted(ROWS[p], WEIGHTS[p], c)
        for p, c in zip((slice(24), slice(24, N)), counts, strict=True)
    )
    largest = max(one.weights.max(), other.weights.max())
    one.merge(other)
    mean, wanted = reference.scatter(ROWS, WEIGHTS, center=True)
    np.testing.assert_allclose(one.mean, mean)
    np.testing.assert_allclose(one.matrix(), wanted, atol=1e-10)
    assert len(one.parts) == 4
    assert one.weights.max() < largest + one.weights.min() + 3.0


def test_the_consensus_leaves_out_what_only_one_part_has_seen():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4000, D)) * [3, 2.7, 1, 1, 1, 1]
    rows[5] = 210 * np.eye(D)[5]
    found = ExactScatter(D, True)
    found.split(4)
    found.add(Chunk(rows, np.ones(4000), np.zeros(D)), np.ones(4000))
    span = found.leading(D)[0]
    assert abs(span[0, 5]) > 0.99
    consensus = found.consensus(2, span)
    np.testing.assert_allclose(np.linalg.norm(consensus[:, :2], axis=1), 1.0, atol=0.02)


def test_states_are_taken_over():
    found, other = parted(ROWS, WEIGHTS), ExactScatter(D, True)
    other.restore(found.saved())
    np.testing.assert_array_equal(other.matrix(), found.matrix())
    assert found.saved().keys() == {"origin", "weights", "totals", "triangles"}
    other.fade(0.5)
    np.testing.assert_array_equal(other.weights, 0.5 * found.weights)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_point_that_the_mean_has_left_is_replaced(offset):
    found = ExactScatter(D, True)
    found.add(Chunk(ROWS, WEIGHTS, ROWS[0] + offset), WEIGHTS)
    point = found.near()
    np.testing.assert_array_equal(point, found.mean if offset else ROWS[0])


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


@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_weights_and_rows_may_be_small(unit):
    """Sums of weights below one are as good as any."""
    rows, weights = unit * ROWS, 1e-3 * WEIGHTS
    one, other = (
        scatter_of(rows[part], weights[part], origin=rows[point])
        for part, point in ((slice(0, 13), 0), (slice(13, N), 5))
    )
    one.merge(other)
    one.move(rows[3])
    mean, wanted = reference.scatter(rows, weights, center=True)
    size = np.trace(wanted)
    np.testing.assert_allclose(one.mean, mean)
    np.testing.assert_allclose(one.matrix() / size, wanted / size, atol=1e-12)
    np.testing.assert_allclose(one.variances(), np.diag(wanted), rtol=1e-9)
    turned = np.linalg.qr(RNG.normal(size=(D, 3)))[0].T
    np.testing.assert_allclose(
        one.compress(turned) / size, turned @ wanted @ turned.T / size, atol=1e-12
    )
    np.testing.assert_allclose(one.spectrum(), np.linalg.eigvalsh(wanted)[::-1], rtol=1e-8)
    scaled = wanted / np.outer(SCALE, SCALE)
    np.testing.assert_allclose(one.spectrum(SCALE), np.linalg.eigvalsh(scaled)[::-1], rtol=1e-8)


def test_no_direction_has_a_negative_sum():
    rows = np.outer(np.arange(N), ROWS[0])  # all but one are rounding
    assert (scatter_of(rows, WEIGHTS).spectrum() >= 0).all()


@pytest.mark.parametrize(("share", "moves"), [(0.9, False), (1.1, True)])
def test_the_point_moves_where_most_of_the_squares_are_those_of_the_mean(share, moves):
    found = scatter_of(ROWS, WEIGHTS, origin=ROWS[0])
    away = np.sqrt(share * found.energy() / found.weight) * np.eye(D)[1]
    origin = found.mean - away
    found.move(origin)
    np.testing.assert_array_equal(found.near(), found.mean if moves else origin)


def test_two_parts():
    found = parted(ROWS, WEIGHTS, 2)
    np.testing.assert_allclose(found.weights, [WEIGHTS[:30].sum(), WEIGHTS[30:].sum()])


@pytest.mark.parametrize("scale", [None, SCALE])
@pytest.mark.parametrize("unit", [1e-3, 1.0])
def test_the_consensus_is_the_power_mean_of_the_parts(scale, unit):
    """Each part counts with its weight, and one that has no rows does not."""
    rows, weights = unit * ROWS, np.repeat([0.01, 2.0, 0.3, 1.0], 10)
    found, pieces = ExactScatter(D, True), np.split(np.arange(N), 4)
    found.split(5)
    for number, piece in enumerate(pieces):
        alone = scatter_of(rows[piece], weights[piece], origin=rows[0])
        for name in found.changed:
            getattr(found, name)[number] += getattr(alone, name)[0]
    found.origin = rows[0]
    span = np.linalg.qr(RNG.normal(size=(D, 4)))[0].T
    divided, power = rows if scale is None else rows / scale, np.zeros((4, 4))
    for piece in pieces:
        _, S = reference.scatter(divided[piece], weights[piece], center=True)
        values, vectors = np.linalg.eigh(span @ S @ span.T / weights[piece].sum())
        share = weights[piece].sum() / weights.sum()
        power += share * (vectors * values**POWER) @ vectors.T
    wanted = np.linalg.eigh(power)[1].T[::-1][:2] @ span
    cosines = np.abs(found.consensus(2, span, scale) @ wanted.T)
    np.testing.assert_allclose(cosines, np.eye(2), atol=1e-7)
