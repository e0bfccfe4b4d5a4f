"""MEG's capping against bisection, and at the ends of the floating-point range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass.kernels.capping import cap, log_scale

WIDEST = 9


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


def test_equals_bisection_on_many_spectra(cases):
    rng = np.random.default_rng(0)
    shape = (cases // 2, WIDEST)
    logs = rng.standard_normal(shape) * rng.choice([0.01, 1, 10, 300], (shape[0], 1))
    logs = np.where(rng.random((shape[0], 1)) < 0.3, np.round(logs), logs)
    unused = np.arange(WIDEST) >= rng.integers(1, WIDEST + 1, (shape[0], 1))
    logs = np.where(unused, logs[:, :1], logs)
    multiplicities = np.where(unused, 0, rng.integers(1, 5, shape)).astype(float)
    targets = rng.random(shape[0]) * multiplicities.sum(axis=1)
    targets = np.where(rng.random(shape[0]) < 0.5, np.ceil(targets), targets)

    order = np.empty((2, WIDEST), np.int64)
    rows = zip(logs, multiplicities, targets, strict=True)
    got = np.array([log_scale(WIDEST, *row, order) for row in rows])
    wanted = oracle(logs, multiplicities, targets)
    ours, theirs = capped(logs, got[:, None]), capped(logs, wanted[:, None])
    np.testing.assert_allclose(ours[~unused], theirs[~unused], rtol=1e-12, atol=1e-12)
    for row, *rest, log_a in zip(logs[:500], multiplicities, targets, got, strict=False):
        wanted = np.minimum(0.0, row + log_a)
        cap(WIDEST, row, *rest, order)
        np.testing.assert_allclose(row, wanted, rtol=1e-13, atol=1e-13)


finite = st.floats(-1e300, 1e300) | st.integers(-5, 5).map(float)
spectrum = st.lists(st.tuples(finite | st.just(-np.inf), st.integers(0, 3)), min_size=1, max_size=6)


@given(spectrum, st.floats(0, 20) | st.integers(0, 20).map(float))
def test_never_overflows_and_reaches_the_target_between_neighbouring_floats(pairs, target):
    logs, multiplicities = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    n = len(logs)
    log_a = log_scale(n, logs, multiplicities, target, np.empty((2, n), np.int64))
    reachable = min(target, multiplicities[logs > -np.inf].sum())
    if target == 0.0:
        assert log_a == -np.inf
    else:
        assert np.isfinite(log_a)
        # With |log a| of 1e300 its neighbours are so far apart that all values jump between them.
        width = 1e-13 + 4 * np.spacing(abs(log_a))
        below = (multiplicities * capped(logs, log_a - width)).sum()
        above = (multiplicities * capped(logs, log_a + width)).sum()
        assert below <= reachable * (1 + 1e-13)
        assert reachable * (1 - 1e-13) <= above


@pytest.mark.parametrize(
    ("logs", "multiplicities", "target", "wanted"),
    [
        ([-1.0, -2.0, -1e300], [1, 1, 1], 2.0, [1, 1, 0]),
        ([-1e300, -1e300, -1e300], [1, 1, 1], 2.0, [2 / 3, 2 / 3, 2 / 3]),
        ([0.0, 0.0, -np.inf], [1, 1, 1], 1.0, [0.5, 0.5, 0]),
        ([0.0, -5.0, -np.inf], [1, 1, 1], 3.0, [1, 1, 0]),
        ([-np.inf, -np.inf], [1, 1], 1.0, [0, 0]),
        ([-3.0, -4.0], [1, 1], 2.0, [1, 1]),
        ([-1e9, -1e9, -2e9], [1, 1e9, 5], 1e9, [1 - 1e-9, 1 - 1e-9, 0]),
        ([-0.5], [784], 776.0, [776 / 784]),
    ],
)
def test_extremes(logs, multiplicities, target, wanted):
    n = len(logs)
    logs = np.array(logs)
    room = np.empty((2, n), np.int64)
    cap(n, logs, np.array(multiplicities, dtype=float), target, room)
    np.testing.assert_allclose(np.exp(logs), wanted, rtol=1e-15, atol=1e-15)
