"""Everything is checked where Python calls: nothing is reached with sizes that do not fit."""

import os
import subprocess
import sys

import numpy as np
import pytest

from onepass import _core

RULE = _core.Rule("msg", 2, max_rank=3)
POINT, INTS = np.ones(6), np.int32
FITTING = {
    "advance": [RULE, np.eye(2, 6), np.ones(2), 0.0, np.ones((4, 6)), np.ones(4)],
    "advance_gram": [RULE, np.eye(6), 2, 9, np.ones(2), 0.0, np.ones(4)],
    "add_outer": [np.eye(6), np.ones((4, 6)), POINT, POINT, np.ones(4), 2, 0, 1],
    "add_sparse_outer": [
        np.eye(6), np.ones(3), np.array([0, 2, 1], INTS), np.array([0, 2, 3], INTS), np.ones(2),
    ],
    "measure": [np.ones((4, 6)), POINT, POINT, POINT, np.ones((2, 6))],
    "centre": [np.ones((4, 6)), np.ones(4), POINT, 1.0],
    "complete": [
        np.ones((4, 6)), POINT, np.ones((6, 2)), POINT, np.ones(4), np.eye(6),
    ],
}  # fmt: skip
NAMES = ["rows", "mean", "loadings", "noise", "weights", "covariance"]  # of `complete`
# (function, place, axis) of sizes that nothing else has to have.
FREE = {("measure", 0, 0), ("measure", 4, 0), ("complete", 2, 1)}
ANY_ORDER = {("measure", 0), ("add_outer", 1)}  # (function, place)
ARRAYS = [
    (name, place)
    for name, fitting in FITTING.items()
    for place, value in enumerate(fitting)
    if isinstance(value, np.ndarray)
]


def call(name, place=None, value=None):
    """Call a function with arguments that fit, but for one."""
    given = list(FITTING[name])
    if place is not None:
        given[place] = value
    if name == "complete":
        return _core.complete(**dict(zip(NAMES, given, strict=True)))
    return getattr(_core, name)(*given)


@pytest.mark.parametrize(("name", "place"), ARRAYS)
def test_arrays_that_do_not_fit(name, place):
    call(name)
    value = FITTING[name][place]
    for axis in range(value.ndim):
        for more in (-1, 1):
            shape = list(value.shape)
            shape[axis] += more
            if (name, place, axis) not in FREE:
                with pytest.raises(ValueError):
                    call(name, place, np.resize(value, shape))
    wide = np.repeat(value, 2, axis=-1)[..., ::2]
    others = [value[None], value.tolist(), value.astype(np.int64), value.astype("f2"), "much", 0.1]
    for other in others + ([] if (name, place) in ANY_ORDER else [wide, wide.T]):
        with pytest.raises(TypeError):
            call(name, place, other)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("advance", 4, np.ones((4, 6), np.float32)),  # of another type than the basis
        ("advance", 3, "much"),
        ("advance", 0, "msg"),
        ("advance_gram", 2, 7),
        ("advance_gram", 2, -1),
        ("advance_gram", 3, 1),
        ("advance_gram", 3, 2**40),
        ("add_outer", 5, 0),
        ("add_outer", 6, 1),
        ("add_outer", 6, -1),
        ("add_outer", 5, 2**31),
        ("add_sparse_outer", 2, np.array([2, 0, 1], INTS)),
        ("add_sparse_outer", 2, np.array([1, 1, 1], INTS)),
        ("add_sparse_outer", 2, np.array([0, 2, 6], INTS)),
        ("add_sparse_outer", 2, np.array([0, 2, -1], INTS)),
        ("add_sparse_outer", 3, np.array([1, 2, 3], INTS)),
        ("add_sparse_outer", 3, np.array([0, 4, 3], INTS)),
        ("add_sparse_outer", 3, np.array([0, -1, 3], INTS)),
        ("add_sparse_outer", 3, np.array([], INTS)),
    ],
)
def test_values_that_do_not_fit(name, place, value):
    with pytest.raises((TypeError, ValueError)):
        call(name, place, value)


@pytest.mark.parametrize(("name", "k", "max_rank"), [("pca", 2, 3), ("msg", 0, 3), ("msg", 2, 0)])
def test_rules_that_make_no_sense(name, k, max_rank):
    with pytest.raises(ValueError):
        _core.Rule(name, k, max_rank=max_rank)


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
    command = [sys.executable, "-c", LITTLE_MEMORY]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert int(ran.stdout) > 3
