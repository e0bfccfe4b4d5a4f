"""The kernels also run in the interpreter, so that they can be stepped through."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="this is that run")
def test_all_tests_of_the_kernels_pass_in_the_interpreter():
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(here)],
        cwd=here.parents[1],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
