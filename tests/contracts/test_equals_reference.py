"""Every algorithm is the naive transcription of the paper, to rounding, however the rows come."""

import numpy as np
import pytest

from tests.contracts.rows import MAKERS, make
from tests.contracts.splits import SPLITS, feed
from tests.contracts.variants import VARIANTS

# The contract is 1e-8. The cases are conditioned so well (1e-12) that more can be asked, and a
# residual of 1e-9 is seen only if more is asked.
TOLERANCE = 1e-10

SMALL = [(5, 1), (5, 3), (5, 5), (30, 8)]  # (d, k)
LARGE = [(70, 3), (70, 8), (70, 30), (150, 1), (150, 8)]
PLAIN = [v for v in VARIANTS if not v.params or v.averages]


CASES = [
    pytest.param(variant, name, d, k, id=f"{variant}-{name}-{d}x{k}")
    for variants, names, shapes in (
        (VARIANTS, MAKERS, SMALL),
        (PLAIN, ("gaussian", "one_hot", "nearly_in_span"), LARGE),
    )
    for variant in variants
    for name in names
    for d, k in shapes
    if variant.well_posed_on(name, d, k)
]


def assert_close(actual: np.ndarray, wanted: np.ndarray) -> None:
    """Compare d x d matrices to the contract's tolerance, relative to max(1, |wanted|)."""
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=TOLERANCE * scale)


@pytest.mark.parametrize(("variant", "name", "d", "k"), CASES)
def test_equals_reference(variant, name, d, k):
    rows = make(name, n=45, d=d, k=k)
    outcome = variant.expected(rows, k)
    for split in SPLITS.values():
        estimator = feed(variant.build(d, k), rows, split)
        assert_close(estimator.subspace_.to_dense(), outcome.last)
        if variant.averages and d <= 2 * k + 16:  # beyond that the average is truncated
            assert_close(estimator.average_.to_dense(), outcome.average)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("k", [1, 2])
def test_equals_reference_in_few_dimensions(variant, k):
    """Down to d = k = 1, where a basis leaves no complement."""
    for d in range(k, 4):
        rows = make("gaussian", n=25, d=d, k=k)
        outcome = variant.expected(rows, k)
        estimator = variant.build(d, k).fit(rows)
        assert_close(estimator.subspace_.to_dense(), outcome.last)
