"""A weight w is as good as the row sqrt(w) x; a weight of zero is no row at all."""

import numpy as np
import pytest

from tests.contracts.rows import make
from tests.contracts.splits import SPLITS, feed
from tests.contracts.variants import VARIANTS, Variant

D, K = 10, 3
EVERY = pytest.mark.parametrize("variant", VARIANTS, ids=str)


@pytest.fixture(scope="module")
def rows():
    return make("gaussian", n=60, d=D, k=K)


@pytest.fixture(scope="module")
def weights():
    rng = np.random.default_rng(0)
    return np.where(rng.random(60) < 0.3, 0, rng.uniform(0.2, 4, 60))


def assert_close(actual, wanted):
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-10 * scale)


@EVERY
@pytest.mark.parametrize("split", SPLITS)
def test_weighted_rows_equal_the_reference(variant, split, rows, weights):
    """Calls of single rows of weight zero among them."""
    estimator = feed(variant.build(D, K), rows, SPLITS[split], weights)
    outcome = variant.expected(rows, K, weights)
    assert_close(estimator.subspace_.to_dense(), outcome.last)
    if variant.averages:
        assert_close(estimator.average_.to_dense(), outcome.average)


@EVERY
def test_unit_weights_are_no_weights(variant, rows):
    weighted = variant.build(D, K).fit(rows, sample_weight=np.ones(60))
    plain = variant.build(D, K).fit(rows)
    np.testing.assert_array_equal(weighted.components_, plain.components_)
    np.testing.assert_array_equal(weighted.explained_variance_, plain.explained_variance_)


@EVERY
def test_rows_of_weight_zero_are_absent(variant, rows, weights):
    there = variant.build(D, K).fit(rows, sample_weight=weights)
    kept = weights > 0
    absent = variant.build(D, K).fit(rows[kept], sample_weight=weights[kept])
    assert_close(there.subspace_.to_dense(), absent.subspace_.to_dense())
    np.testing.assert_allclose(there.mean_, absent.mean_, atol=1e-12)
    ratios = [e.explained_variance_ratio_ for e in (there, absent)]
    np.testing.assert_allclose(*ratios, rtol=1e-9)


@EVERY
def test_a_call_with_weights_zero_teaches_nothing(variant, rows):
    estimator = variant.build(D, K).fit(rows)
    before = estimator.subspace_.to_dense(), estimator.components_, estimator.mean_
    estimator.partial_fit(9 * rows, sample_weight=np.zeros(60))
    after = estimator.subspace_.to_dense(), estimator.components_, estimator.mean_
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("variant", [Variant("ERM"), Variant("Incremental", extra_rank=D)], ids=str)
def test_whole_weights_are_repeated_rows(variant, center, rows):
    """For the exact second moment a weight is a count."""
    counts = np.random.default_rng(1).integers(0, 4, 60)
    weighted = variant.build(D, K, center=center).fit(rows, sample_weight=counts)
    repeated = variant.build(D, K, center=center).fit(np.repeat(rows, counts, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-8)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-12)
    ratios = [e.explained_variance_ratio_ for e in (weighted, repeated)]
    np.testing.assert_allclose(*ratios, rtol=1e-8)
