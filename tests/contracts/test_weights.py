"""A weight w is as good as the row sqrt(w) x; a weight of zero is no row at all."""

import numpy as np
import pytest

from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_identical, published
from tests.contracts.rows import make
from tests.contracts.variants import BATCH_VARIANTS, OTHER_VARIANTS, VARIANTS, Variant

D, K = 10, 3
EVERY = pytest.mark.parametrize("variant", [*VARIANTS, *BATCH_VARIANTS, *OTHER_VARIANTS], ids=str)


@pytest.fixture(autouse=True)
def short_chunks():
    with chunks_of(8):
        yield


@pytest.fixture(scope="module")
def rows():
    return make("gaussian", n=60, d=D, k=K)


@EVERY
def test_unit_weights_are_no_weights(variant, rows):
    weighted = variant.build(D, K).fit(rows, sample_weight=np.ones(60))
    assert_identical(weighted, variant.build(D, K).fit(rows))


@EVERY
def test_a_call_with_weights_zero_teaches_nothing(variant, rows):
    estimator = variant.build(D, K).fit(rows)
    before = published(estimator)
    estimator.partial_fit(9 * rows, sample_weight=np.zeros(60))
    after = published(estimator)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    "variant",
    [
        Variant("ERM"),
        Variant("PCA", params={"robust": False}),
        Variant("Incremental", extra_rank=D),
    ],
    ids=str,
)
def test_whole_weights_are_repeated_rows(variant, center, rows):
    """For the exact second moment a weight is a count."""
    counts = np.random.default_rng(1).integers(0, 4, 60)
    weighted = variant.build(D, K, center=center).fit(rows, sample_weight=counts)
    repeated = variant.build(D, K, center=center).fit(np.repeat(rows, counts, axis=0))
    components = [np.abs(e.components_) for e in (weighted, repeated)]  # signs: those of the start
    np.testing.assert_allclose(*components, atol=1e-8)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-12)
    ratios = [e.explained_variance_ratio_ for e in (weighted, repeated)]
    np.testing.assert_allclose(*ratios, rtol=1e-8)
