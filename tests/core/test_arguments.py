"""Everything is checked where Python calls: nothing is reached with sizes that do not fit."""

import os
import subprocess
import sys

import numpy as np
import pytest

from onepass import _core

D = 6
RULE = _core.Rule("msg", 2, max_rank=3)
BASIS, WEIGHTS, ROWS = np.eye(2, D), np.ones(2), np.ones((4, D))


def call(rule=RULE, basis=BASIS, weights=WEIGHTS, rest=0.0, rows=ROWS, steps=None, **options):
    return _core.advance(rule, basis, weights, rest, rows, steps, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": np.ones(3)}, "weights has 3 entries, but 2 are needed"),
        ({"weights": np.array([1.0, np.nan])}, r"weights\[1\] is nan"),
        ({"rows": np.ones((4, 5))}, "rows have 5 columns and the basis 6"),
        ({"steps": np.ones(3)}, "steps has 3 entries, but 4 are needed"),
        (
            {"steps": np.array([1.0, -1.0, 1.0, 1.0])},
            r"steps\[1\] is -1; it must be finite and not negative",
        ),
        ({"steps": np.array([1.0, np.inf, 1.0, 1.0])}, r"steps\[1\] is inf"),
        ({"rest": np.nan}, "rest is not finite"),
        ({"rest": np.inf}, "rest is not finite"),
        ({"scale": -1.0}, "scale is -1; it must be"),
        ({"scale": np.inf}, "scale is inf; it must be"),
        ({"seen": np.nan}, "seen is nan; it must be"),
        ({"rule": _core.Rule("msg", 7, max_rank=8)}, "k is 7, but there are only 6 columns"),
        ({"rule": _core.Rule("oja", 3, max_rank=3)}, "oja needs a basis of k = 3 rows, not 2"),
        (
            {"basis": np.zeros((7, D)), "weights": np.ones(7)},
            "basis has 7 rows, more than its 6 columns",
        ),
        ({"basis": np.zeros((0, 0)), "weights": np.ones(0), "rows": np.zeros((1, 0))}, "column"),
    ],
)
def test_values_that_do_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": ROWS.astype(np.float32)},  # of another type than the basis
        {"basis": BASIS.astype(np.float32)},
        {"rows": ROWS.astype(np.int64), "basis": BASIS.astype(np.int64)},
        {"rows": np.ones((D, 4)).T},  # columns lie side by side
        {"rows": np.ones((4, 2 * D))[:, ::2]},
        {"basis": np.eye(D)[:, :2].T},
        {"rows": ROWS[0]},
        {"rows": ROWS[None]},
        {"rows": ROWS.tolist()},
        {"rows": None},
        {"weights": WEIGHTS.astype(np.float32)},
        {"weights": [1.0, 1.0]},
        {"steps": np.ones(4, np.float32)},
        {"steps": np.ones((4, 1))},
        {"steps": 0.1},
        {"rest": "much"},
        {"rule": "msg"},
        {"rows": ROWS.astype(">f8")},
    ],
)
def test_types_that_do_not_fit(changes):
    with pytest.raises(TypeError):
        call(**changes)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("pca", 2), {"max_rank": 3}, "the rule 'pca' is not known"),
        (("msg", 0), {"max_rank": 3}, "k is 0"),
        (("msg", 2), {"max_rank": 0}, "max_rank is 0"),
        (("msg", 2), {"max_rank": 3, "step": -1}, "step"),
        (("msg", 2), {"max_rank": 3, "next_test": 0}, "next_test"),
    ],
)
def test_rules_that_make_no_sense(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        _core.Rule(*arguments, **options)


def test_a_rule_says_what_it_is():
    rule = _core.Rule("msg", 2, max_rank=3, exact_trace=True, grow=True, step=7, next_test=128)
    assert (rule.name, rule.k, rule.max_rank) == ("msg", 2, 3)
    assert (rule.exact_trace, rule.grow, rule.deficient) == (True, True, False)
    assert (rule.step, rule.next_test) == (7, 128)
    with pytest.raises(AttributeError):
        rule.k = 3


@pytest.mark.parametrize(
    ("gram", "m", "d", "message"),
    [
        (np.eye(3, 4), 0, 9, "not square"),
        (np.eye(3), 4, 9, "fewer than m"),
        (np.eye(3), -1, 9, "fewer than m"),
        (np.eye(3), 2, 1, "more than its 1 columns"),
        (np.eye(3), 2, 2**40, "too large"),
        (np.eye(3), 1, 9, "weights has 2 entries, but 1 are needed"),
    ],
)
def test_gram_matrices_that_do_not_fit(gram, m, d, message):
    with pytest.raises(ValueError, match=message):
        _core.advance_gram(_core.Rule("msg", 1, max_rank=3), gram, m, d, WEIGHTS, 0.0, None)


def test_the_other_kernels_check_their_arguments():
    one, two = np.ones(1), np.ones(2)
    square = np.eye(2)
    for function, arguments in (
        (_core.rank_one, (one, two)),
        (_core.rank_one, (two, np.array([1.0, np.nan]))),
        (_core.project, (one, two, 1.0, True)),
        (_core.project, (np.array([np.inf]), one, 1.0, True)),
        (_core.project, (one, -one, 1.0, True)),
        (_core.project, (one, one, -1.0, True)),
        (_core.cap, (one, two, 1.0)),
        (_core.cap, (np.array([np.inf]), one, 1.0)),
        (_core.cap, (np.array([np.nan]), one, 1.0)),
        (_core.cap, (one, one, np.nan)),
        (_core.cholesky, (np.eye(2, 3),)),
        (_core.gram, (square, np.ones((2, 3)))),
        (_core.combine, (square, square, square)),
        (_core.combine, (square, square, np.ones((0, 3)))),
        (_core.split, (square, one)),
        (_core.split, (square, np.array([1.0, np.inf]))),
    ):
        with pytest.raises(ValueError):
            function(*arguments)


def test_results_that_no_memory_can_hold_are_memory_errors():
    with pytest.raises(MemoryError):
        _core.gram(np.zeros((0, 0)), np.zeros((2**31, 0)))
    with pytest.raises(MemoryError):
        _core.combine(np.zeros((2**30, 0)), np.zeros((0, 2**30)), np.zeros((0, 2**30)))


LITTLE_MEMORY = """
import resource
import numpy as np
from onepass import _core
d = 50_000
rows = np.random.default_rng(0).normal(size=(48, d))
rule = _core.Rule("msg", 3, max_rank=5)
def run():
    _core.advance(rule, np.zeros((0, d)), np.zeros(0), 0.0, rows, None, scale=1.0, sums=True)
run()  # BLAS takes its memory with the first call
failed = 0
for room in range(2**19, 2**25, 2**21):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, -1))
    try:
        run()
    except MemoryError:
        failed += 1
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
run()
print(failed)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="AddressSanitizer needs all addresses")
def test_a_call_that_runs_out_of_memory_says_so_and_frees_what_it_had():
    """Test allocations that fail in many places of a call that needs about 30 MB."""
    ran = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert int(ran.stdout) > 3
