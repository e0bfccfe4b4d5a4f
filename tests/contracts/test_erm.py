"""Batch PCA in one pass, beside scikit-learn's. The contracts have the rest."""

import numpy as np
import pytest
from sklearn import decomposition

from onepass import ERM
from tests.contracts.chunks import chunks_of
from tests.contracts.rows import make
from tests.contracts.variants import BATCH_VARIANTS


@pytest.mark.parametrize("variant", [v for v in BATCH_VARIANTS if v.center], ids=str)
@pytest.mark.parametrize("length", [8, None])
def test_equals_scikit_learn(variant, length):
    rows = make("gaussian", 200, 12, 4) + 3
    with chunks_of(length):
        ours = variant.build(12, 4).fit(rows)
    theirs = decomposition.PCA(4, svd_solver="full").fit(rows)
    for name in (
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "noise_variance_",
    ):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(rows), theirs.transform(rows), atol=1e-9)
    assert ours.score(rows) == pytest.approx(theirs.explained_variance_ratio_.sum(), rel=1e-9)


def test_refuses_a_second_moment_that_does_not_fit():
    with pytest.raises(ValueError, match=r"(?i)memory|GB|GiB|MB|bytes"):
        ERM(2).partial_fit(np.ones((1, 1_000_000)))
