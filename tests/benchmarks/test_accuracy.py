"""The accuracy study measures what it says."""

import json

import numpy as np
import pytest

import benchmarks.accuracy.studies
from benchmarks.accuracy import rows
from benchmarks.accuracy.command import main, read
from benchmarks.accuracy.methods import METHODS, Method
from benchmarks.accuracy.study import STATISTICS, Case, Limit, Outcome, Study, loss, losses
from benchmarks.accuracy.tables import of_studies, values_of
from benchmarks.registry import discover
from onepass import metrics
from onepass.sources.synthetic import Gaussian

SPECTRUM = np.array([3.0, 2.0, 1.0, 0.5])
STUDIES, STUDY_NOTES = discover(benchmarks.accuracy.studies, "STUDIES")


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


def test_one_hot_rows_have_their_frequencies():
    p = SPECTRUM / SPECTRUM.sum()
    X = rows.one_hot(100_000, p, np.random.default_rng(4))
    assert (X.sum(axis=1) == 1.0).all()
    np.testing.assert_allclose(X.mean(axis=0), p, atol=0.01)


def test_rare_directions_are_in_few_rows():
    X = rows.rare_directions(20_000, SPECTRUM, np.array([5.0]), 0.01, np.random.default_rng(4))
    assert 0.005 < np.mean(X[:, 0] != 0) < 0.02


@pytest.mark.parametrize(
    "spectrum",
    [rows.power(30, 0.5), rows.exponential(30, 4), rows.spiked(30, 4, 5, 2), rows.gapped(30, 4)],
    ids=["power", "exponential", "spiked", "gapped"],
)
def test_spectra_decrease(spectrum):
    assert spectrum.shape == (30,)
    assert (np.diff(spectrum) <= 0).all()
    assert spectrum[3] > spectrum[4] > 0


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("n", [40, 3000])
def test_methods_find_directions_about_the_mean(method, n):
    population = Gaussian([9.0, 4.0], d=50, noise=0.01, rotation=1)
    X = population.sample(n, np.random.default_rng(5)) + 7.0
    if method.name == "CappedMSG" and n == 40:
        pytest.skip("needs more rows")
    directions = method.fit(X, 2)
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-9)
    captured = population.second_moment().compress(directions).trace()
    assert captured > 0.97 * population.optimum(2)


def test_the_loss_is_the_suboptimality():
    population = Gaussian(SPECTRUM, rotation=3)
    directions = np.linalg.qr(np.random.default_rng(6).normal(size=(4, 2)))[0].T
    dense = population.second_moment().to_dense()
    expected = metrics.suboptimality(directions, population)
    assert loss(directions, dense, 2) == pytest.approx(expected)
    assert loss(np.eye(4)[1:3], SPECTRUM, 2) == pytest.approx(2.0)


def axis(number):
    return Method(f"axis {number}", lambda X, k: np.eye(3)[[number]])


def test_losses_are_divided_by_those_of_batch_pca_pooled_by_label():
    spectrum = np.array([4.0, 3.0, 1.0])

    def cases(seed, folder):
        for label in ("pooled", "pooled", "alone"):
            yield Case(label, None, 1, spectrum)

    study = Study("s", "a study", losses(cases), (Limit("worst", 1.0),), seeds=1)
    found = list(study.measure([axis(1), axis(2)], 0, None))
    assert found == [
        (name, label, value)
        for label in ("pooled", "pooled", "alone")
        for name, value in (("axis 1", 1.0), ("axis 2", 3.0))
    ]
    outcomes = [Outcome("s", *single[:2], 0, single[2]) for single in found]
    batch = [Outcome("s", "batch", "pooled", 0, v) for v in (0.5, 1.5)]
    batch += [Outcome("s", "batch", "alone", 0, 2.0), Outcome("other", "batch", "alone", 0, 9.0)]
    np.testing.assert_allclose(values_of(study, outcomes + batch, "axis 2"), [3.0, 1.5])
    np.testing.assert_allclose(values_of(study, outcomes + batch[:2], "axis 2"), [3.0])


def test_statistics():
    values = np.array([1.0, 4.0, 16.0])
    found = {name: statistic(values) for name, statistic in STATISTICS.items()}
    assert found == {
        "gmean": pytest.approx(4.0),
        "mean": 7.0,
        "median": 4.0,
        "worst": 16.0,
        "least": 1.0,
        "sum": 21.0,
        "worst in 95%": 16.0,
        "least in 95%": 1.0,
    }
    assert STATISTICS["worst in 95%"](np.arange(101.0)) == 95.0
    assert STATISTICS["least in 95%"](np.arange(101.0)) == 5.0


@pytest.mark.parametrize(("worst", "met"), [(1.1, "yes"), (1.3, "NO"), (float("nan"), "NO")])
def test_the_table_says_whether_a_promise_of_pca_is_kept(worst, met):
    limits = (Limit("worst", 1.2),)
    study = Study("s", "a study", lambda *_: iter(()), limits, seeds=1, over_batch=False)
    outcomes = [Outcome("s", "PCA", "", 0, worst), Outcome("s", "other", "", 0, 9.0)]
    row = of_studies([study], outcomes).splitlines()[-1]
    assert [cell.strip() for cell in row.strip("|").split("|")][-1] == met


def test_promises_may_be_floors():
    floor = Limit("median", 1.5, at_least=True)
    assert floor.met(1.6)
    assert not floor.met(1.4)
    assert not floor.met(float("nan"))
    assert str(floor) == "median >= 1.5"


def test_nothing_is_left_out():
    assert STUDY_NOTES == []
    wanted = "gaussian one-hot wide-spikes wide-smooth t2.5 t3 t5 t3-500 t3-1000 t3-2000 outliers"
    wanted += " outliers-cosines rare t4 real mnist-sorted natural mnist mnist-40 gas merge"
    wanted += " variances variances-wide captured-t5-600 drift drift-mistaken toy speed-two-cores"
    assert set(wanted.split()) <= set(STUDIES)


def test_studies_whose_files_are_missing_are_noted(capsys, tmp_path):
    main(["--only", "mnist,real", "--data", str(tmp_path)])
    assert capsys.readouterr().err.count("needs --data DIR") == 2


def test_the_command_prints_a_table_and_writes_numbers_and_a_picture(tmp_path, capsys):
    numbers, picture = tmp_path / "numbers.json", tmp_path / "picture.png"
    again = tmp_path / "again.json"
    common = ["--only", "t3-500", "--seeds", "2"]
    main([*common, "--methods", "batch,PCA", "--json", str(numbers)])
    main([*common, "--methods", "spatial sign", "--json", str(again)])
    main(["--only", "t3-500", "--read", str(numbers), str(again), "--plot", str(picture)])
    table = capsys.readouterr().out.split("\n\n")[-1]
    assert "Student t3, 500 rows" in table
    outcomes = json.loads(numbers.read_text())
    assert {outcome["answer"] for outcome in outcomes} == {"PCA", "batch"}
    assert len(read([numbers, again])) == len(outcomes) + 2
    assert read([numbers, numbers]) == read([numbers])
    assert picture.stat().st_size > 1000


def test_drift_is_not_seen_in_independent_rows():
    found = list(STUDIES["drift-mistaken"].measure([], 5, None))
    assert [value for *_, value in found] == [0.0] * 4
