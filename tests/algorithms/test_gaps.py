"""Rows with gaps: Grassmannian SGD is that of its paper, and every rule completes rows."""

import numpy as np
import pytest

from onepass.algorithms.ada_oja import AdaOjaRule
from onepass.algorithms.capped_msg import CappedMSGRule
from onepass.algorithms.grouse import GrouseRule
from onepass.algorithms.incremental import IncrementalRule
from onepass.algorithms.meg import MEGRule
from onepass.algorithms.msg import MSGRule
from onepass.algorithms.oja import OjaRule
from onepass.algorithms.solver import Solver
from onepass.schedules import AdaGradNorm, InverseSqrt
from onepass.subspace import orthonormal
from tests import reference

D, K = 12, 3
INIT = orthonormal(np.random.default_rng(5).normal(size=(K, D)))
RULES = {
    "msg": lambda: MSGRule(K, D),
    "msg, exact": lambda: MSGRule(K, D, exact_trace=True),
    "capped": lambda: CappedMSGRule(K, D, max_rank=K + 1),
    "capped, exact": lambda: CappedMSGRule(K, D, max_rank=K + 1, exact_trace=True),
    "growing": lambda: CappedMSGRule(K, D, max_rank=K, grow=True),
    "meg": lambda: MEGRule(K, D),
    "incremental": lambda: IncrementalRule(K, D, max_rank=K + 2),
    "oja": lambda: OjaRule(K, D, init=INIT),
    "ada oja": lambda: AdaOjaRule(K, D, init=INIT),
}


def rows_with_gaps(n=150, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, D)) * np.linspace(2, 0.5, D)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


@pytest.mark.parametrize("missing", [0.02, 0.3, 0.8])  # now and then a gap; fewer than k observed
def test_grouse_is_the_naive_transcription(missing):
    rows = rows_with_gaps(missing=missing)
    solver = Solver(GrouseRule(K, D, init=INIT), InverseSqrt(0.2), rows.dtype)
    progress = solver.advance_incomplete(rows)
    steps = 0.2 / np.sqrt(np.arange(1, len(rows) + 1))
    pushes = [np.sqrt(eta) * row[None] for eta, row in zip(steps, rows, strict=True)]
    expected = list(reference.grouse(pushes, D, K, INIT))[-1]
    np.testing.assert_allclose(solver.iterate().to_dense(), expected, atol=1e-9)
    # What is captured is |U w|^2, of a row whose gaps are those of U w.
    U = INIT
    observed = ~np.isnan(rows[0])
    w = np.linalg.lstsq(U[:, observed].T, rows[0, observed], rcond=None)[0]
    np.testing.assert_allclose(progress.captured[0], w @ w)
    assert len(progress.energy) == len(rows)
    assert (progress.energy >= progress.captured * (1 - 1e-9)).all()


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_every_rule_completes_rows_by_the_iterate_before_their_step(name, batch_size):
    rows = rows_with_gaps()
    at_once, stepwise = (
        Solver(RULES[name](), AdaGradNorm(), rows.dtype, batch_size) for _ in range(2)
    )
    progress = at_once.advance_incomplete(rows)
    energy = []
    for start in range(0, len(rows), batch_size):
        batch = rows[start : start + batch_size].copy()
        for t in np.flatnonzero(np.isnan(batch).any(axis=1)):
            batch[t] = stepwise.rule.completed(stepwise.state, batch[t])
        energy.extend(stepwise.advance(batch).energy)
    got, expected = at_once.iterate().to_dense(), stepwise.iterate().to_dense()
    np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(progress.energy, energy, rtol=1e-7)


def test_without_directions_gaps_are_zero():
    row = np.full(D, np.nan)
    row[0] = 3.0
    rule = RULES["msg"]()
    np.testing.assert_array_equal(
        rule.completed(rule.start(np.dtype(float)), row), np.r_[3.0, np.zeros(D - 1)]
    )
