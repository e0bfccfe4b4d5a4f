"""Which chunks a challenger learns from does not depend on how many are asked for at once."""

import numpy as np
import pytest

from onepass.averaging import Average
from onepass.estimators.challenger import Challenger
from onepass.estimators.walk import Walk
from onepass.rules.msg import MSG
from onepass.schedules import AdaGradNorm

CONVINCING, HOPELESS, UNDECIDED = 9.0, -9.0, 0.0


def challenger(gain):
    """Return one that was better, worse or as good on many chunks."""
    average = Average(5, 5, np.dtype(np.float64))
    found = Challenger(Walk(MSG(2, 5, 3), AdaGradNorm(1.0), True, np.dtype(float), average), 1.0)
    noise = np.random.default_rng(0).normal(size=40)
    for time in range(40):
        found.validation.add(gain + noise[time] - noise.mean(), 10.0, 1.0)
    assert found.validation.convincing() == (gain > 0)
    assert found.validation.hopeless() == (gain < 0)
    return found


@pytest.mark.parametrize("gain", [CONVINCING, HOPELESS, UNDECIDED])
@pytest.mark.parametrize("stretch", [range(200), range(256, 3000)])
def test_one_by_one_or_many_at_once(gain, stretch):
    found, random = challenger(gain), np.random.default_rng(1)
    one_by_one = [c for c in stretch if found.lessons(range(c, c + 1))]
    start, at_once = stretch.start, []
    while start < stretch.stop:
        stop = min(start + int(random.integers(1, 80)), stretch.stop)
        at_once += found.lessons(range(start, stop))
        start = stop
    assert at_once == one_by_one


def test_the_longer_a_stream_the_more_seldom():
    def share(gain, start, stop):
        return len(challenger(gain).lessons(range(start, stop))) / (stop - start)

    assert share(CONVINCING, 0, 1000) == 1.0
    assert share(UNDECIDED, 0, 16) == 1.0
    assert [share(UNDECIDED, n, 2 * n) * n for n in (16, 32, 64, 128)] == [8.0] * 4
    assert [share(UNDECIDED, n, 2 * n) * n for n in (256, 512, 1024)] == [2.0] * 3
    assert challenger(HOPELESS).lessons(range(2, 1024)) == [4, 16, 64, 256]
