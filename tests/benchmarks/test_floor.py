"""The benchmark of times compares what it says, in turns."""

import json

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.floor import __main__ as floor
from benchmarks.floor import fits, sparse_rows, wide
from benchmarks.floor.target import Effort, Target
from onepass import PCA

# That a robust candidate answers, and how much is missing, is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::onepass.OnepassWarning")

QUICK = Effort(quick=True, seed=3, folder=None)


def test_works_take_turns_and_the_first_turn_does_not_count():
    now, calls = [0.0], []

    def work(name, times):
        remaining = iter(times)

        def run():
            calls.append(name)
            now[0] += next(remaining)

        return run

    slow, fast = work("slow", [100, 4, 6, 5]), work("fast", [50, 1, 3, 2])
    found = timing.medians(slow, fast, turns=3, clock=lambda: now[0])
    assert found == [5.0, 2.0]
    assert calls == ["slow", "fast"] * 4


@pytest.mark.parametrize(
    ("target", "at_least", "met"),
    [
        (2.0, False, True),
        (1.0, False, False),
        (2.0, True, False),
        (1.0, True, True),
        (None, 0, None),
    ],
)
def test_a_target_is_met_on_its_side(target, at_least, met):
    row = Target("name", "title", lambda effort: 1.5, target, at_least=bool(at_least)).row(QUICK)
    assert row["met"] is met
    assert row["measured"] == 1.5


def test_even_rows_have_even_lengths_and_uneven_ones_do_not():
    def unevenness(even):
        energy = (fits.rows_of(4000, 50, "float64", even, 1) ** 2).sum(axis=1)
        return np.mean(energy**2) / np.mean(energy) ** 2

    assert unevenness(True) < 1.1
    assert unevenness(False) > 1.5


def test_threads_that_change_a_bit_are_not_faster(monkeypatch):
    class Random(PCA):
        def fit(self, X):
            self.found = np.random.default_rng().normal(size=(8, 2))
            return self

        components_ = property(lambda self: self.found)

    measure = fits.two_threads(50)
    assert measure(QUICK) > 0
    monkeypatch.setattr(fits, "PCA", Random)
    assert measure(QUICK) == 0


def test_counts_have_the_density_that_they_claim():
    X = sparse_rows.counts(QUICK)
    assert X.shape == (600, 5000)
    assert 0.07 < X.nnz / (X.shape[0] * X.shape[1]) < 0.09


def test_batch_pca_of_float32_rows_is_that_of_the_second_moment():
    X = np.random.default_rng(0).normal(size=(500, 60)) * np.linspace(3, 1, 60)
    exact = np.linalg.eigh(X.T @ X)[1][:, -3:]
    found = wide.batch_of_float32(X.astype(np.float32), 3)
    assert np.linalg.svd(found @ exact)[1].min() > 1 - 1e-5


def test_what_is_lost_is_nothing_for_exact_rows_and_something_for_others(monkeypatch):
    def make(effort):
        X = np.random.default_rng(0).normal(size=(300, 40)) * np.linspace(5, 1, 40)
        return sparse_rows.sparse.csr_array(X)

    assert sparse_rows.lost(make, 3)(QUICK) < 1e-12
    monkeypatch.setattr(sparse_rows, "PCA", lambda k, robust: sparse_rows.TruncatedSVD(k, n_iter=0))
    assert sparse_rows.lost(make, 3)(QUICK) > 1e-3


def test_the_command_measures_the_rows_that_are_chosen(tmp_path, capsys):
    path = tmp_path / "floor.json"
    floor.main(["--quick", "--only", "mean-*,floor-50-*,news-8", "--output", str(path)])
    rows = json.loads(path.read_text())["rows"]
    assert [row["name"] for row in rows] == [
        "floor-50-float64-even",
        "floor-50-float64-uneven",
        "mean-float64",
        "mean-float32",
    ]
    assert all(row["met"] for row in rows[2:])
    assert "20news needs --data DIR" in capsys.readouterr().err
