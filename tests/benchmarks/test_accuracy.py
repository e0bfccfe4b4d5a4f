"""The accuracy study measures what it says."""

import json
import warnings

import numpy as np
import pytest

import benchmarks.accuracy.methods
import benchmarks.accuracy.studies
from benchmarks.accuracy import spectra
from benchmarks.accuracy.command import main
from benchmarks.accuracy.method import Method
from benchmarks.accuracy.populations import IndependentT, RareDirections
from benchmarks.accuracy.study import STATISTICS, Case, Limit, Outcome, Study, excess
from benchmarks.accuracy.tables import of_studies
from benchmarks.registry import discover
from onepass.sources.synthetic import Gaussian

SPECTRUM = np.array([3.0, 2.0, 1.0, 0.5])
METHODS, METHOD_NOTES = discover(benchmarks.accuracy.methods, "METHODS")
STUDIES, STUDY_NOTES = discover(benchmarks.accuracy.studies, "STUDIES")


@pytest.mark.parametrize(
    "population",
    [RareDirections(SPECTRUM[1:], SPECTRUM[:1], 0.05), IndependentT(SPECTRUM, 12.0)],
    ids=["rare", "t"],
)
def test_populations_have_the_second_moment_that_they_claim(population):
    X = population.sample(200_000, np.random.default_rng(3))
    claimed = population.second_moment().to_dense()
    np.testing.assert_allclose(X.T @ X / len(X), claimed, atol=0.05)


def test_rare_directions_are_in_few_rows():
    X = RareDirections(SPECTRUM, np.array([5.0]), 0.01).sample(20_000, np.random.default_rng(4))
    assert 0.005 < np.mean(X[:, 0] != 0) < 0.02


@pytest.mark.parametrize("name", ["polynomial", "exponential", "spiked", "gapped"])
def test_spectra_decrease(name):
    values = getattr(spectra, name)(30, 4)
    assert values.shape == (30,)
    assert (np.diff(values) <= 0).all()
    assert values[3] > values[4] > 0


@pytest.mark.parametrize("name", METHODS)
def test_methods_find_directions_about_the_mean(name):
    population = Gaussian([9.0, 4.0], d=30, noise=0.1, rotation=1)
    X = population.sample(3000, np.random.default_rng(5)) + 7.0
    for directions in METHODS[name].fit(X, 2).values():
        assert directions.shape == (2, 30)
        captured = population.second_moment().compress(directions).trace()
        assert captured > 0.97 * population.optimum(2)


def axis(number):
    return Method(f"axis {number}", lambda X, k: {f"axis {number}": np.eye(3)[[number]]})


def test_excess_is_suboptimality_over_that_of_batch_pca_pooled_by_label():
    population = Gaussian([4.0, 3.0, 1.0])
    # Batch PCA finds the first axis in the first rows, the second in the others.
    first, second = np.diag([2.0, 1.0, 0.0]), np.diag([1.0, 2.0, 0.0])
    rows = [np.vstack([half, -half]) for half in (first, second)]

    def cases(seed, folder):
        yield Case("pooled", rows[0], 1, population)
        yield Case("pooled", rows[1], 1, population)
        yield Case("alone", rows[1], 1, population)

    found = list(excess(cases)([axis(0), axis(1), axis(2)], 0, None))
    assert found == [
        ("axis 0", "pooled", pytest.approx(0.0)),
        ("axis 1", "pooled", pytest.approx(2.0)),
        ("axis 2", "pooled", pytest.approx(6.0)),
        ("axis 0", "alone", pytest.approx(0.0)),
        ("axis 1", "alone", pytest.approx(1.0)),
        ("axis 2", "alone", pytest.approx(3.0)),
    ]


def test_statistics():
    values = np.array([1.0, 4.0, 16.0])
    found = {name: statistic(values) for name, statistic in STATISTICS.items()}
    assert found == {"gmean": pytest.approx(4.0), "mean": 7.0, "worst": 16.0, "sum": 21.0}


@pytest.mark.parametrize(("worst", "met"), [(1.1, "yes"), (1.3, "NO"), (float("nan"), "NO")])
def test_the_table_says_whether_a_promise_of_pca_is_kept(worst, met):
    study = Study("s", "a study", lambda *_: iter(()), (Limit("worst", 1.2),))
    outcomes = [Outcome("s", "PCA", "", 0, worst), Outcome("s", "other", "", 0, 9.0)]
    row = of_studies([study], outcomes).splitlines()[-1]
    assert [cell.strip() for cell in row.strip("|").split("|")][-1] == met


def test_nothing_is_left_out():
    assert METHOD_NOTES == STUDY_NOTES == []
    assert {"light", "t3", "mnist", "toy", "merge", "drift"} <= set(STUDIES)


def test_studies_whose_files_are_missing_are_noted(capsys, tmp_path):
    main(["--only", "mnist,kdd", "--data", str(tmp_path)])
    assert capsys.readouterr().err.count("needs --data DIR") == 2


def test_the_command_prints_a_table_and_writes_numbers_and_a_picture(tmp_path, capsys):
    numbers, picture = tmp_path / "numbers.json", tmp_path / "picture.png"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        main(
            ["--only", "t4", "--methods", "batch,pca", "--seeds", "1"]
            + ["--json", str(numbers), "--plot", str(picture)]
        )
    assert "independent t4 coordinates" in capsys.readouterr().out
    outcomes = json.loads(numbers.read_text())
    assert {outcome["answer"] for outcome in outcomes} >= {"PCA", "batch"}
    assert all(o["value"] == pytest.approx(1.0) for o in outcomes if o["answer"] == "batch")
    assert picture.stat().st_size > 1000
