"""Kernels also run uncompiled, so that they can be stepped through."""

import os
import subprocess
import sys
from pathlib import Path

CASES = "5x3 and (gaussian or one_hot or with_zeros)"


def test_contracts_without_compilation():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", CASES]
    run = subprocess.run(
        [*command, "tests/contracts/test_equals_reference.py"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
