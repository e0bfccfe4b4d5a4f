"""The studies of missing values measure what they say."""

import importlib
import json
from contextlib import nullcontext

import numpy as np
import pytest

from benchmarks.gaps import __main__ as gaps
from benchmarks.gaps import methods, patterns, studies
from benchmarks.losses import batch_pca
from benchmarks.rows import power, spiked
from onepass import metrics

# That a robust candidate answers, and how much is missing, is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::onepass.OnepassWarning")


def case(share=0.2, n=400, d=12, k=2, seed=0):
    pattern = patterns.at_random(share)
    return studies.drawn(pattern, spiked(d, k, 20.0, 10.0), n, k, np.inf, seed)


def test_patterns_hide_the_shares_that_they_claim():
    rng = np.random.default_rng(0)
    assert abs(patterns.at_random(0.3)(2000, 50, rng).mean() - 0.7) < 0.01
    observed = patterns.drop_outs(20_000, 40, rng)
    assert abs(observed.mean() - 0.8) < 0.03
    changes = np.count_nonzero(observed[1:] != observed[:-1])
    assert 80 < 2 * np.count_nonzero(~observed) / changes < 120  # rows of an outage
    shares = 1 - patterns.by_columns(4000, 500, rng).mean(axis=0)
    assert abs(shares.mean() - 1 / 3) < 0.03
    assert shares.max() < 0.95
    assert shares.std() > 0.15


def test_rows_without_any_entry_are_left_out():
    observed = np.array([[True, False], [False, False]])
    found = patterns.hidden(np.ones((2, 2)), observed)
    np.testing.assert_array_equal(found, [[1.0, np.nan]])


def test_rows_are_completed_by_their_conditional_distribution():
    rng = np.random.default_rng(1)
    W, psi, mean = rng.normal(size=(5, 2)), rng.uniform(0.5, 1.0, size=5), rng.normal(size=5)
    X = rng.normal(size=(3, 5))
    X[0, [1, 3]] = X[1, 4] = np.nan
    filled, deviations, total = methods.Gaussian(mean, W, psi).complete(X)
    covariance = W @ W.T + np.diag(psi)
    expected = np.zeros((5, 5))
    for row, gap in ((0, [1, 3]), (1, [4])):
        seen = [j for j in range(5) if j not in gap]
        solve = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, gap)])
        conditional = covariance[np.ix_(gap, gap)] - covariance[np.ix_(gap, seen)] @ solve
        np.testing.assert_allclose(
            filled[row, gap], mean[gap] + (X[row, seen] - mean[seen]) @ solve
        )
        np.testing.assert_allclose(deviations[row, gap], np.sqrt(np.diag(conditional)))
        expected[np.ix_(gap, gap)] += conditional
    np.testing.assert_allclose(total, expected)
    np.testing.assert_array_equal(filled[2], X[2])
    np.testing.assert_array_equal(filled[0, [0, 2, 4]], X[0, [0, 2, 4]])


def test_batch_em_is_batch_pca_without_gaps_and_near_it_with_some():
    complete = case(share=0.0)
    exact = batch_pca(complete.complete, 2)
    assert metrics.principal_angles(methods.batch_em(complete.X, 2)[0], exact).max() < 1e-6
    some = case()
    em = some.loss(methods.batch_em(some.X, 2)[0])
    assert em < 3 * some.loss(batch_pca(some.complete, 2))
    assert em < some.loss(methods.mean_filling(some.X, 2))


@pytest.mark.parametrize("method", [methods.mean_filling, methods.pairwise, methods.prime_pca])
def test_methods_find_directions(method):
    some = case()
    directions = method(some.X, 2)
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-8)
    assert some.loss(directions) < 0.2 * 30


def test_statsmodels_fills_gaps():
    pytest.importorskip("statsmodels")
    some = case()
    assert some.loss(methods.fill_em(some.X, 2)) < 0.2 * 30


def test_sine_theta_is_that_of_the_angles():
    angles = np.array([0.3, 0.7])
    first = np.eye(2, 4)
    second = np.column_stack([np.diag(np.cos(angles)), np.diag(np.sin(angles))])
    expected = np.sqrt(np.sum(np.sin(angles) ** 2))
    assert methods.sine_theta(first, second) == pytest.approx(expected)
    assert methods.sine_theta(first, first[::-1]) == pytest.approx(0.0, abs=1e-7)


def test_the_loss_of_a_case_is_that_of_its_distribution():
    some = case(n=50_000)
    covariance = some.turn.T @ np.diag(some.spectrum) @ some.turn
    np.testing.assert_allclose(np.cov(some.complete.T), covariance, atol=0.5)
    best = np.linalg.eigh(covariance)[1][:, ::-1][:, :2].T
    assert some.loss(best) < 1e-9
    assert some.loss(np.eye(12)[:2]) == pytest.approx(30 - np.trace(covariance[:2, :2]))


def test_the_budget_is_set_and_put_back():
    pytest.importorskip(studies.BUDGET[0])
    module, name = importlib.import_module(studies.BUDGET[0]), studies.BUDGET[1]
    before = getattr(module, name)
    with studies.budget(123):
        assert getattr(module, name) == 123
    assert getattr(module, name) == before


def test_ratios_are_over_batch_em(monkeypatch):
    monkeypatch.setattr(studies, "budget", lambda numbers: nullcontext())
    monkeypatch.setattr(studies, "ours", lambda X, k: methods.batch_em(X, k)[0])
    monkeypatch.setattr(studies, "optional", lambda X, k: {})
    monkeypatch.setattr(studies, "spectra", lambda d, k: {"spikes": spiked(d, k, 20.0, 10.0)})
    (row,) = studies.ratios("20%", "20% missing", 1 / 3, 1.04, 1.1)(3, None, True)
    assert row["runs"] == 1
    assert row["methods"]["PCA"] == pytest.approx({"mean": 1.0, "worst": 1.0})
    assert row["methods"]["means"]["worst"] > 1.1
    assert row["met"]
    monkeypatch.setattr(studies, "ours", methods.mean_filling)
    (row,) = studies.ratios("20%", "20% missing", 1 / 3, 1.04, 1.1)(3, None, True)
    assert not row["met"]


def test_heavy_tails_are_over_batch_pca_of_complete_rows(monkeypatch):
    monkeypatch.setattr(studies, "drawn", lambda pattern, *rest: case_without_gaps(*rest))
    monkeypatch.setattr(studies, "ours", batch_pca)
    (row,) = studies.heavy_tails(3, None, True)
    assert row["methods"]["PCA"]["worst"] == pytest.approx(1.0)
    assert not row["met"]


def case_without_gaps(*rest):
    return DRAWN(patterns.at_random(0.0), *rest)


DRAWN = studies.drawn


def test_the_setting_of_prime_pca_compares_three_methods(monkeypatch):
    monkeypatch.setattr(studies, "ours", methods.pairwise)
    rows = list(studies.prime("rates by rows")(3, None, True))
    assert len(rows) == 3
    for row in rows:
        assert row["methods"]["PCA"] == row["methods"]["pairwise"]
        assert 0 < row["methods"]["primePCA"] < np.sqrt(2)


class Imputer:
    """A model that imputes by batch EM, in place of `PCA`."""

    def __init__(self, k):
        self.k = k

    def fit(self, X):
        self.model = methods.batch_em(X, self.k)[1]
        return self

    def impute(self, X, return_std=False):
        filled, deviations, _ = self.model.complete(X)
        return (filled, deviations) if return_std else filled


@pytest.mark.filterwarnings("ignore:.*Early stopping")
def test_imputation_counts_hidden_entries_alone(monkeypatch):
    monkeypatch.setattr(studies, "PCA", Imputer)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(200, 10))
    observed = rng.random(X.shape) >= 0.2
    found, covered = studies.imputed(np.where(observed, X, np.nan), X, observed, 2, True)
    assert found["PCA"]["error"] == found["batch EM"]["error"] < found["means"]["error"]
    means = np.nanmean(np.where(observed, X, np.nan), axis=0)
    assert found["means"]["error"] == pytest.approx(np.abs(X - means)[~observed].mean())
    assert 0.8 < covered < 0.98


def test_columns_of_real_data_are_standardised_and_vary():
    X = studies.table_of("digits", None, 3, 500)
    assert X.shape[0] == 500
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_the_command_writes_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(studies, "ours", lambda X, k: methods.pairwise(X, k))
    path = tmp_path / "gaps.json"
    gaps.main(["--quick", "--only", "heavy-tails,prime-*", "--output", str(path)])
    rows = json.loads(path.read_text())["rows"]
    assert [row["group"] for row in rows] == ["ratio"] + ["prime"] * 9


def test_spectra_have_k_directions_above_the_rest():
    for spectrum in studies.spectra(20, 3).values():
        assert spectrum.shape == (20,)
        assert spectrum[2] > spectrum[3]
    np.testing.assert_array_equal(studies.spectra(20, 3)["i^-1"], power(20, 1.0))


def test_the_fit_that_refuses_gaps_is_the_same_but_for_them():
    some = case(share=0.05)
    with pytest.raises(ValueError, match="NaN or infinity"):
        studies.refusing(some.X)
    studies.refusing(some.complete)
    assert studies.PCA(2).fit(some.X).missing_share_.any()  # everything is as before
