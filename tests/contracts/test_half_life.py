"""What was seen counts half after `half_life` rows, in everything that is published."""

import numpy as np
import pytest
from scipy import sparse

import onepass
from tests import reference
from tests.contracts.chunks import chunks_of
from tests.contracts.results import assert_leading
from tests.contracts.rows import make
from tests.contracts.variants import Variant

D, K, N, LENGTH, HALF_LIFE = 12, 3, 130, 8, 40.0


def faded(n, length=LENGTH, half_life=HALF_LIFE):
    """Return how much each of n rows counts: a chunk counts fully, and halves what came before."""
    ends = np.minimum(n, length * (np.arange(n) // length + 1))
    return 0.5 ** ((n - ends) / half_life)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [N, 128])
def test_mean_and_variances_are_those_of_the_faded_rows(n, kind, center):
    variant = Variant("PCA", params={"robust": False, "half_life": HALF_LIFE, "center": center})
    rng = np.random.default_rng(0)
    rows = make("gaussian", n, D, K) + np.linspace(0, 1, n)[:, None]  # the mean moves
    rows[rng.random(rows.shape) < 0.3] = 0
    weights = rng.uniform(0.5, 2, n)
    with chunks_of(LENGTH):
        estimator = variant.build(D, K).fit(kind(rows), sample_weight=weights)
    counts = weights * faded(n)
    mean, S = reference.scatter(rows, counts, center=center)
    np.testing.assert_allclose(estimator.mean_, mean, atol=1e-12)
    assert_leading(estimator, variant, rows, counts, 1e-10)
    V = estimator.components_
    shares = np.diag(V @ S @ V.T) / np.trace(S)
    np.testing.assert_allclose(estimator.explained_variance_ratio_, shares, atol=1e-10)
    assert estimator.n_samples_seen_ == n


def test_merged_parts_fade_together():
    """Merging adds what counts in each part; later rows fade both."""
    variant = Variant("PCA", params={"robust": False, "half_life": HALF_LIFE})
    rows = make("gaussian", N, D, K)
    with chunks_of(LENGTH):
        one, other = variant.build(D, K).fit(rows[:40]), variant.build(D, K).fit(rows[40:90])
        merged = onepass.merge(one, other)
        merged.partial_fit(rows[90:])
    old = 0.5 ** ((N - 90) / HALF_LIFE)
    counts = np.concatenate([old * faded(40), old * faded(50), faded(N - 90)])
    mean, _ = reference.scatter(rows, counts, center=True)
    np.testing.assert_allclose(merged.mean_, mean, atol=1e-12)
    assert_leading(merged, variant, rows, counts, 1e-10)


def test_chunks_are_short_beside_a_half_life():
    """What is learned from at once counts the same, so it must not be long."""
    rows = make("gaussian", 3000, D, K)
    rows[:1500] *= [9.0, *np.ones(D - 1)]
    short = onepass.PCA(1, half_life=100.0).fit(rows)
    assert short.explained_variance_[0] < 2 * onepass.PCA(1).fit(rows[1500:]).explained_variance_[0]
