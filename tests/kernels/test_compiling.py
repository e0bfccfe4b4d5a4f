"""Compilation is announced when it happens, and happens when it must. All in other processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import onepass.kernels
from onepass.kernels.compiling import MESSAGE

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

USE = """
import numpy as np
from onepass.kernels.simplex import clip_shifted, total_clipped
clip_shifted(0.5, 0.25)
print(total_clipped(2, np.ones(2), np.ones(2), 0.0))
"""


@pytest.fixture
def run(tmp_path):
    """Run Python code in a new process, with a cache of compiled functions of its own."""

    def run(code, **environment):
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": "0", **cache, **environment},
            capture_output=True,
            text=True,
            check=True,
        )

    return run


def test_says_once_that_it_compiles_and_never_again_from_the_cache(run):
    first, second = run(USE), run(USE)
    assert first.stdout == second.stdout == "2.0\n"
    assert first.stderr == MESSAGE + "\n"
    assert second.stderr == ""


def test_says_nothing_without_the_compiler(run):
    assert run(USE, NUMBA_DISABLE_JIT="1").stderr == ""


def test_says_nothing_when_only_others_compile(run):
    code = "import numba, onepass.kernels.simplex; numba.njit(lambda x: x + 1)(1)"
    assert run(code).stderr == ""


def test_a_changed_kernel_reaches_its_callers(run, tmp_path):
    package = tmp_path / "onepass"
    (package / "kernels").mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copy(Path(onepass.kernels.__file__).parent / "compiling.py", package / "kernels")
    head = "from onepass.kernels.compiling import jit\n"
    caller = "from onepass.kernels.inner import f\n@jit\ndef g(x): return f(x)\n"
    (package / "caller.py").write_text(head + caller)
    for added in (1, 2):
        inner = f"@jit\ndef f(x): return x + {added}\n"
        (package / "kernels" / "inner.py").write_text(head + inner)
        code = "from onepass.caller import g; print(g(0))"
        assert run(code, PYTHONPATH=str(tmp_path)).stdout == f"{added}\n"


def test_compiles_in_memory_where_nothing_can_be_written(tmp_path):
    """A file that Numba finds no cache for, as in a read-only image without a home."""
    source = "from onepass.kernels.compiling import jit\n@jit\ndef f(x): return x + 1\n"
    scope = {"__name__": "onepass.elsewhere"}
    exec(compile(source, "/no/such/file.py", "exec"), scope)
    assert scope["f"](np.float64(1.0)) == 2.0


def test_functions_made_around_others_are_kept_apart(run, tmp_path):
    code = """
import numpy as np
from onepass.kernels.compiling import jit

@jit
def one(x):
    return 1.0

@jit
def two(x):
    return 2.0

def around(inner):
    @jit
    def outer(x):
        return 10.0 * inner(x)
    return outer

print(*[around(f)(0.0) for f in ORDER])
"""
    path = tmp_path / "made.py"
    for order in ("(one, two)", "(two, one)", "(one, two)"):
        path.write_text(code.replace("ORDER", order))
        os.utime(path, (0, 0))
        said = run(f"import runpy; runpy.run_path({str(path)!r})").stdout
        assert said == {"(one, two)": "10.0 20.0\n", "(two, one)": "20.0 10.0\n"}[order]
