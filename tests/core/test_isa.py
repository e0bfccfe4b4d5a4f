"""Instruction sets: what is chosen."""

import os
import subprocess
import sys

import pytest

from onepass import _core


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
