"""Iterates stay what they are meant to be: orthonormal bases with feasible weights."""

import numpy as np
import pytest

from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_orthonormal
from tests.contracts.rows import MAKERS, make
from tests.contracts.splits import ragged
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
    """Truncated (d > 2k + 16) or not, an average of feasible matrices is feasible."""
    for d, k in [(9, 2), (60, 3)]:
        average = variant.build(d, k).fit(make("gaussian", 400, d, k)).average_
        assert_orthonormal(average.basis)
        assert average.rank <= min(d, 2 * k + 16)
        assert average.weights.min() >= 0
        assert average.weights.max() <= 1 + 1e-12
        assert 0 <= average.rest <= 1
        assert average.trace <= k + 1e-10


def stays_orthonormal(algorithm, kind, n_rows):
    """Feed many rows, and demand an orthonormal basis to 1e-12."""
    d, k = 20, 3
    rng = np.random.default_rng(0)
    estimator = build(algorithm, k, random_state=0)
    for _ in range(n_rows // 50_000):
        if kind == "gaussian":
            estimator.partial_fit(rng.normal(size=(50_000, d)) * np.linspace(1.5, 0.5, d))
        else:
            estimator.partial_fit(np.eye(d)[rng.integers(0, d, 50_000)])
    assert estimator.n_samples_seen_ == n_rows
    assert_orthonormal(estimator.subspace_.basis)
    assert_orthonormal(estimator.components_)


@pytest.mark.parametrize("kind", ["gaussian", "one_hot"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_orthonormality_does_not_drift(algorithm, kind):
    stays_orthonormal(algorithm, kind, n_rows=100_000)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["gaussian", "one_hot"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_orthonormality_does_not_drift_over_a_million_rows(algorithm, kind):
    stays_orthonormal(algorithm, kind, n_rows=1_000_000)
