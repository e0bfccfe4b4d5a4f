"""Installing from source where the machine has no compiler at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("c++", "g++", "clang++", "cc", "gcc", "clang", "ld", "ar", "ranlib", "cmake", "ninja")
FIT = """
import numpy as np
from onepass import CappedMSG, _core
assert _core.supported_isas()
print(CappedMSG(2).fit(np.random.default_rng(0).normal(size=(50, 5))).components_.shape)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="what is on PATH is that of Linux")
def test_pip_install_without_compiler_linker_ar_cmake_and_ninja(tmp_path):
    programs, source = tmp_path / "bin", tmp_path / "source"
    programs.mkdir()
    for name in ("sh", "uname", "env"):  # what the scripts of pip and CMake themselves call
        (programs / name).symlink_to(Path("/bin") / name)
    for tool in TOOLS:
        assert not (programs / tool).exists()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    kept = {name: value for name, value in os.environ.items() if name not in ("CXX", "CC")}
    environment = {**kept, "PATH": str(programs), "HOME": str(tmp_path), "PYTHONPATH": ""}
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv/bin/python")
    how = {"env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
    built = subprocess.run([python, "-m", "pip", "install", str(source)], **how, check=False)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    ran = subprocess.run([python, "-c", FIT], **how, check=False)
    assert ran.stdout.strip() == "(2, 5)", ran.stderr
