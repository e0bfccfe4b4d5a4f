"""What rules make of eigenvalues, against the naive projections of the whole spectrum."""

import numpy as np
import pytest

from onepass import _core
from tests import reference

CASES = 300


def spectra(rng):
    """Yield (values, rest, d, k): values descending, of which the complement has the smallest."""
    for _ in range(CASES):
        d = int(rng.integers(1, 12))
        n, k = int(rng.integers(0, d + 1)), int(rng.integers(1, d + 1))
        values = rng.gamma(1.0, 0.8, n)
        if rng.random() < 0.3:
            values = np.round(4 * values) / 4
        rest = float(rng.choice([0.0, 0.2])) if n < d else 0.0
        yield np.sort(np.maximum(values, rest))[::-1].copy(), rest, d, k


def whole(values, rest, d):
    return np.concatenate([values, np.full(d - len(values), rest)])


@pytest.mark.parametrize("exact", [False, True])
def test_msg_without_a_cap(exact):
    for values, rest, d, k in spectra(np.random.default_rng(0)):
        if rest and not exact:
            continue  # it keeps no rest
        rule = _core.Rule("msg", k, max_rank=d, exact_trace=exact)
        after, kept, new_rest = _core.map_spectrum(rule, values, rest, d)
        expected = reference.project(whole(values, rest, d), k, "exact" if exact else "at_most")
        np.testing.assert_allclose(whole(kept, new_rest, d), expected, atol=1e-13)
        assert (kept > new_rest).all()
        assert after.memory == rule.memory


@pytest.mark.parametrize("exact", [False, True])
def test_msg_with_a_cap(exact):
    for values, _, d, k in spectra(np.random.default_rng(1)):
        if k + 1 >= d:
            continue
        rule = _core.Rule("msg", k, max_rank=k + 1, exact_trace=exact)
        _, kept, rest = _core.map_spectrum(rule, values, 0.0, d)
        expected = reference.project(values[: k + 1], k, "exact" if exact else "at_most")
        np.testing.assert_allclose(kept, expected[expected > 0], atol=1e-13)
        assert rest == 0.0


def test_meg():
    for values, rest, d, k in spectra(np.random.default_rng(2)):
        if k == d:
            continue
        _, kept, new_rest = _core.map_spectrum(_core.Rule("meg", k, max_rank=d), values, rest, d)
        expected = -reference.cap_logarithms(-whole(values, rest, d), d - k)
        np.testing.assert_allclose(whole(kept, new_rest, d), expected, rtol=1e-12, atol=1e-13)


def test_incremental_truncates():
    values = np.array([3.0, 2.0, 1.0])
    _, kept, rest = _core.map_spectrum(_core.Rule("incremental", 1, max_rank=2), values, 0.0, 9)
    np.testing.assert_array_equal(kept, [3.0, 2.0])
    assert rest == 0.0


@pytest.mark.parametrize("name", ["oja", "ada_oja", "grouse"])
def test_rules_of_fixed_rank_keep_eigenvalues(name):
    _, kept, _ = _core.map_spectrum(_core.Rule(name, 2, max_rank=2), np.ones(2), 0.0, 9)
    np.testing.assert_array_equal(kept, np.ones(2))


def test_the_rank_test_is_part_of_the_map():
    rule = _core.Rule("msg", 1, max_rank=2, memory=(2, 0, 0))  # next test, steps, deficient
    for step in range(1, 5):
        rule, kept, _ = _core.map_spectrum(rule, np.array([1.0, 0.9, 0.8]), 0.0, 9)
        assert len(kept) == (3 if step > 2 else 2)
    assert (rule.max_rank, rule.memory) == (4, [8, 4, 0])
    rule, _, _ = _core.map_spectrum(rule, np.array([1.0]), 0.0, 9)
    assert rule.memory == [8, 5, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": np.array([1.0, 2.0])}, "not descending"),
        ({"values": np.ones(4)}, "4 eigenvalues in 3 dimensions"),
        ({"values": np.array([np.nan])}, "is nan"),
        ({"rest": np.inf}, "rest is inf"),
        ({"d": 1, "values": np.ones(1)}, "k is 2"),
        ({"d": 2**40}, "too large"),
    ],
)
def test_arguments_that_do_not_fit(changes, message):
    fitting = {"rule": _core.Rule("msg", 2, max_rank=3), "values": np.ones(2), "rest": 0.0, "d": 3}
    with pytest.raises(ValueError, match=message):
        _core.map_spectrum(**fitting | changes)
