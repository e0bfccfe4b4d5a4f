"""MEG's capping against bisection, and at the ends of the floating-point range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass import _core

WIDEST = 9
CASES = 20_000


def capped(logs, log_a):
    return np.exp(np.minimum(0.0, logs + log_a))


def oracle(logs, multiplicities, targets):
    """Return for each row log a by bisection, between nothing capped and all of it."""
    low, high = -logs.max(axis=1) - 60.0, -logs.min(axis=1)
    for _ in range(100):
        middle = 0.5 * (low + high)
        reached = (multiplicities * capped(logs, middle[:, None])).sum(axis=1) >= targets
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def test_equals_bisection_on_many_spectra():
    rng = np.random.default_rng(0)
    shape = (CASES, WIDEST)
    logs = rng.standard_normal(shape) * rng.choice([0.01, 1, 10, 300], (CASES, 1))
    logs = np.where(rng.random((CASES, 1)) < 0.3, np.round(logs), logs)
    unused = np.arange(WIDEST) >= rng.integers(1, WIDEST + 1, (CASES, 1))
    logs = np.where(unused, logs[:, :1], logs)
    multiplicities = np.where(unused, 0, rng.integers(1, 5, shape)).astype(float)
    targets = rng.random(CASES) * multiplicities.sum(axis=1)
    targets = np.where(rng.random(CASES) < 0.5, np.ceil(targets), targets)

    rows = zip(logs, multiplicities, targets, strict=True)
    got = np.exp([_core.cap(*row) for row in rows])
    wanted = capped(logs, oracle(logs, multiplicities, targets)[:, None])
    np.testing.assert_allclose(got[~unused], wanted[~unused], rtol=1e-12, atol=1e-12)


finite = st.floats(-1e300, 1e300) | st.integers(-5, 5).map(float)
spectrum = st.lists(st.tuples(finite | st.just(-np.inf), st.integers(0, 3)), min_size=1, max_size=6)


@given(spectrum, st.floats(0, 20) | st.integers(0, 20).map(float))
def test_never_overflows_and_reaches_the_target(pairs, target):
    logs, multiplicities = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    got = _core.cap(logs, multiplicities, target)
    reachable = min(target, multiplicities[logs > -np.inf].sum())
    assert (got <= 0).all()
    assert (multiplicities * np.exp(got)).sum() == pytest.approx(reachable, rel=1e-12, abs=1e-300)
    ordered = got[np.argsort(-logs, kind="stable")]
    assert (ordered[1:] <= ordered[:-1]).all()


@pytest.mark.parametrize(
    ("logs", "multiplicities", "target", "wanted"),
    [
        ([-1.0, -2.0, -1e300], [1, 1, 1], 2.0, [1, 1, 0]),
        ([-1e300, -1e300], [1, 1], 1.0, [0.5, 0.5]),
        ([-1e300, -1e300, -1e300], [1, 1, 1], 2.0, [2 / 3, 2 / 3, 2 / 3]),
        ([0.0, 0.0, -np.inf], [1, 1, 1], 1.0, [0.5, 0.5, 0]),
        ([0.0, -5.0, -np.inf], [1, 1, 1], 3.0, [1, 1, 0]),
        ([-np.inf, -np.inf], [1, 1], 1.0, [0, 0]),
        ([-3.0, -4.0], [1, 1], 2.0, [1, 1]),
        ([-1e9, -1e9, -2e9], [1, 1e9, 5], 1e9, [1 - 1e-9, 1 - 1e-9, 0]),
        ([-0.5], [784], 776.0, [776 / 784]),
        ([], [], 1.0, []),
    ],
)
def test_extremes(logs, multiplicities, target, wanted):
    got = _core.cap(np.array(logs), np.array(multiplicities, dtype=float), target)
    np.testing.assert_allclose(np.exp(got), wanted, rtol=1e-15, atol=1e-15)
