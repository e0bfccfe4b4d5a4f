"""Merged estimators are as good as one pass. The contracts say what is exact about them."""

import numpy as np
import pytest
from sklearn import decomposition

import onepass
from onepass import PCA


@pytest.mark.parametrize("trace", ["at_most", "exact"])
def test_a_merged_iterate_is_feasible(trace):
    rng = np.random.default_rng(1)
    parts = [onepass.CappedMSG(3, trace=trace).fit(rng.normal(size=(200, 20))) for _ in range(4)]
    M = onepass.merge(*parts).subspace_
    assert M.rank <= 4
    assert (M.weights <= 1 + 1e-12).all()
    assert M.trace <= 3 + 1e-12
    if trace == "exact":
        assert M.trace == pytest.approx(3)


@pytest.mark.parametrize("tree", [False, True])
def test_many_short_parts_of_heavy_tails_are_as_good_as_one_pass(tree):
    """Every part ends with an iterate that has learned from all of it, and it counts."""
    variances = np.r_[np.full(4, 4.0), np.ones(76)]
    population = onepass.metrics.from_dense(np.diag(variances))
    rng = np.random.default_rng(3001)
    X = rng.normal(size=(32 * 256, 80)) * np.sqrt(variances / rng.chisquare(3.0, (32 * 256, 1)))
    whole = onepass.PCA(4).partial_fit(X)
    parts = [onepass.PCA(4).partial_fit(part) for part in np.array_split(X, 32)]
    while tree and len(parts) > 1:
        parts = [onepass.merge(*parts[i : i + 2]) for i in range(0, len(parts), 2)]
    merged = onepass.merge(*parts) if len(parts) > 1 else parts[0]
    losses = [onepass.metrics.suboptimality(m.components_, population) for m in (merged, whole)]
    assert losses[0] < 1.25 * losses[1]


@pytest.mark.parametrize("parts", [2, 4])
def test_merged_models_capture_the_share_that_one_pass_captures(parts):
    rows = np.random.default_rng(0).normal(size=(20_000, 60)) * np.arange(1, 61) ** -0.25
    whole = PCA(5).fit(rows).captured_
    merged = onepass.merge(*(PCA(5).fit(part) for part in np.array_split(rows, parts))).captured_
    assert abs(merged.mean - whole.mean) < 2 * whole.standard_error
    assert merged.standard_error < 2 * whole.standard_error


def test_a_model_of_another_library_is_named():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="model 2 is sklearn's PCA, the first is onepass's PCA"):
        PCA(2).fit(X).merge(decomposition.PCA(2).fit(X))


def test_the_same_rows_do_not_count_twice():
    X = np.random.default_rng(0).normal(size=(30, 3))
    one, other = PCA(2).fit(X), PCA(2).fit(X)
    for models in ((one, one), (one, other, one), (one, other, other)):
        with pytest.raises(ValueError, match=r"is the same object as model.* count twice"):
            onepass.merge(*models)
    assert one.merge(other).n_samples_seen_ == 60
