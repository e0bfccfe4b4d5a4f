"""The estimate of memory, against what a fit takes."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from onepass.cli import memory
from onepass.cli.options import ALGORITHMS, make_estimator
from tests.cli.commands import onepass


def assert_estimated(algorithm, d, k):
    """Demand that a fit takes less than the estimate, and not much less."""
    X = np.random.default_rng(0).normal(size=(200, d))
    assert make_estimator(algorithm, 2).fit(X[:, :4]).captured_  # imports what it needs
    tracemalloc.start()
    try:
        model = make_estimator(algorithm, k)
        for _ in range(3):
            model.partial_fit([X])
        assert model.explained_variance_[0] > 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    estimated = memory.learning(algorithm, k, d)
    assert peak < estimated
    # These rows are even and few: one second moment, no gaps, and short chunks.
    assert estimated < memory.SHORT * peak + (64 << 20)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("d", "k"), [(50, 8), (1200, 5), (1000, 40)])
def test_a_fit_takes_less_and_not_much_less(algorithm, d, k):
    assert_estimated(algorithm, d, k)


@pytest.mark.parametrize(("d", "k"), [(1200, 5), (2000, 40)])
def test_so_does_a_fit_beyond_the_exact_matrix(d, k, monkeypatch):
    monkeypatch.setattr("onepass.pca.learner.EXACT_BYTES", 8 * 1000**2)
    assert_estimated("pca", d, k)


def test_more_columns_and_components_take_more():
    sizes = [memory.estimate("pca", k, d) for k, d in ((2, 100), (2, 10**5), (200, 10**5))]
    assert sizes == sorted(sizes)
    assert memory.estimate("erm", 2, 10**4) > 8 * 10**8


def test_a_share_of_the_variance_has_an_estimate():
    assert memory.estimate("pca", 0.9, 5000) > memory.estimate("pca", 5, 5000)


def test_the_system_says_what_is_free():
    free = memory.available()
    assert free is None or free > 1 << 20


def test_a_model_that_never_fits_is_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.ones((3, 1000)))
    needed = memory.estimate("pca", 2, 1000)
    for most, code in ((needed // memory.SHORT - 1, 2), (needed // memory.SHORT + 1, 0)):
        monkeypatch.setattr(memory, "limit", lambda most=most: most)
        done = onepass("fit", tmp_path / "a.npy", "-k", "2", "-o", tmp_path / "m", code=code)
        assert ("a model of 1,000 columns takes about" in done.stderr) == (code == 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no such limits")
def test_a_limit_of_the_shell_counts():
    program = "from onepass.cli import memory; print(memory.limit())"
    command = ["sh", "-c", f"ulimit -v 4000000; {sys.executable} -c '{program}'"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 4000000 << 10
    assert memory.limit() > 1 << 28


def test_sizes_as_text():
    assert memory.shown(432) == "432 bytes"
    assert memory.shown(7 << 10) == "7 KB"
    assert memory.shown(5 << 20) == "5 MB"
    assert memory.shown(3 << 30) == "3.0 GB"
