"""A weight w is as good as the row sqrt(w) x; a weight of zero is no row at all."""

import numpy as np
import pytest

from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_identical, published
from tests.contracts.rows import make
from tests.contracts.variants import BATCH_VARIANTS, OTHER_VARIANTS, VARIANTS

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
