"""What rules make of eigenvalues: what defines the projections, on hard spectra."""

import numpy as np
import pytest

from onepass import _core


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
