"""Sums over the rows of segments of a stream: the last part of it, and what merging does."""

import numpy as np
import pytest

from onepass.evaluation.segments import SEGMENTS, Segments

POWERS = (1, 1, 2)


def filled(calls, rows=1.0, start=0.0):
    """Return segments of so many calls with the sums [rows, number of the call, 1]."""
    segments = Segments("tests", POWERS)
    for number in range(calls):
        segments.add(np.array([rows, start + number, 1.0]))
    return segments


@pytest.mark.parametrize("calls", [1, 2, SEGMENTS, SEGMENTS + 1, 500, 5000])
@pytest.mark.parametrize("rows", [1.0, 7.0])
def test_no_row_is_lost_and_segments_are_few(calls, rows):
    segments = filled(calls, rows)
    assert len(segments.table) <= SEGMENTS
    np.testing.assert_allclose(
        segments.table.sum(axis=0), [calls * rows, calls * (calls - 1) / 2, calls]
    )
    assert segments.table[:, 0].max() <= max(calls * rows / 16, 2 * rows)


def test_segments_are_in_the_order_of_the_stream():
    segments = filled(5000)
    means = segments.table[:, 1] / segments.table[:, 0]
    assert (np.diff(means) > 0.0).all()
    # Each is of consecutive calls.
    stops = np.cumsum(segments.table[:, 0]).astype(int)
    sums = np.diff(np.r_[0.0, np.cumsum(np.arange(5000.0))[stops - 1]])
    np.testing.assert_allclose(segments.table[:, 1], sums)


def test_calls_are_segments_as_long_as_there_are_few():
    segments = filled(SEGMENTS)
    np.testing.assert_array_equal(segments.table[:, 0], np.ones(SEGMENTS))
    segments.add(np.array([1.0, 0.0, 1.0]))
    assert len(segments.table) == SEGMENTS // 2 + 1


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("calls", [40, 5000])
def test_the_latest_part(share, calls):
    segments = filled(calls)
    latest = segments.latest(calls, share)
    assert share * calls <= latest[:, 0].sum() <= share * calls + segments.table[:, 0].max()
    # They are the last ones.
    assert latest[:, 1].min() >= (1 - share) * calls - 2 * segments.table[:, 0].max()
    shorter = segments.latest(calls, share)[:-1]
    assert shorter[:, 0].sum() < share * calls


def test_rows_in_no_segment_came_first():
    """Of 1,000 rows the last 100 are held: these are all of the last half that there is."""
    segments = filled(100)
    assert segments.latest(1000, 0.5)[:, 0].sum() == 100
    assert segments.latest(1000, 0.05)[:, 0].sum() == 50
    assert len(Segments("tests", POWERS).latest(1000, 0.5)) == 0


def test_merged_streams_come_alternately():
    one, other = filled(4), filled(2, start=100.0)
    kept = other.table.copy()
    one.merge(other)
    # Half of the rows of each segment of two are at the place of one of four.
    np.testing.assert_allclose(one.table[:, 0], 1.5)
    np.testing.assert_allclose(one.table[:, 1], [50.0, 51.0, 52.5, 53.5])
    np.testing.assert_array_equal(other.table, kept)


@pytest.mark.parametrize("parts", [2, 17, 100])
def test_any_number_of_merges(parts):
    whole = filled(50)
    for _ in range(parts - 1):
        whole.merge(filled(50))
    assert len(whole.table) <= SEGMENTS
    assert whole.table[:, 0].sum() == 50 * parts
    latest = whole.latest(50 * parts, 0.5)
    assert latest[:, 0].sum() < 0.65 * 50 * parts
    # The latest half of the whole is the latest half of each.
    assert (latest[:, 1] / latest[:, 0]).mean() == pytest.approx(37, abs=3)


def test_merging_with_nothing_changes_nothing():
    segments, empty = filled(100), Segments("tests", POWERS)
    before = segments.table.copy()
    segments.merge(empty)
    np.testing.assert_array_equal(segments.table, before)
    empty.merge(segments)
    np.testing.assert_array_equal(empty.table, before)


def test_columns_fade_by_their_powers():
    segments = filled(10)
    before = segments.table.copy()
    segments.fade(0.5)
    np.testing.assert_array_equal(segments.table, before * [0.5, 0.5, 0.25])


def test_states_go_on_in_the_same_way():
    segments, again = filled(90), Segments("tests", POWERS)
    again.restore(*segments.saved())
    for each in (segments, again):
        for _ in range(50):
            each.add(np.ones(3))
    np.testing.assert_array_equal(again.table, segments.table)
