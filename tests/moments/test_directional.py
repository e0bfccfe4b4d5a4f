"""Variances along directions that move: recent rows decide, and turn with the directions."""

import numpy as np
import pytest

from onepass.moments.directional import LOST, DirectionalMoment

RNG = np.random.default_rng(0)


def rotation(m, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(m, m)))[0]


def started(inner=None, energy=10.0, weight=4.0):
    moment = DirectionalMoment(5)
    inner = np.diag([3.0, 2.0]) if inner is None else inner
    moment.add(np.zeros((2, 0)), inner, energy, weight)
    return moment


def test_what_was_measured_turns_with_the_directions():
    moment, turn = started(), rotation(2, 1)
    moment.add(turn, np.diag([1.0, 0.5]), 2.0, 1.0)
    wanted = turn @ np.diag([3.0, 2.0]) @ turn.T + np.diag([1.0, 0.5])
    np.testing.assert_allclose(moment.second(), wanted)
    assert moment.energy == 12.0
    assert moment.weight == 5.0


def test_small_turns_lose_nothing():
    """Many small turns with a cosine below one each: variances would fade away."""
    moment = started()
    for _ in range(100):
        moment.add(0.999 * np.eye(2), np.zeros((2, 2)), 0.0, 0.0)
    np.testing.assert_allclose(moment.second(), np.diag([3.0, 2.0]))


@pytest.mark.parametrize("cosine", [0.1, LOST])
def test_a_direction_that_is_another_one_takes_little_along(cosine):
    moment = started()
    moment.add(np.diag([1.0, cosine]), np.zeros((2, 2)), 0.0, 0.0)
    np.testing.assert_allclose(moment.second(), np.diag([3.0, 2.0 * cosine**2]))


def test_only_recent_rows_count_and_stand_for_all():
    """Rows before the last window but one are forgotten; their energy is not."""
    moment = started(inner=np.diag([100.0, 100.0]), energy=200.0, weight=4.0)
    for _ in range(13):
        moment.add(np.eye(2), np.diag([3.0, 1.0]), 5.0, 1.0)  # windows end after 8 and 16
    second = moment.second()
    assert moment.energy == 200.0 + 65.0
    assert second[0, 0] / second[1, 1] == pytest.approx(3.0)
    np.testing.assert_allclose(second, np.diag([3.0, 1.0]) * 265.0 / 5.0)


def test_what_was_not_measured_is_spread():
    moment, held = started(), np.eye(2, 5)  # an energy of 5 is left for three directions
    np.testing.assert_allclose(moment.compress(np.eye(5), held), np.diag([3, 2, *[5 / 3] * 3]))
    turn = rotation(5, 6)
    wanted = turn @ moment.compress(np.eye(5), held) @ turn.T
    np.testing.assert_allclose(moment.compress(turn, held), wanted)


def test_merged():
    one, other = started(), started(inner=np.diag([8.0, 1.0]), energy=12.0, weight=6.0)
    ours, theirs = rotation(2, 2), rotation(2, 3)
    one.merge(other, ours, theirs)
    wanted = ours @ np.diag([3.0, 2.0]) @ ours.T + theirs @ np.diag([8.0, 1.0]) @ theirs.T
    np.testing.assert_allclose(one.second(), wanted)
    assert (one.energy, one.weight, one.next_window) == (22.0, 10.0, 20.0)
    np.testing.assert_allclose(other.second(), np.diag([8.0, 1.0]))
