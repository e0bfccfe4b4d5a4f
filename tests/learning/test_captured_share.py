"""The share captured of rows that were scored in segments, against sums over the rows."""

from math import isnan, sqrt

import numpy as np
import pytest

from onepass.learning import captured_share as module
from onepass.learning.captured_share import CapturedScore


def rows(count, seed=0):
    """Return captured energies and energies of some rows."""
    rng = np.random.default_rng(seed)
    energy = rng.exponential(size=count)
    return energy * rng.random(count), energy


def scored(captured, energy, length):
    """Return the score of rows that were added so many at a time."""
    score = CapturedScore()
    for start in range(0, len(energy), length):
        score.add(captured[start : start + length], energy[start : start + length])
    return score


def share_of(captured, energy):
    """Return the share of some rows and its standard error, as of a ratio of two sums."""
    share = sum(captured) / sum(energy)
    squares = sum((c - share * e) ** 2 for c, e in zip(captured, energy, strict=True))
    n = len(captured)
    return share, sqrt(squares * n / (n - 1)) / sum(energy)


@pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize(("length", "used"), [(30, 1), (7, 5), (5, 6), (300, 1)])
def test_it_is_that_of_the_last_tenth(length, used, unit):
    """Of the segments that the last tenth of the rows are in, each of which came in one call."""
    captured, energy = rows(300)
    found = scored(unit * captured, unit * energy, length).value()
    starts = list(range(0, 300, length))[-used:]
    share, error = share_of(captured[starts[0] :], energy[starts[0] :])
    assert found.mean == pytest.approx(share, rel=1e-12)
    assert found.standard_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("count", [64, 65, 200, 5000])
def test_segments_are_joined_when_they_are_too_many(length, count):
    captured, energy = rows(length * count)
    score = scored(captured, energy, length)
    assert len(score.segments) <= module.MAX_SEGMENTS
    if count == 64:
        assert len(score.segments) == 64
        assert score.segment_rows == 1
    elif count == 65:  # 32 pairs and the last one, and from now on all are of two calls
        assert score.segments[:, 0].tolist() == [2 * length] * 32 + [length]
        assert score.segment_rows == 4 * length
    assert score.unit == energy[:length].max()
    sums = length * count, captured.sum(), energy.sum(), captured @ captured
    sums = np.array([*sums, captured @ energy, energy @ energy])
    np.testing.assert_allclose(
        score.segments.sum(axis=0) * score.unit ** np.array([0, 1, 1, 2, 2, 2]), sums
    )
    assert score.segments[:, 0].max() <= max(length * count / 16, 2 * length)
    # Each segment is of consecutive rows.
    stops = np.cumsum(score.segments[:, 0]).astype(int)
    wanted = np.diff(np.r_[0.0, np.cumsum(energy)[stops - 1]])
    np.testing.assert_allclose(score.segments[:, 2] * score.unit, wanted, rtol=1e-9)


def test_what_was_captured_may_be_less_than_nothing_and_is_bounded():
    """About a mean that is not their own, rows may have less than nothing; one may be huge."""
    score = scored(np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, 4.0]), 3)
    found = score.value()
    assert found.mean == pytest.approx(2.0 / 7.0)
    assert found.standard_error == pytest.approx(
        share_of([1.0, -2.0, 3.0], [2.0, 1.0, 4.0])[1], rel=1e-12
    )
    for huge in (1e308, -1e308):
        score = scored(np.array([1e-5, 1e-5]), np.array([2e-5, 1e-5]), 2)
        score.add(np.array([huge]), np.array([abs(huge)]))
        ratio = module.LARGEST_RATIO
        wanted = [1.0, np.sign(huge) * ratio, ratio, ratio**2, np.sign(huge) * ratio**2, ratio**2]
        np.testing.assert_allclose(score.segments[-1], wanted)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_rows_have_no_share(count):
    score = scored(*rows(count), 1)
    assert isnan(score.value().mean)
    assert isnan(score.value().standard_error)
    assert score.curve().shape == (0, 3)


def test_two_rows_have_one():
    captured, energy = rows(2)
    found = scored(captured, energy, 2).value()
    assert (found.mean, found.standard_error) == pytest.approx(share_of(captured, energy))


def test_rows_without_energy_have_no_share():
    score = CapturedScore()
    score.add(np.zeros(5), np.zeros(5))
    assert len(score.segments) == 0
    assert isnan(score.value().mean)
    captured, energy = rows(5)
    score.add(captured, energy)
    score.add(np.zeros(0), np.zeros(0))
    assert score.unit == energy.max()
    assert score.segments[:, 0].tolist() == [5.0]
    score.add(np.zeros(50), np.zeros(50))  # all of the last tenth
    assert isnan(score.value().mean)
    assert score.curve().shape == (1, 3)


@pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
def test_the_curve_is_that_of_every_segment(unit):
    captured, energy = rows(60)
    curve = scored(unit * captured, unit * energy, 12).curve()
    assert curve.shape == (5, 3)
    for number, found in enumerate(curve):
        part = slice(12 * number, 12 * number + 12)
        assert found[0] == 12 * number + 12
        assert tuple(found[1:]) == pytest.approx(share_of(captured[part], energy[part]), rel=1e-9)


@pytest.mark.parametrize("ratio", [1.0, 1e3])
def test_merged_segments_come_alternately(ratio):
    captured, energy = rows(60)
    one = scored(captured[:40], energy[:40], 10)
    other = scored(ratio * captured[40:], ratio * energy[40:], 10)
    kept = other.segments.copy()
    one.merge(other)
    np.testing.assert_array_equal(other.segments, kept)
    both = np.concatenate([captured[:40], ratio * captured[40:]])
    sums = [both[start : start + 10].sum() for start in (0, 10, 40, 20, 30, 50)]
    np.testing.assert_allclose(one.segments[:, 1] * one.unit, sums)
    last = np.r_[50:60]
    found = one.value()
    assert (found.mean, found.standard_error) == pytest.approx(
        share_of(captured[last], energy[last]), rel=1e-9
    )
    np.testing.assert_array_equal(one.segments[:, 0], np.full(6, 10.0))


@pytest.mark.parametrize("counts", [(64, 65), (65, 64)])
def test_merged_segments_are_as_long_as_the_longer_ones(counts):
    one, other = (scored(*rows(count), 1) for count in counts)
    one.merge(other)
    assert one.segment_rows == 4
    assert one.segments[:, 0].sum() == sum(counts)


def test_merging_with_nothing_changes_nothing():
    one, empty = scored(*rows(70), 1), CapturedScore()
    before = one.value()
    one.merge(CapturedScore())
    assert one.value() == before
    empty.merge(one)
    assert empty.value() == before
    assert empty.segment_rows == one.segment_rows
    empty.add(*rows(50, seed=1))
    assert one.value() == before


def test_later_rows_may_be_small_beside_the_first():
    """Energies are kept relative to the largest of the first rows."""
    captured, energy = rows(40)
    captured[2:], energy[2:] = 1e-9 * captured[2:], 1e-9 * energy[2:]
    score = scored(captured, energy, 2)
    found = score.value()
    assert (found.mean, found.standard_error) == pytest.approx(
        share_of(captured[36:], energy[36:]), rel=1e-9
    )
    curve = score.curve()
    assert curve[:, 0].tolist() == list(range(2, 41, 2))
    np.testing.assert_allclose(curve[5, 1:], share_of(captured[10:12], energy[10:12]), rtol=1e-9)


def test_segments_may_capture_nothing():
    score = scored(np.zeros(6), np.ones(6), 3)
    np.testing.assert_array_equal(score.curve(), [[3.0, 0.0, 0.0], [6.0, 0.0, 0.0]])
