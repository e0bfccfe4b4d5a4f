"""The example of Section 5.2: where the incremental algorithm gets stuck, Capped MSG does not."""

import numpy as np
import pytest
from scipy.stats import binomtest

from onepass import CappedMSG, Incremental

TOY = np.array([[np.sqrt(3), 0], [0, np.sqrt(2)]])


def ends(estimator, seeds, n_rows):
    """The first component after one stream per seed, as an array (seeds, 2)."""
    result = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = TOY[(rng.random(n_rows) < 2 / 3).astype(int)]
        result.append(estimator.fit(rows).components_[0])
    return np.array(result)


def test_incremental_is_stuck_in_five_of_nine():
    """Rows after the first few cannot change where it ends, so that short streams tell."""
    components = ends(Incremental(1, center=False), range(2000), n_rows=60)
    np.testing.assert_allclose(components.max(axis=1), 1)
    stuck = int((components[:, 0] > 0.5).sum())
    assert binomtest(stuck, 2000, 5 / 9).pvalue > 0.01


def never_stuck(seeds):
    """Over 3000 rows the steps become small enough for the last iterate to settle."""
    components = ends(CappedMSG(1, average=False, center=False), seeds, n_rows=3000)
    np.testing.assert_allclose(components, np.tile([0.0, 1.0], (len(seeds), 1)), atol=1e-9)


def test_capped_msg_is_never_stuck():
    never_stuck(range(300))


@pytest.mark.long
def test_capped_msg_is_never_stuck_in_2000():
    never_stuck(range(2000))
