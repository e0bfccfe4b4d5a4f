"""Random calls of every binding end in a result or in an exception that is promised."""

import os
import subprocess
import sys

import pytest

from onepass import _core
from tests.core import fuzz

NO_ARGUMENTS = {"isa", "supported_isas"}
CALLS = [600, pytest.param(100_000, marks=pytest.mark.long)]


def test_every_binding_is_called():
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert set(fuzz.BINDINGS) == public - NO_ARGUMENTS - {"Advanced", "Completion"}


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("name", fuzz.BINDINGS)
def test_random_calls(name, calls, isa):
    """Test in another process, which a wild pointer may end; the calls are shared by the sets."""
    sets = _core.supported_isas()
    share = -(-calls // len(sets))
    ran = subprocess.run(
        [sys.executable, fuzz.__file__, name, str(share), str(sets.index(isa))],
        env={**os.environ, "ONEPASS_ISA": isa, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False, timeout=3000,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert share // 10 < int(ran.stdout) < share  # both ends are reached
