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
        ({"rows": np.ones((4, 5))}, "rows have 5 columns and the basis 6"),
        ({"steps": np.ones(3)}, "steps has 3 entries, but 4 are needed"),
        ({"basis": np.zeros((7, D)), "weights": np.ones(7)}, "basis has 7 rows and 6 columns"),
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
    ("name", "k", "max_rank", "message"),
    [("pca", 2, 3, "the rule 'pca' is not known"), ("msg", 0, 3, "k is 0"), ("msg", 2, 0, "0")],
)
def test_rules_that_make_no_sense(name, k, max_rank, message):
    with pytest.raises(ValueError, match=message):
        _core.Rule(name, k, max_rank=max_rank)


@pytest.mark.parametrize(
    ("gram", "m", "d", "message"),
    [
        (np.eye(3, 4), 0, 9, "not square"),
        (np.eye(3), 4, 9, "fewer than m"),
        (np.eye(3), -1, 9, "fewer than m"),
        (np.eye(3), 2, 1, "no more rows than columns"),
        (np.eye(3), 2, 2**40, "too large"),
        (np.eye(3), 1, 9, "weights has 2 entries, but 1 are needed"),
    ],
)
def test_gram_matrices_that_do_not_fit(gram, m, d, message):
    with pytest.raises(ValueError, match=message):
        _core.advance_gram(_core.Rule("msg", 1, max_rank=3), gram, m, d, WEIGHTS, 0.0, None)


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
