"""The accuracy study measures what it says."""

import json

import numpy as np
import pytest

from benchmarks import captured, rows
from benchmarks.accuracy import __main__ as accuracy
from benchmarks.accuracy.study import STATISTICS, Case, Study, excess, promise
from benchmarks.losses import batch_pca, covariance_of, loss
from onepass import PCA, metrics

# That a robust candidate answers, and how much is missing, is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::onepass.OnepassWarning")

SPECTRUM = np.array([3.0, 2.0, 1.0, 0.5])


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


def test_two_groups_have_the_covariance_that_they_claim():
    X, covariance = rows.two_groups(400_000, SPECTRUM, 0.3, 4.0, np.random.default_rng(3))
    np.testing.assert_allclose(X.T @ X / len(X), covariance, atol=0.1)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() > 0.3


def test_outliers_have_their_size_and_come_when_they_should():
    length = np.sqrt(SPECTRUM.sum())
    X = rows.contaminated(1000, SPECTRUM, 7, 50.0, (0.8, 1.0), np.random.default_rng(3))
    long = np.flatnonzero(np.linalg.norm(X, axis=1) > 25 * length)
    assert len(long) == 7
    assert long.min() >= 800
    np.testing.assert_allclose(np.linalg.norm(X[long], axis=1), 50 * length)


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


@pytest.mark.parametrize("shape", [(40, 7), (7, 40)])
def test_batch_pca_is_the_leading_right_singular_vectors_about_the_mean(shape):
    X = np.random.default_rng(1).normal(size=shape) + 9.0
    vectors = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:3]
    np.testing.assert_allclose(np.abs(batch_pca(X, 3) @ vectors.T), np.eye(3), atol=1e-8)


def test_the_loss_is_the_suboptimality():
    axes = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    dense = axes.T * SPECTRUM @ axes
    directions = np.linalg.qr(np.random.default_rng(6).normal(size=(4, 2)))[0].T
    expected = metrics.suboptimality(directions, metrics.from_dense(dense))
    assert loss(directions, dense, 2) == pytest.approx(expected)
    assert loss(np.eye(4)[1:3], SPECTRUM, 2) == pytest.approx(2.0)
    assert 0 < loss(np.eye(4)[:2], SPECTRUM, 2) < 1e-12


def test_excess_is_the_loss_over_that_of_batch_pca_pooled_by_label():
    X = rows.student(400, rows.power(10, 1.0), 2.5, np.random.default_rng(0))
    Y = rows.student(400, rows.power(10, 1.0), 2.5, np.random.default_rng(1))
    spectrum = rows.power(10, 1.0)

    def cases(seed, folder):
        yield Case("pooled", X, 2, spectrum)
        yield Case("alone", X, 3, spectrum)
        yield Case("pooled", Y, 2, spectrum)

    found = dict(excess(cases)(0, None))
    ours = [loss(PCA(2).fit(Z).components_, spectrum, 2) for Z in (X, Y)]
    batch = [loss(batch_pca(Z, 2), spectrum, 2) for Z in (X, Y)]
    assert found["pooled"] == pytest.approx(sum(ours) / sum(batch))
    alone = loss(PCA(3).fit(X).components_, spectrum, 3) / loss(batch_pca(X, 3), spectrum, 3)
    assert found["alone"] == pytest.approx(alone)


def test_statistics():
    values = np.array([1.0, 4.0, 16.0])
    found = {name: statistic(values) for name, statistic in STATISTICS.items()}
    assert found == {"mean": pytest.approx(4.0), "worst": 16.0, "in 95%": 16.0}
    assert STATISTICS["in 95%"](np.arange(101.0)) == 95.0


@pytest.mark.parametrize(
    ("limits", "met"),
    [((4.1, 16.0), True), ((4.1, 9.0), False), ((3.9, None), False), ((None, None), None)],
)
def test_a_promise_is_kept_by_all_of_its_statistics(limits, met):
    study = Study("s", "a study", lambda seed, _: [("run", 4.0**seed)], 2, promise(*limits))
    row = study.measure(0, None, quick=False)
    assert row["measured"] == {"mean": pytest.approx(2.0), "worst": 4.0}
    assert row["worst_run"] == "seed 1, run"
    assert study.measure(1, None, quick=True)["runs"] == 1
    assert study.measure(1, None, quick=False)["measured"]["worst"] == 16.0
    study = Study("s", "a study", lambda seed, _: [("", 1.0), ("", 16.0)], 1, promise(*limits))
    assert study.measure(0, None, quick=False)["met"] is met


def test_all_rows_of_the_promise_are_there():
    promised = {study.name for study in accuracy.STUDIES if any(study.promise.values())}
    wanted = "gaussian t2.5 t3 t5 t3-500 t3-1000 t3-2000 outliers outliers-late one-hot rare"
    wanted += " t4-columns natural raw mnist-8 mnist-40 merge"
    assert promised == set(wanted.split())


def test_unseen_data_are_learned_from_one_half_and_measured_on_the_other():
    from benchmarks.accuracy.unseen import curves, held_out

    (case,) = held_out(curves, 4)(7, None)
    rng = np.random.default_rng(7)
    X = curves(rng)
    both = {row.tobytes() for row in X}
    assert len(case.X) == len(X) // 2
    assert {row.tobytes() for row in case.X} < both
    rest = np.array([row for row in X if row.tobytes() not in {r.tobytes() for r in case.X}])
    np.testing.assert_allclose(case.covariance, covariance_of(rest))


def test_the_command_writes_rows_with_commit_seed_and_versions(tmp_path, capsys):
    path = tmp_path / "numbers.json"
    words = ["--only", "t3-500,unseen-iris", "--quick", "--first-seed", "5"]
    accuracy.main([*words, "--output", str(path)])
    content = json.loads(path.read_text())
    assert [row["name"] for row in content["rows"]] == ["t3-500", "unseen-iris"]
    assert content["first_seed"] == 5
    assert {"commit", "date", "machine", "versions"} <= content.keys()
    assert "t3-500" in capsys.readouterr().out


def test_seeds_are_drawn_unless_they_are_given(tmp_path):
    drawn = set()
    for number in range(2):
        path = tmp_path / f"{number}.json"
        accuracy.main(["--only", "unseen-iris", "--quick", "--output", str(path)])
        drawn.add(json.loads(path.read_text())["first_seed"])
    assert len(drawn) == 2


def test_studies_whose_files_are_missing_are_noted(capsys, tmp_path):
    accuracy.main(["--only", "raw,mnist-8", "--quick", "--data", str(tmp_path)])
    assert capsys.readouterr().err.count("needs --data DIR") == 2


def test_unknown_names_are_refused():
    with pytest.raises(SystemExit, match="no row 'nothing'"):
        accuracy.main(["--only", "nothing"])


def coverage(captured_shares, **changes):
    """Return a row of runs that end with given intervals."""

    class Fixed(captured.Coverage):
        def once(self, seed):
            return captured_shares[seed]

    spectrum = rows.power(10, 1.0)
    runs = len(captured_shares)
    given = {"promised": (0.9, 0.99), "runs": runs, **changes}
    return Fixed("name", "title", rows.gaussian, spectrum, 100, **given).measure(0, quick=False)


def test_coverage_counts_runs_without_a_number_apart():
    nothing = (0.0, float("nan"))
    found = coverage([(1.0, 0.2)] * 18 + [(0.0, 0.1)] + [nothing])
    assert found["coverage"] == pytest.approx(18 / 19)
    assert found["without"] == pytest.approx(0.05)
    assert found["width"] == 0.2
    assert found["met"]
    assert not coverage([(1.0, 0.2)] * 17 + [(0.0, 0.1)] + [nothing] * 2)["met"]
    assert not coverage([(1.0, 0.2)] * 20)["met"]
    assert coverage([(1.0, 0.2)] * 20, promised=(0.9, 1.0))["met"]
    assert not coverage([(1.0, 0.2)] * 8 + [(0.0, 0.2)] * 2)["met"]


def test_the_interval_is_compared_with_the_share_of_the_distribution():
    row = captured.ROWS[0]
    held, width = row.once(3)
    X = row.draw(600, row.spectrum, np.random.default_rng([3, 600, 1]))
    model = PCA(5).fit(X)
    truth = np.sum(model.components_**2 @ row.spectrum) / row.spectrum.sum()
    assert width == pytest.approx(2 * 1.96 * model.captured_.standard_error)
    assert held == (abs(model.captured_.mean - truth) <= width / 2)
