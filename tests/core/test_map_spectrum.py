"""What rules make of eigenvalues: the naive projections, and what defines these on hard spectra."""

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


def hard_spectra(rng):
    """Yield the same with ties, huge and tiny values, and complements of up to 1e9 dimensions."""
    for case in range(3000):
        n = int(rng.integers(1, 11))
        values = abs(rng.standard_normal(n)) * rng.choice([0.01, 0.3, 1, 4])
        if case % 5 == 1:
            values = np.round(values * 2) / 2
        if case % 5 == 2:
            values[rng.random(n) < 0.3] = 10.0 ** rng.integers(1, 301)
        if case % 5 == 3:
            values *= 10.0 ** rng.integers(-300, 1, n)
        more = int(10 ** rng.integers(0, 10)) if case % 3 == 0 else int(rng.integers(0, 5))
        rest = values.min() / 2 if more else 0.0
        yield np.sort(values)[::-1].copy(), rest, n + more, int(rng.integers(1, n + 1))


def whole(values, rest, d):
    return np.concatenate([values, np.full(d - len(values), rest)])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("capped", [False, True])
def test_msg(exact, capped):
    for values, rest, d, k in spectra(np.random.default_rng(0)):
        if rest and (capped or not exact):
            continue  # it keeps no rest
        cap = min(k + 1, d) if capped else d
        rule = _core.Rule("msg", k, max_rank=cap, exact_trace=exact)
        _, kept, new_rest = _core.map_spectrum(rule, values, rest, d)
        projected = values[:cap] if cap < d else whole(values, rest, d)
        expected = reference.project(projected, k, "exact" if exact else "at_most")
        found = whole(kept, new_rest, d)
        np.testing.assert_allclose(found, whole(expected, 0.0, d), atol=1e-13)
        assert (kept > new_rest).all()


def test_meg():
    for values, rest, d, k in spectra(np.random.default_rng(2)):
        if k == d:
            continue
        _, kept, new_rest = _core.map_spectrum(_core.Rule("meg", k, max_rank=d), values, rest, d)
        expected = -reference.cap_logarithms(-whole(values, rest, d), d - k)
        np.testing.assert_allclose(whole(kept, new_rest, d), expected, rtol=1e-12, atol=1e-13)


def test_one_shift_and_clip_reach_the_trace_on_hard_spectra():
    """Test Lemma 3.2: sigma = clip(sigma' + S, 0, 1) with one S, of which the sum is k."""
    for values, rest, d, k in hard_spectra(np.random.default_rng(3)):
        rule = _core.Rule("msg", k, max_rank=d, exact_trace=True)
        _, kept, new_rest = _core.map_spectrum(rule, values, rest, d)
        times = np.append(np.ones(len(values)), d - len(values))
        before = np.append(values, rest)
        after = np.append(whole(kept, new_rest, len(values)), new_rest if len(values) < d else 0.0)
        assert (times * after).sum() == pytest.approx(k, rel=1e-12)
        used = times > 0
        before, after = before[used], after[used]
        inside = (after > 0.0) & (after < 1.0)
        rounding = 1e-12 + 4 * np.spacing(np.append(before[inside], 0.0).max())
        shifts = after[inside] - before[inside]
        if len(shifts):
            assert np.ptp(shifts) < rounding
            assert (before[after == 0.0] + shifts[0] <= rounding).all()
            assert (before[after == 1.0] + shifts[0] >= 1.0 - rounding).all()
        else:
            assert before[after == 1.0].min(initial=np.inf) >= before[after == 0.0].max(initial=0.0)


def test_one_factor_and_cap_reach_the_trace_on_hard_spectra():
    """Test MEG's: omega = min(1, alpha omega'), of which the sum is d - k, in logarithms."""
    for values, rest, d, k in hard_spectra(np.random.default_rng(4)):
        if k == d:
            continue
        _, kept, new_rest = _core.map_spectrum(_core.Rule("meg", k, max_rank=d), values, rest, d)
        times = np.append(np.ones(len(values)), d - len(values))
        after = np.append(whole(kept, new_rest, len(values)), new_rest)
        assert (times * np.exp(-after)).sum() == pytest.approx(d - k, rel=1e-12)
        before, after = np.append(values, rest)[times > 0], after[times > 0]
        shifts = (before - after)[after > 0.0]
        rounding = 1e-12 + 4 * np.spacing(before.max())
        assert np.ptp(shifts) <= rounding if len(shifts) else True
        assert (before[after == 0.0] <= shifts.max(initial=before.min()) + rounding).all()
