"""The projection against bisection over all floats, and against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass.kernels.simplex import (
    _bisect,
    clip_shifted,
    project,
    shift,
    shift_at_most,
    total_clipped,
)

WIDEST = 10


def _as_integers(x):
    """Map floats to integers in the same order, one apart for neighbours."""
    bits = x.view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _as_floats(integers):
    return _as_integers(integers.view(np.float64)).view(np.float64)


def oracle(values, multiplicities, targets):
    """Return for each row the smallest float S whose total reaches the target, by bisection."""
    low = _as_integers(-2 - 2 * abs(values).max(axis=1))
    high = _as_integers(2 + 2 * abs(values).max(axis=1))
    while (high - 1 > low).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        clipped = np.clip(values + _as_floats(middle)[:, None], 0, 1)
        reached = (multiplicities * clipped).sum(axis=1) >= targets
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return _as_floats(high)


def spectra(cases, seed):
    """Return values, multiplicities (cases, n) and reachable targets (cases,), hard in many ways.

    Rows have different lengths: what is too much has multiplicity 0 and repeats the first value.
    """
    rng = np.random.default_rng(seed)
    shape = (cases, WIDEST)
    values = rng.standard_normal(shape) * rng.choice([0.01, 0.3, 1, 4], (cases, 1))
    kind = rng.integers(0, 6, cases)[:, None]
    values = np.where(kind == 1, np.round(values * 2) / 2, values)
    values = np.where(kind == 2, np.clip(values, 0, 1), values)
    huge = (kind == 3) & (rng.random(shape) < 0.3)
    values = np.where(huge, 10.0 ** rng.integers(1, 301, shape), values)
    values = np.where(kind == 4, values * 10.0 ** rng.integers(-300, 1, shape), values)
    multiplicities = np.where(rng.random((cases, 1)) < 0.5, 1, rng.integers(1, 5, shape))
    many = (kind == 5) & (np.arange(WIDEST) == rng.integers(0, WIDEST, (cases, 1)))
    multiplicities = np.where(many, 10 ** rng.integers(0, 10, shape), multiplicities)
    unused = np.arange(WIDEST) >= rng.integers(1, WIDEST + 1, (cases, 1))
    values = np.where(unused, values[:, :1], values)
    multiplicities = np.where(unused, 0, multiplicities).astype(float)
    totals = multiplicities.sum(axis=1)
    targets = rng.random(cases) * np.where(rng.random(cases) < 0.5, totals, np.minimum(totals, 9))
    targets = np.where(rng.random(cases) < 0.5, np.round(targets), targets)
    return values, multiplicities, targets


def shifts(function, values, multiplicities, targets):
    order = np.empty((2, WIDEST), np.int64)
    rows = zip(values, multiplicities, targets, strict=True)
    return np.array([function(WIDEST, *row, order) for row in rows])


def assert_same_projection(values, multiplicities, targets, got, wanted):
    ours = np.clip(values + got[:, None], 0, 1)
    theirs = np.clip(values + wanted[:, None], 0, 1)
    # S itself is a float, it can place a value no closer; and so is the oracle's sum.
    spacing = np.spacing(np.minimum(abs(got), abs(wanted)) + targets)[:, None]
    wrong = (abs(ours - theirs) > 1e-12 + 4 * spacing) & (multiplicities > 0)
    assert not wrong.any(), np.flatnonzero(wrong.any(axis=1))[:5]


def test_equals_bisection_on_many_spectra(cases):
    values, multiplicities, targets = spectra(cases, seed=0)
    got = shifts(shift, values, multiplicities, targets)
    wanted = oracle(values, multiplicities, targets)
    assert_same_projection(values, multiplicities, targets, got, wanted)


def test_at_most_equals_bisection_where_clipping_is_not_enough(cases):
    values, multiplicities, targets = spectra(cases, seed=1)
    got = shifts(shift_at_most, values, multiplicities, targets)
    enough = (multiplicities * np.clip(values, 0, 1)).sum(axis=1) <= targets
    assert 0.1 < enough.mean() < 0.9
    wanted = np.where(enough, 0.0, oracle(values, multiplicities, targets))
    assert_same_projection(values, multiplicities, targets, got, wanted)
    assert (got <= 0).all()


@pytest.mark.parametrize("exact", [True, False])
def test_project_is_shift_and_clip(exact):
    values, multiplicities, targets = spectra(300, seed=2)
    order = np.empty((2, WIDEST), np.int64)
    for row, *rest in zip(values, multiplicities, targets, strict=True):
        S = (shift if exact else shift_at_most)(WIDEST, row, *rest, order)
        wanted = [clip_shifted(value, S) for value in row]
        project(WIDEST, row, *rest, exact, order)
        np.testing.assert_allclose(row, wanted, atol=1e-14 + 4 * np.spacing(abs(S)))


@pytest.mark.parametrize("exact", [True, False])
def test_project_shares_among_equal_huge_values(exact):
    values = np.array([1e300, 0.5, 1e300, 1e300, 9e299])
    project(4, values, np.ones(5), 2.0, exact, np.empty((2, 5), np.int64))
    np.testing.assert_allclose(values, [2 / 3, 0, 2 / 3, 2 / 3, 9e299])


quarters = st.integers(-8, 12).map(lambda q: q / 4)
spectrum = st.lists(st.tuples(quarters, st.integers(1, 3)), min_size=1, max_size=7)


@given(spectrum, st.integers(0, 84))
def test_is_exact_in_quarters(pairs, quarters_wanted):
    values, multiplicities = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    target = min(quarters_wanted / 4, multiplicities.sum())
    n = len(values)
    S = Fraction(float(shift(n, values, multiplicities, target, np.empty((2, n), np.int64))))
    total = sum(m * min(1, max(0, Fraction(v) + S)) for v, m in pairs)
    assert abs(total - Fraction(target)) <= 1e-14


@given(spectrum, st.integers(0, 84))
def test_the_bisection_behind_it_agrees(pairs, quarters_wanted):
    values, multiplicities = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    target = min(quarters_wanted / 4, multiplicities.sum())
    S = _bisect(len(values), values, multiplicities, target)
    assert total_clipped(len(values), values, multiplicities, S) == pytest.approx(target, abs=1e-13)


@pytest.mark.parametrize("function", [shift, shift_at_most])
@pytest.mark.parametrize(
    ("values", "multiplicities", "target", "wanted"),
    [
        ([1e300, 0.75, 0.5], [1, 1, 1], 2.0, [1, 0.625, 0.375]),
        ([1e300, 9e299, 0.5], [1, 1, 1], 1.0, [1, 0, 0]),
        ([1e16, 0.1, 0.1], [3, 5, 5], 4.0, [1, 0.1, 0.1]),
        ([2.0, 2.0, 2.0, 1.0], [1, 1, 1, 1], 1.0, [1 / 3, 1 / 3, 1 / 3, 0]),
        ([5.0], [4], 1.0, [0.25]),
        ([5.0, 3.0], [1, 1], 0.0, [0, 0]),
        ([5.0, 3.0], [1, 1], 2.0, [1, 1]),
        ([0.5, 0.25], [1, 1e9], 1e9, [1, 1 - 1e-9]),
        ([1.5, 0.5], [1, 0], 0.5, [0.5, 0]),
        ([0.5, 1e-16], [1, 1e9], 0.25, [0.25, 0]),
    ],
)
def test_extremes(function, values, multiplicities, target, wanted):
    n = len(values)
    room = np.empty((2, n), np.int64)
    arrays = np.array(values), np.array(multiplicities, dtype=float)
    if function is shift_at_most and total_clipped(n, *arrays, 0.0) <= target:
        assert function(n, *arrays, target, room) == 0.0
    else:
        S = function(n, *arrays, target, room)
        np.testing.assert_allclose([clip_shifted(v, S) for v in values], wanted, atol=1e-15)


def test_a_target_out_of_reach_gives_ones():
    S = shift(2, np.array([0.5, -3.0]), np.ones(2), 5.0, np.empty((2, 2), np.int64))
    assert [clip_shifted(0.5, S), clip_shifted(-3.0, S)] == [1, 1]


def test_nothing_to_project():
    assert shift(0, np.empty(0), np.empty(0), 1.0, np.empty((2, 0), np.int64)) == 0.0
