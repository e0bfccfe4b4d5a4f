"""Merged estimators stand for all rows."""

import numpy as np
import pytest

import onepass
from onepass.sources.synthetic import StudentT

NAMES = ["PCA", "MSG", "CappedMSG", "MEG", "Incremental", "Oja", "Grouse", "ERM"]


def _rows(seed=0, n=1200, d=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.r_[6.0, 5.0, np.ones(d - 2)] + 3.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("center", [False, True])
def test_counts_means_and_variances_are_of_all_rows(name, center):
    X = _rows()
    fit = lambda rows: getattr(onepass, name)(2, center=center, random_state=0).fit(rows)  # noqa: E731
    parts = [fit(X[:300]), fit(X[300:900]), fit(X[900:])]
    before = [part.components_.copy() for part in parts]
    whole = onepass.merge(*parts)
    assert whole.n_samples_seen_ == len(X)
    np.testing.assert_allclose(whole.mean_, X.mean(axis=0) * center, atol=1e-12)
    D = X - X.mean(axis=0) * center
    exact = ((D @ whole.components_.T) ** 2).sum(axis=0) / (len(X) - center)
    np.testing.assert_allclose(whole.explained_variance_, exact, rtol=1e-8)
    assert whole.score(X) > 0.95 * fit(X).score(X)
    for part, components in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.components_, components)
    assert whole.partial_fit(X[:10]).n_samples_seen_ == len(X) + 10


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


def test_a_grown_cap_is_kept():
    rng = np.random.default_rng(2)
    grown = onepass.CappedMSG(2, max_rank="auto").fit(rng.normal(size=(3000, 30)))
    young = onepass.CappedMSG(2, max_rank="auto").fit(rng.normal(size=(30, 30)))
    assert grown.max_rank_ > young.max_rank_
    assert onepass.merge(young, grown).max_rank_ == grown.max_rank_


@pytest.mark.parametrize("tree", [False, True])
def test_many_short_parts_of_heavy_tails_are_as_good_as_one_pass(tree):
    """Every part ends with an iterate that has learned from all of it, and it counts."""
    population = StudentT(np.r_[np.full(4, 4.0), np.ones(76)], 3.0)
    X = population.sample(32 * 256, np.random.default_rng(3001))
    whole = onepass.PCA(4).fit(X)
    parts = [onepass.PCA(4).fit(part) for part in np.array_split(X, 32)]
    while tree and len(parts) > 1:
        parts = [onepass.merge(*parts[i : i + 2]) for i in range(0, len(parts), 2)]
    merged = onepass.merge(*parts) if len(parts) > 1 else parts[0]
    assert whole.expert_.name == merged.expert_.name == "average"
    losses = [onepass.metrics.suboptimality(m.components_, population) for m in (merged, whole)]
    assert losses[0] < 1.25 * losses[1]
