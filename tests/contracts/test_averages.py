"""Averages of iterates: truncated where d > 2k + 16, and still good for what they are for."""

import numpy as np
import pytest

import onepass
from onepass.schedules import AdaGradNorm
from tests.contracts.variants import VARIANTS

D, K = 60, 3


def spiked(n, seed=0):
    """Rows with K strong directions and a flat rest."""
    rng = np.random.default_rng(seed)
    spread = np.r_[np.full(K, 1.0), np.full(D - K, 0.3)]
    return rng.normal(size=(n, D)) * spread @ np.linalg.qr(rng.normal(size=(D, D)))[0] / 3


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.averages], ids=str)
def test_truncation_hardly_moves_the_top(variant):
    rows = spiked(300)
    average = variant.build(D, K).fit(rows).average_
    wanted = np.linalg.eigh(variant.expected(rows, K).average)[1][:, -K:]
    cosines = np.linalg.svd(average.top(K) @ wanted, compute_uv=False)
    assert cosines.min() > 0.99


def test_the_average_is_better_than_the_last_iterate():
    """Large steps: the last iterate is noisy, the average is not."""
    rows = spiked(3000)
    best = np.linalg.eigvalsh(rows.T @ rows)[-K:].sum()
    step = AdaGradNorm(scale=8.0)
    losses = []
    for average in (False, True):
        estimator = onepass.CappedMSG(K, step_size=step, average=average).fit(rows)
        losses.append(1 - np.sum((rows @ estimator.components_.T) ** 2) / best)
    last, averaged = losses
    assert averaged < 0.5 * last


def test_no_average_is_kept_unless_asked_for():
    rows = spiked(20)
    assert not hasattr(onepass.MSG(K, average=False).fit(rows), "average_")
    assert hasattr(onepass.MSG(K, average=True).fit(rows), "average_")
