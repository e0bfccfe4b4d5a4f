"""What `robust` does: ordinary PCA by default, directions that long rows cannot turn if asked."""

import numpy as np
import pytest
from sklearn.decomposition import PCA as BatchPCA

from onepass import PCA

D, K = 20, 3
SPECTRUM = 1.0 / np.arange(1, D + 1)


def lost(components):
    """Return the share of the best captured variance that components (k, d) lose."""
    basis = np.linalg.qr(components.T)[0]
    return 1.0 - float(SPECTRUM @ (basis**2).sum(axis=1)) / SPECTRUM[:K].sum()


def student(seed, n, degrees):
    """Elliptical rows with heavy tails and the principal directions of the axes."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, D)) * SPECTRUM**0.5
    return rows / np.sqrt(rng.chisquare(degrees, size=(n, 1)) / degrees)


@pytest.mark.parametrize(("degrees", "share"), [(2.5, 0.3), (3, 0.4), (5, 0.9)])
def test_robust_components_of_heavy_tailed_rows_are_closer_to_the_truth(degrees, share):
    ratios = []
    for seed in range(5):
        X = student(seed, 4000, degrees)
        robust, plain = PCA(K, robust=True).fit(X), PCA(K).fit(X)
        ratios.append(lost(robust.components_) / lost(plain.components_))
    assert np.exp(np.mean(np.log(ratios))) < share


@pytest.mark.parametrize("where", [slice(0, 40), slice(-40, None), slice(None, None, 100)])
def test_outliers_anywhere_in_the_stream_do_not_turn_robust_components(where):
    X = student(0, 4000, 1e6)
    X[where] += 100 * np.random.default_rng(2).normal(size=X[where].shape)
    clean = lost(BatchPCA(K).fit(student(0, 4000, 1e6)).components_)
    assert lost(PCA(K, robust=True).fit(X).components_) < clean + 0.01
    assert lost(PCA(K).fit(X).components_) > 0.1


def test_all_other_numbers_are_those_of_all_rows():
    X = student(3, 3000, 2.5) + 5
    robust, plain = PCA(K, robust=True, scale=True).fit(X), PCA(K, scale=True).fit(X)
    for name in ("mean_", "var_", "scale_"):
        np.testing.assert_array_equal(getattr(robust, name), getattr(plain, name))
    along = (X - plain.mean_) / plain.scale_ @ robust.components_.T
    np.testing.assert_allclose(robust.explained_variance_, along.var(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("scale", [False, True])
def test_a_share_of_the_variance_is_one_of_all_rows(share, scale):
    X = student(4, 3000, 50)
    X[::100] += 20.0 * np.random.default_rng(5).normal(size=(30, D))
    ratios = PCA(share, robust=True, scale=scale).fit(X).explained_variance_ratio_
    assert ratios.sum() >= share
    assert ratios[:-1].sum() < share
