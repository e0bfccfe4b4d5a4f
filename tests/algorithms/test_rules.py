"""A batch of one row is a step with that row: both ways give the same iterates."""

import numpy as np
import pytest

from onepass.algorithms.ada_oja import AdaOjaRule
from onepass.algorithms.capped_msg import CappedMSGRule
from onepass.algorithms.incremental import IncrementalRule
from onepass.algorithms.meg import MEGRule
from onepass.algorithms.msg import MSGRule
from onepass.algorithms.oja import OjaRule
from onepass.algorithms.solver import Solver
from onepass.schedules import InverseSqrt
from onepass.subspace import orthonormal

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


@pytest.mark.parametrize("name", RULES)
def test_batches_of_one_row(name):
    rows = np.random.default_rng(0).normal(size=(200, D)) * np.linspace(2, 0.5, D)
    by_rows, by_batches = RULES[name](), RULES[name]()
    solver = Solver(by_rows, InverseSqrt(0.3), rows.dtype)
    solver.advance(rows)
    state = by_batches.start(rows.dtype)
    for t, row in enumerate(rows, 1):
        state = by_batches.step(state, row[None], 0.3 / np.sqrt(t))
    expected, got = solver.iterate().to_dense(), by_batches.primal(state).to_dense()
    np.testing.assert_allclose(got, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(by_rows.memory, by_batches.memory, rtol=1e-10)
    assert by_rows.max_rank == by_batches.max_rank
    assert name != "growing" or by_rows.max_rank > K


def test_merging_is_no_step_of_the_rank_test():
    rule = RULES["growing"]()
    solver = Solver(rule, InverseSqrt(0.3), np.dtype(float))
    solver.advance(np.random.default_rng(0).normal(size=(20, D)))
    before = list(rule.memory)
    rule.merged([solver.state, solver.state], [0.5, 0.5])
    assert list(rule.memory) == before
