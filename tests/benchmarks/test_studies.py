"""Every study runs on little data, and measures what it says."""

import importlib
import json

import numpy as np
import pytest

from benchmarks import rows, timing
from benchmarks.gaps import methods
from benchmarks.losses import batch_pca, loss
from onepass import metrics

SPECTRUM = np.array([3.0, 2.0, 1.0, 0.5])
STUDIES = [  # command, rows, and how many these are
    ("accuracy", "t3-500", 1),
    ("commands", "embeddings", 1),
    ("floor", "floor-50-*,gaps,short,mean-float64,csr-Oja-30,threads-100,files-csv", 8),
    ("gaps", "heavy-tails,prime-uniformly,impute-digits", 5),
    ("rivals", "mean-float64", 1),
]


@pytest.mark.filterwarnings("ignore")  # of other libraries
@pytest.mark.parametrize(("command", "names", "count"), STUDIES)
def test_a_study_runs(command, names, count, tmp_path):
    package = importlib.import_module(f"benchmarks.{command}")
    if hasattr(package, "__path__"):
        package = importlib.import_module(f"benchmarks.{command}.__main__")
    words = ["--quick", "--first-seed", "5", "--only", names]
    if command == "rivals":
        words += ["--solvers", "onepass PCA,*eigh"]
    package.main([*words, "--output", str(tmp_path / "found.json")])
    content = json.loads((tmp_path / "found.json").read_text())
    assert content["first_seed"] == 5
    assert {"commit", "date", "machine", "versions"} <= content.keys()
    assert len(content["rows"]) == count


def test_studies_whose_files_are_missing_are_noted_and_unknown_names_refused(capsys, tmp_path):
    accuracy = importlib.import_module("benchmarks.accuracy.__main__")
    accuracy.main(["--only", "raw,mnist-8", "--quick", "--data", str(tmp_path)])
    assert capsys.readouterr().err.count("needs --data DIR") == 2
    with pytest.raises(SystemExit, match="no row 'nothing'"):
        accuracy.main(["--only", "nothing"])


@pytest.mark.parametrize(
    "draw",
    [
        lambda n, rng: rows.gaussian(n, SPECTRUM, rng),
        lambda n, rng: rows.student(n, SPECTRUM, 12.0, rng),
        lambda n, rng: rows.independent_student(n, SPECTRUM, 12.0, rng),
        lambda n, rng: rows.rare_directions(n, SPECTRUM[1:], SPECTRUM[:1], 0.05, rng),
    ],
    ids=["gaussian", "student", "independent", "rare"],
)
def test_rows_have_the_variances_that_they_claim(draw):
    X = draw(200_000, np.random.default_rng(3))
    np.testing.assert_allclose(X.T @ X / len(X), np.diag(SPECTRUM), atol=0.05)


def test_the_loss_is_the_suboptimality_and_batch_pca_has_the_least():
    axes = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    dense = axes.T * SPECTRUM @ axes
    directions = np.linalg.qr(np.random.default_rng(6).normal(size=(4, 2)))[0].T
    expected = metrics.suboptimality(directions, metrics.from_dense(dense))
    assert loss(directions, dense, 2) == pytest.approx(expected)
    X = np.random.default_rng(1).normal(size=(40, 7)) + 9.0
    vectors = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:3]
    np.testing.assert_allclose(np.abs(batch_pca(X, 3) @ vectors.T), np.eye(3), atol=1e-8)


def test_batch_em_is_batch_pca_without_gaps_and_better_than_means_with_some():
    rng = np.random.default_rng(0)
    complete = rng.normal(size=(400, 12)) * np.r_[4.0, 3.0, np.ones(10)]
    complete = complete @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    exact = batch_pca(complete, 2)
    assert metrics.principal_angles(methods.batch_em(complete, 2)[0], exact).max() < 1e-6
    X = np.where(rng.random(complete.shape) < 0.2, np.nan, complete)
    em, means = methods.batch_em(X, 2)[0], methods.mean_filling(X, 2)
    assert methods.sine_theta(em, exact) < methods.sine_theta(means, exact)


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
