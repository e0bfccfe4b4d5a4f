"""The histogram of errors: quantiles, windows, merging, fading."""

import numpy as np
import pytest

from onepass import PCA
from onepass.moments.chunk import chunk_about
from onepass.moments.row_errors import ErrorHistogram, crossed_errors


def filled(errors):
    histogram = ErrorHistogram()
    for start in range(0, len(errors), 64):
        histogram.add(errors[start : start + 64], np.ones(len(errors[start : start + 64])))
    return histogram


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_quantiles_are_right_to_a_thirtieth(scale):
    errors = scale * np.random.default_rng(0).chisquare(3, size=5000)
    histogram = ErrorHistogram()
    histogram.add(errors, np.ones(5000))
    for share in (0.01, 0.5, 0.9, 0.999, 1.0):
        rank = min(int(np.ceil(share * 5001)), 5000)  # of a new row beside them
        exact = np.sort(errors)[rank - 1]
        assert exact <= histogram.quantile(share) <= exact * (1 + 1 / 32) * (1 + 1e-12)


def test_zero_and_rounding_below_zero_count_as_zero():
    histogram = ErrorHistogram()
    histogram.add(np.array([0.0, -1e-16, 5e-324, 2.0]), np.ones(4))
    assert histogram.quantile(0.6) == 0.0
    assert histogram.quantile(0.61) == pytest.approx(2.0, rel=1 / 32)
    only = ErrorHistogram()
    only.add(np.zeros(3), np.ones(3))
    assert only.quantile(1.0) == 0.0


@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_a_new_row_is_above_a_quantile_as_often_as_it_says(weight):
    """Of n rows and a new one, the new one has the largest error in one of n + 1 cases."""
    histogram = ErrorHistogram()
    histogram.add(np.arange(1.0, 10.0), np.full(9, weight))
    assert histogram.quantile(0.9, weight) == pytest.approx(9.0, rel=1 / 32)
    assert histogram.quantile(0.5, weight) == pytest.approx(5.0, rel=1 / 32)
    assert np.isnan(histogram.quantile(0.91, weight))
    assert histogram.quantile(1.0, weight) == histogram.quantile(0.9, weight)


def test_early_rows_are_forgotten():
    """Errors of the first models are larger, and must not decide."""
    histogram = filled(np.r_[np.full(640, 1e6), np.ones(9 * 640)])
    assert histogram.quantile(1.0) < 1.1
    assert histogram.counts.sum() >= 0.5 * 6400


def test_merging_adds_counts_exactly_in_any_order():
    rng = np.random.default_rng(0)
    parts = [filled(10.0 ** rng.uniform(low, low + 3, size=640)) for low in (-3, 0, 5)]
    parts.append(ErrorHistogram())
    kept = [part.counts.copy() for part in parts]
    first, second = ErrorHistogram(), ErrorHistogram()
    for i in range(4):
        first.merge(parts[i])
        second.merge(parts[-1 - i])
    for part, before in zip(parts, kept, strict=True):
        np.testing.assert_array_equal(part.counts, before)
    assert first.low == second.low
    np.testing.assert_array_equal(first.counts, second.counts)
    assert first.counts.sum() == sum(before.sum() for before in kept)
    assert (np.diff(np.log10([first.quantile(q) for q in (0.3, 0.6, 0.9)])) > 1).all()


def test_fading_lets_later_rows_decide():
    histogram = ErrorHistogram()
    histogram.add(np.full(90, 100.0), np.ones(90))
    histogram.fade(0.01)
    histogram.add(np.ones(10), np.ones(10))
    assert histogram.quantile(0.8) < 1.1


@pytest.mark.parametrize("place", [0, 40, 127, 128])
@pytest.mark.parametrize("center", [True, False])
def test_an_outlier_among_the_first_rows_is_measured(place, center):
    """It turns a direction of the first rows to itself, along which it has no error."""
    rows = np.random.default_rng(0).normal(size=(200, 8)) * [5, 3, 1, 1, 1, 1, 1, 1]
    rows[place, 6] += 60.0
    model = PCA(2, center=center).partial_fit(rows)
    assert 0.7 < model.error_threshold(1.0) / 60.0**2 < 1.4


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [None, np.arange(2.0, 11.0)])
def test_crossed_errors_are_from_the_directions_of_the_other_half(center, scale):
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(31, 9)) * np.arange(1.0, 10.0) + 1.0, rng.uniform(1, 2, 31)
    rows = values / (1.0 if scale is None else scale)
    expected = np.empty(31)
    for seen, held_out in ((slice(0, 15), slice(15, 31)), (slice(15, 31), slice(0, 15))):
        point = np.average(rows[seen], axis=0, weights=weights[seen]) if center else np.zeros(9)
        weighted = np.sqrt(weights[seen])[:, None] * (rows[seen] - point)
        directions, about = np.linalg.svd(weighted)[2][:3], rows[held_out] - point
        expected[held_out] = (about**2).sum(axis=1) - ((about @ directions.T) ** 2).sum(axis=1)
    origin = np.full(9, float(center))
    found = crossed_errors(chunk_about(values, weights, origin, scale), 3, center)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_too_few_first_rows_have_no_errors():
    rows = chunk_about(np.random.default_rng(2).normal(size=(9, 5)), np.ones(9), np.zeros(5))
    assert crossed_errors(rows, 4, True) is None
    zeros = chunk_about(np.zeros((20, 5)), np.ones(20), np.zeros(5))
    assert not crossed_errors(zeros, 4, True).any()
