"""Iterates stay what they are meant to be: orthonormal bases with feasible weights."""

import numpy as np
import pytest

from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_orthonormal
from tests.contracts.rows import MAKERS, make, ragged
from tests.contracts.variants import ALGORITHMS, VARIANTS, Variant, build

AUTO_RANK = Variant("CappedMSG", "auto", params={"max_rank": "auto"})


def assert_feasible(variant, M, d, k):
    """Demand an orthonormal basis, and the weights that the algorithm's constraints allow."""
    assert M.basis.shape == (len(M.weights), d)
    assert_orthonormal(M.basis)
    assert M.weights.min(initial=0) >= 0
    assert M.rest >= 0
    if variant is not AUTO_RANK:
        assert M.rank <= variant.max_rank(d, k)
    if variant.trace == "none":
        assert M.rest == 0
        return
    assert M.weights.max(initial=0) <= 1 + 1e-12
    assert M.rest <= 1 + 1e-12
    assert M.trace <= k + 1e-10
    if variant.has_init:
        np.testing.assert_array_equal(M.weights, np.ones(k))
    elif variant.algorithm == "CappedMSG" and variant.max_rank(d, k) < d:
        assert M.rest == 0
        if variant.trace == "exact":
            assert M.trace == pytest.approx(min(k, M.rank), abs=1e-10)
    elif variant.trace == "exact":
        assert M.trace == pytest.approx(k, abs=1e-10)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("variant", [*VARIANTS, AUTO_RANK], ids=str)
def test_iterates_are_feasible(variant, name):
    """Ties and all: feasibility does not depend on which of two equal directions is kept."""
    for d, k in [(4, 4), (9, 1), (25, 6)]:
        estimator = variant.build(d, k)
        rows = make(name, 60, d, k, seed=3)
        with chunks_of(8):
            for piece in ragged(len(rows)):
                estimator.partial_fit(rows[piece])
                assert_feasible(variant, estimator.subspace_, d, k)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.averages], ids=str)
def test_averages_are_feasible(variant):
    """Truncated (d > 2k + 16) or not, an average of feasible matrices is feasible.

    Truncation hardly moves its top.
    """
    for d, k in [(9, 2), (60, 3)]:
        spread = np.r_[np.full(k, 1.0), np.full(d - k, 0.3)]
        rows = np.random.default_rng(0).normal(size=(400, d)) * spread / 3
        average = variant.build(d, k).fit(rows).average_
        wanted = np.linalg.eigh(variant.expected(rows, k).average)[1][:, -k:]
        assert np.linalg.svd(average.top(k) @ wanted, compute_uv=False).min() > 0.99
        assert_orthonormal(average.basis)
        assert average.rank <= min(d, 2 * k + 16)
        assert average.weights.min() >= 0
        assert average.weights.max() <= 1 + 1e-12
        assert 0 <= average.rest <= 1
        assert average.trace <= k + 1e-10


@pytest.mark.parametrize("blocks", [2, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["gaussian", "one_hot"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_orthonormality_does_not_drift(algorithm, kind, blocks):
    """Over 50,000 rows a block."""
    rng, d = np.random.default_rng(0), 20
    estimator = build(algorithm, 3, random_state=0)
    for _ in range(blocks):
        if kind == "gaussian":
            estimator.partial_fit(rng.normal(size=(50_000, d)) * np.linspace(1.5, 0.5, d))
        else:
            estimator.partial_fit(np.eye(d)[rng.integers(0, d, 50_000)])
    assert_orthonormal(estimator.subspace_.basis)
    assert_orthonormal(estimator.components_)
