"""Algorithm 2 against bisection over all floats, and against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass import _core

WIDEST = 10
CASES = 20_000


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


@pytest.mark.parametrize("exact", [True, False])
def test_equals_bisection_on_many_spectra(exact):
    values, multiplicities, targets = spectra(CASES, seed=int(exact))
    rows = zip(values, multiplicities, targets, strict=True)
    got = np.array([_core.project(*row, exact) for row in rows])
    shifts = oracle(values, multiplicities, targets)
    if not exact:
        enough = (multiplicities * np.clip(values, 0, 1)).sum(axis=1) <= targets
        assert 0.1 < enough.mean() < 0.9
        shifts = np.where(enough, 0.0, shifts)
    # The oracle's S is a float, it can place a value no closer; and so is its sum.
    spacing = np.spacing(abs(shifts) + targets)[:, None]
    error = abs(got - np.clip(values + shifts[:, None], 0, 1))
    assert not ((error > 1e-12 + 4 * spacing) & (multiplicities > 0)).any()


quarters = st.integers(-8, 12).map(lambda q: q / 4)
spectrum = st.lists(st.tuples(quarters, st.integers(1, 3)), min_size=1, max_size=7)


@given(spectrum, st.integers(0, 84))
def test_is_exact_in_quarters(pairs, quarters_wanted):
    values, multiplicities = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    target = min(quarters_wanted / 4, multiplicities.sum())
    got = _core.project(values, multiplicities, target, True)
    total = sum(m * Fraction(float(v)) for v, (_, m) in zip(got, pairs, strict=True))
    assert abs(total - Fraction(target)) <= 1e-14


@pytest.mark.parametrize(
    ("values", "multiplicities", "target", "wanted"),
    [
        ([1e300, 0.75, 0.5], [1, 1, 1], 2.0, [1, 0.625, 0.375]),
        ([1e300, 9e299, 0.5], [1, 1, 1], 1.0, [1, 0, 0]),
        ([1e300, 1e300, 0.25], [1, 1, 1], 1.0, [0.5, 0.5, 0]),
        ([1e300, 0.5, 1e300, 1e300], [1, 1, 1, 1], 2.0, [2 / 3, 0, 2 / 3, 2 / 3]),
        ([1e16, 0.1, 0.1], [3, 5, 5], 4.0, [1, 0.1, 0.1]),
        ([2.0, 2.0, 2.0, 1.0], [1, 1, 1, 1], 1.0, [1 / 3, 1 / 3, 1 / 3, 0]),
        ([5.0], [4], 1.0, [0.25]),
        ([5.0, 3.0], [1, 1], 0.0, [0, 0]),
        ([5.0, 3.0], [1, 1], 2.0, [1, 1]),
        ([1.5, 0.5], [1, 0], 0.5, [0.5, 0]),
        ([0.5, 1e-16], [1, 1e9], 0.25, [0.25, 0]),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_extremes(values, multiplicities, target, wanted, exact):
    arrays = np.array(values), np.array(multiplicities, dtype=float)
    np.testing.assert_allclose(_core.project(*arrays, target, exact), wanted, atol=1e-15)


def test_a_target_out_of_reach_gives_ones():
    got = _core.project(np.array([0.5, -3.0]), np.ones(2), 5.0, True)
    assert got.tolist() == [1, 1]


def test_a_large_multiplicity_is_lifted_to_the_target():
    got = _core.project(np.array([0.5, 0.25]), np.array([1, 1e9]), 1e9, True)
    np.testing.assert_allclose(got, [1, 1 - 1e-9], atol=1e-15)


def test_nothing_to_project():
    assert _core.project(np.empty(0), np.empty(0), 1.0, True).shape == (0,)


def test_many_values_in_the_wrong_order():
    """Test ties in reversed order; the rules pass values that are in order but for the last one."""
    values = np.repeat(np.linspace(0, 1, 1000), 4)
    got = _core.project(values, np.ones(len(values)), 1000.0, True)
    assert abs(got.sum() - 1000) < 1e-9
    assert (np.diff(got) >= 0).all()
