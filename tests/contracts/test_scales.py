"""Units do not matter: data times any number gives the same subspace, without overflow."""

import numpy as np
import pytest
from scipy import sparse

from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_orthonormal
from tests.contracts.rows import feed, make, ragged
from tests.contracts.variants import BATCH_VARIANTS, VARIANTS

SCALE_FREE = [v for v in VARIANTS if v.scale_free]
QUADRATIC = [v for v in VARIANTS if v.algorithm == "Incremental"]
SHAPES = [(5, 1), (5, 5), (30, 8), (70, 3)]
BAD_SCALES = [1e-90, 1e90]


@pytest.fixture(autouse=True)
def short_chunks():
    with chunks_of(8):
        yield


def equal(actual: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("scale", BAD_SCALES)
@pytest.mark.parametrize("name", ["gaussian", "in_span", "nearly_in_span", "with_zeros"])
@pytest.mark.parametrize("variant", SCALE_FREE + QUADRATIC, ids=str)
def test_badly_scaled_rows_equal_the_reference(variant, name, scale):
    for d, k in SHAPES:
        if not variant.well_posed_on(name, d, k):
            continue
        rows = make(name, 40, d, k)
        wanted = variant.expected(rows, k).last
        estimator = feed(variant.build(d, k), scale * rows, ragged)
        M = estimator.subspace_.to_dense()
        equal(M / scale / scale if variant in QUADRATIC else M, wanted)
        assert_orthonormal(estimator.subspace_.basis)


@pytest.mark.parametrize("scale", BAD_SCALES)
@pytest.mark.parametrize("variant", [*SCALE_FREE, *QUADRATIC, *BATCH_VARIANTS], ids=str)
def test_what_is_published_has_the_units_of_the_rows(variant, scale):
    d, k = 12, 3
    rows = make("gaussian", 60, d, k)
    plain, scaled = variant.build(d, k).fit(rows), variant.build(d, k).fit(scale * rows)
    for name, units in (
        ("components_", 1),
        ("explained_variance_ratio_", 1),
        ("mean_", scale),
        ("singular_values_", scale),
        ("explained_variance_", scale * scale),
        ("noise_variance_", scale * scale),
    ):
        actual = getattr(scaled, name) / units
        np.testing.assert_allclose(actual, getattr(plain, name), rtol=1e-8, atol=1e-10)
    # Large steps tie early weights, and rounding then chooses the top that an average starts with.
    rel = 0.05 if variant.averages else 1e-9
    assert scaled.captured_.mean == pytest.approx(plain.captured_.mean, rel=rel, nan_ok=True)
    assert scaled.score(scale * rows) == pytest.approx(plain.score(rows), rel=1e-9)
    np.testing.assert_allclose(
        scaled.transform(scale * rows) / scale, plain.transform(rows), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("variant", SCALE_FREE, ids=str)
def test_units_may_grow_within_a_stream(variant):
    """Each larger unit makes all rows before it negligible, in the steps too."""
    if variant.params.get("center") or variant.params.get("batch_size"):
        pytest.skip("one batch, or one difference to the mean, would mix the units")
    d, k = 8, 2
    units = np.repeat([1e-90, 1e-45, 1.0, 1e45, 1e90], 12)[:, None]
    rows = units * make("gaussian", 60, d, k)
    equal(variant.build(d, k).fit(rows).subspace_.to_dense(), variant.expected(rows, k).last)


@pytest.mark.parametrize("scale", [1e-30, 1e17])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("variant", [*SCALE_FREE, *QUADRATIC, *BATCH_VARIANTS], ids=str)
def test_float32_rows_whose_squares_overflow(variant, kind, scale):
    d, k = 12, 3
    rows = make("gaussian", 60, d, k).astype(np.float32)
    wanted = variant.build(d, k).fit(rows).components_
    scaled = variant.build(d, k).fit(kind(rows * np.float32(scale))).components_
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.T @ scaled, wanted.T @ wanted, atol=2e-3)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.scale_free], ids=str)
def test_constant_rows_teach_nothing_when_centred(variant):
    """Steps without a scale of their own must not take the rounding of a mean for a row."""
    d, k = 6, 2
    for seed in range(10):
        rows = np.repeat(make("gaussian", 1, d, k, seed), 11, axis=0)
        weights = np.random.default_rng(seed).choice([0.3, 1, 2], 11)
        wanted = (
            variant.build(d, k, center=True).partial_fit(np.zeros((11, d))).subspace_.to_dense()
        )
        for weight in (None, weights):
            estimator = feed(variant.build(d, k, center=True), rows, ragged, weight)
            equal(estimator.subspace_.to_dense(), wanted)
