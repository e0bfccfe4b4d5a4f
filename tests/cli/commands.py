"""Commands run in this process."""

import inspect

import numpy as np
from click.testing import CliRunner

from onepass.cli import main

# Before click 8.2 a runner mixes both streams by default; later versions have no such parameter.
SEPARATE = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def onepass(*words, code=0, given=None, bug=False):
    """Run a command, check its exit code unless `code` is None, and return the result."""
    result = CliRunner(**SEPARATE).invoke(main, [str(word) for word in words], input=given)
    assert code is None or result.exit_code == code, (
        result.exit_code,
        result.stdout,
        result.stderr,
    )
    assert "Traceback" not in result.stderr
    assert bug or "(a bug" not in result.stderr
    return result


def rows(n=300, d=6, seed=0):
    """Return rows with a spectrum that decays and a mean that is not zero."""
    return 1.0 + np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)


def parts(folder, count=5, n=60):
    """Write files of a few rows, one block each; return their paths."""
    paths = [folder / f"part-{i}.npy" for i in range(count)]
    for i, path in enumerate(paths):
        np.save(path, rows(n, seed=i))
    return paths
