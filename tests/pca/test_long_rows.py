"""`long_rows_`: the share of the variance that the longest 1% of the rows hold."""

import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass import PCA

D = 12


def expected(X, weights=None, scale=False):
    """Return the share from all rows at once."""
    weights = np.ones(len(X)) if weights is None else weights
    Z = X - np.average(X, axis=0, weights=weights)
    if scale:
        Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=weights))
    energies = (Z**2).sum(axis=1)
    order = np.argsort(-energies)
    before = np.cumsum(weights[order]) - weights[order]
    counted = np.clip(0.01 * weights.sum() - before, 0.0, weights[order])
    return counted @ energies[order] / (weights @ energies)


def rows(kind, n=5000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * np.geomspace(5, 0.1, D) + 3
    if kind == "t3":
        X = (X - 3) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    if kind == "outliers":
        X[::50] *= 30
    return X


@pytest.mark.parametrize("kind", ["gaussian", "t3", "outliers"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_that_of_all_rows(kind, scale, weighted, tmp_path):
    X = rows(kind)
    weights = np.random.default_rng(1).uniform(0.1, 3, 5000) if weighted else np.ones(5000)
    model = PCA(2, scale=scale).fit(X, sample_weight=weights)
    # Lengths are measured about the running mean, and in units of the running scale.
    wanted = expected(X, weights, scale)
    assert model.long_rows_ == pytest.approx(wanted, abs=0.03 if scale else 0.01)
    thin = PCA(2, scale=scale).fit(sparse.csr_array(X), sample_weight=weights)
    assert thin.long_rows_ == pytest.approx(model.long_rows_, abs=1e-6)
    parts = zip(np.array_split(X, 5), np.array_split(weights, 5), strict=True)
    merged = onepass.merge(*[PCA(2, scale=scale).fit(x, sample_weight=w) for x, w in parts])
    assert merged.long_rows_ == pytest.approx(wanted, abs=0.05 if scale else 0.01)
    for each in (merged, merged.for_transform()):
        each.save(tmp_path / "m")
        assert onepass.load(tmp_path / "m").long_rows_ == merged.long_rows_


def test_it_fades_and_is_the_same_with_bounded_rows():
    X = np.vstack([rows("outliers"), rows("gaussian", 40_000)])
    assert PCA(2, half_life=1000).fit(X).long_rows_ < 0.1 < PCA(2).fit(X).long_rows_
    assert PCA(2, robust=True).fit(X).long_rows_ == PCA(2).fit(X).long_rows_


@pytest.mark.filterwarnings("ignore::onepass.OnepassWarning")
def test_few_rows_and_rows_that_do_not_vary_have_none():
    assert np.isnan(PCA(2).fit(rows("gaussian", 99)).long_rows_)
    assert np.isnan(PCA(2).fit(np.ones((500, D))).long_rows_)
