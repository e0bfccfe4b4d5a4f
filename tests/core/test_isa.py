"""Instruction sets: what is chosen, and that two of them give the same bits."""

import os
import subprocess
import sys

import numpy as np
import pytest

from onepass import _core
from tests.contracts.rows import make
from tests.core.learning import METHODS, advance


def import_with(name):
    """Import the core with ONEPASS_ISA set, elsewhere."""
    environment = {**os.environ, "ONEPASS_ISA": name, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", "from onepass import _core; print(_core.isa())"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_environment_forces_one(isa):
    assert import_with(isa).stdout.strip() == isa


def test_one_that_the_machine_does_not_have_is_refused():
    with pytest.raises(ValueError, match="'x86-64-v9' is not one that this machine has"):
        _core.use_isa("x86-64-v9")
    failed = import_with("x86-64-v9")
    assert failed.returncode != 0
    assert "x86-64-v9" in failed.stderr


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_v3_and_v4_give_the_same_bits(dtype, isa):
    if isa != "x86-64-v4":
        pytest.skip("needs AVX-512")
    for method in METHODS:
        for name, d, k in (("gaussian", 301, 9), ("duplicated", 90, 30), ("gaussian", 11, 4)):
            rows = make(name, 120, d, k).astype(dtype)
            results = []
            for level in ("x86-64-v3", "x86-64-v4"):
                _core.use_isa(level)
                state, out = advance(method.start(d, k, dtype), rows, scale=1.0, sums=True)
                results.append([state.basis, state.weights, out.captured, out.energy, out.sums,
                                out.turn, out.inner, state.rest, state.seen])  # fmt: skip
            assert all(map(np.array_equal, *results))
