"""Several algorithms on one stream."""

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.base import BaseEstimator

from onepass import (
    ERM,
    MSG,
    PCA,
    CappedMSG,
    Incremental,
    IncrementalPCA,
    Oja,
    OnepassWarning,
    compare,
    metrics,
)
from onepass.estimators import comparing
from onepass.sources.synthetic import Gaussian, Orthogonal, StudentT, Toy

ROWS = np.random.default_rng(0).normal(size=(700, 6)) * [5, 4, 1, 1, 1, 1]


def test_curves_are_those_of_each_algorithm_alone():
    estimators = [CappedMSG(2), Oja(2, random_state=0)]
    table = pd.DataFrame(compare(estimators, ROWS, at=[100, 300, 700]))
    assert table.groupby("algorithm").rows.apply(list).to_dict() == {
        "CappedMSG": [100, 300, 700],
        "Oja": [100, 300, 700],
    }
    alone = CappedMSG(2).partial_fit(ROWS[:300]).captured_.mean
    found = table[(table.algorithm == "CappedMSG") & (table.rows == 300)].captured.item()
    assert found == alone
    assert (table.seconds > 0).all()
    assert table.suboptimality.isna().all()
    assert not hasattr(estimators[0], "n_features_in_")


def test_blocks_do_not_matter_and_powers_of_two_are_the_default():
    whole = compare({"a": CappedMSG(2)}, ROWS)
    parts = compare({"a": CappedMSG(2)}, np.array_split(ROWS, 9))
    assert whole["rows"].tolist() == [64, 128, 256, 512, 700]
    np.testing.assert_array_equal(whole["rows"], parts["rows"])
    np.testing.assert_array_equal(whole["captured"], parts["captured"])


def test_suboptimality_where_the_distribution_is_known():
    source = Orthogonal(8).stream(2000, seed=0)
    curves = compare([MSG(2, center=False), MSG(1, center=False)], source, at=[10, 2000])
    assert curves["algorithm"].tolist() == ["MSG", "MSG", "MSG 2", "MSG 2"]
    alone = MSG(2, center=False).partial_fit(source).components_
    assert curves["suboptimality"][1] == metrics.suboptimality(alone, Orthogonal(8))


def test_suboptimality_is_in_terms_of_what_an_estimator_maximises():
    """The mean is not what centred estimators look for, and the others look for little else."""
    far = Gaussian(1.0 / np.arange(1, 11), mean=[0.0] * 9 + [10.0])
    estimators = {
        f"{kind.__name__} {center}": kind(2, center=center)
        for kind in (PCA, ERM, CappedMSG)
        for center in (True, False)
    }
    estimators["IncrementalPCA"] = IncrementalPCA(2)
    estimators["scikit-learn"] = decomposition.IncrementalPCA(2)
    found = pd.DataFrame(compare(estimators, far.stream(5000, seed=0), at=[5000]))
    assert found.suboptimality.max() < 0.02
    scaled = compare([PCA(2, scale=True)], far.stream(500, seed=0), at=[500])
    assert np.isnan(scaled["suboptimality"]).all()


@pytest.mark.parametrize(
    "known",
    [Toy(), Orthogonal(6), Orthogonal(6, signed=True), StudentT([2.0, 1.0], 9, mean=[3, 1])],
)
def test_the_covariance_of_a_distribution_is_that_of_its_rows(known):
    rows = known.sample(200_000, np.random.default_rng(0))
    np.testing.assert_allclose(rows.mean(axis=0), known.mean, atol=0.02)
    expected = np.cov(rows.T, bias=True)
    np.testing.assert_allclose(known.covariance().to_dense(), expected, atol=0.05)


def test_a_distribution_of_which_no_mean_is_known_is_no_measure_of_centred_estimators():
    class Unknown(Orthogonal):
        def __init__(self):
            super().__init__(6)
            del self.mean

    lost = compare([MSG(2), MSG(2, center=False)], Unknown().stream(500), at=[500])
    assert np.isnan(lost["suboptimality"]).tolist() == [True, False]


def test_estimators_of_other_libraries_are_measured():
    """Anything that learns block by block and has components."""
    known = Gaussian([9.0, 4.0, 1.0, 1.0])
    estimators = [decomposition.IncrementalPCA(2), decomposition.MiniBatchDictionaryLearning(2)]
    found = pd.DataFrame(compare([*estimators, PCA(2)], known.stream(300, seed=0), at=[100, 300]))
    others = found[found.algorithm != "PCA"]
    assert others.captured.isna().all()
    assert (others.seconds > 0).all()
    assert np.isfinite(found.suboptimality).all()
    batch = decomposition.IncrementalPCA(2).partial_fit(np.vstack([*known.stream(300)])[:100])
    expected = metrics.suboptimality(batch.components_, known)
    assert found.suboptimality[0] == pytest.approx(expected)


def test_what_is_captured_is_about_the_same_rows_for_all():
    """Chunks of the algorithms have different lengths; that of the later rows counts."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(512, 6)) * [5, 4, 1, 1, 1, 1]
    rows[256:, 2:] *= 2.0  # the directions stay, and capture less
    found = compare([PCA(2, robust=False), ERM(2), Incremental(2)], rows, at=[512])
    assert np.ptp(found["captured"]) < 0.02
    assert found["captured"].max() < 0.76  # 0.80 of all rows, and 0.72 of the later half


def test_points_beyond_the_end_become_the_end():
    with pytest.warns(
        OnepassWarning, match=r"700 rows: .* all of them instead of at=\[900, 9000\]"
    ):
        found = compare([CappedMSG(2)], ROWS, at=[100, 9000, 900])
    assert found["rows"].tolist() == [100, 700]
    assert compare([CappedMSG(2)], ROWS, at=[100.0, 700])["rows"].tolist() == [100, 700]


@pytest.mark.parametrize(
    ("estimators", "at"),
    [
        ([], None),
        ([MSG(2)], []),
        ([MSG(2)], [0, 5]),
        ([MSG(2)], 100),
        ([MSG(2)], [10, 100.5]),
        ([MSG(2)], ["9"]),
    ],
)
def test_nonsense_is_refused(estimators, at):
    with pytest.raises(ValueError, match=r"no estimator|at must be"):
        compare(estimators, ROWS, at=at)


def test_a_single_estimator_has_to_be_in_a_list():
    with pytest.raises(ValueError, match="estimators must be a list or a dict"):
        compare(CappedMSG(2), ROWS)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [(PCA, r"is a class: write PCA\(\.\.\.\)"), (decomposition.PCA(2), "has no partial_fit")],
)
def test_what_cannot_learn_block_by_block_is_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        compare([estimator], ROWS)


def test_rows_have_to_be_there():
    with pytest.raises(ValueError, match=r"X is a Toy, .* pass X\.stream\(rows, seed=0\)"):
        compare([PCA(1)], Toy())
    with pytest.raises(ValueError, match=r"pass onepass\.open_source\('a\.csv'\)"):
        compare([PCA(1)], "a.csv")


def test_seconds_count_what_is_done_when_results_are_read(monkeypatch):
    now = [0.0]

    class Late(BaseEstimator):
        def partial_fit(self, X):
            now[0] += 1.0

        @property
        def components_(self):
            now[0] += 10.0
            return np.eye(1, 6)

    monkeypatch.setattr(comparing.time, "perf_counter", lambda: now[0])
    assert compare([Late()], ROWS, at=[10, 20])["seconds"].tolist() == [11.0, 12.0]


def test_missing_components_count_as_lost():
    """Of three rows two components are found, and the best three capture more than those."""
    known = Gaussian(1.0 / np.arange(1, 7))
    source = known.stream(3, seed=0)
    found = compare([PCA(3)], source, at=[3])["suboptimality"].item()
    components = PCA(3).partial_fit(known.stream(3, seed=0)).components_
    assert len(components) == 2
    assert found == metrics.suboptimality(components, known, 3)
    assert found > metrics.suboptimality(components, known)


@pytest.mark.parametrize("empty", [np.zeros((0, 5)), [], iter([])])
def test_no_rows(empty):
    with pytest.raises(ValueError, match="no rows"):
        compare([MSG(2)], empty)
