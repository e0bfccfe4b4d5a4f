"""Batch PCA in one pass, against the eigenvectors of the whole second moment."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from onepass import ERM
from tests.contracts.rows import make
from tests.contracts.splits import SPLITS, feed

NAMES = ["gaussian", "one_hot", "duplicated", "in_span", "nearly_in_span", "with_zeros"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("center", [False, True])
def test_equals_the_eigenvectors_of_the_second_moment(name, center, split):
    for d, k in [(5, 1), (5, 5), (30, 8), (150, 3)]:
        rows = make(name, 60, d, k)
        estimator = feed(ERM(k, center=center), rows, SPLITS[split])
        about = rows - rows.mean(axis=0) if center else rows
        values, vectors = np.linalg.eigh(about.T @ about)
        wanted = values[::-1][:k]
        ratios = wanted.clip(0) / values.sum()
        np.testing.assert_allclose(estimator.explained_variance_ratio_, ratios, atol=1e-10)
        # Compare each component where its eigenvalue is apart from all others.
        gaps = np.abs(values[:, None] - values) + np.diag(np.full(d, np.inf))
        apart = gaps.min(axis=1)[::-1][:k] > 1e-3 * values[-1]
        cosines = np.abs(np.sum(estimator.components_ * vectors[:, ::-1].T[:k], axis=1))
        np.testing.assert_allclose(cosines[apart], 1, atol=1e-10)


def test_equals_scikit_learn():
    rows = make("gaussian", 200, 12, 4) + 3
    ours, theirs = ERM(4, center=True).fit(rows), PCA(4, svd_solver="full").fit(rows)
    for name in (
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "noise_variance_",
    ):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    projectors = [e.components_.T @ e.components_ for e in (ours, theirs)]
    np.testing.assert_allclose(*projectors, atol=1e-9)
    assert (np.sum(ours.components_ * theirs.components_, axis=1) > 1 - 1e-9).all()  # same signs


def test_uncorrelated_to_rounding():
    rows = make("gaussian", 200, 12, 4)
    scores = ERM(4).fit(rows).transform(rows)
    gram = scores.T @ scores
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)


def test_refuses_a_second_moment_that_does_not_fit():
    with pytest.raises(ValueError, match=r"(?i)memory|GB|GiB|MB|bytes"):
        ERM(2).partial_fit(np.ones((1, 1_000_000)))
