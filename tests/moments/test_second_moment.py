"""The second moment of the rows, exact and sketched."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments import ExactMoment, Mean, SketchedMoment


def _feed(second, X, weights=None, pieces=7, as_sparse=False):
    mean = Mean(X.shape[1])
    weights = np.ones(len(X)) if weights is None else weights
    for part in np.array_split(np.arange(len(X)), pieces):
        before = mean.copy()
        rows = sparse.csr_array(X[part]) if as_sparse else X[part]
        if second.center:
            mean.update(0.0, rows, weights[part])
        else:
            mean.weight += weights[part].sum()
        second.update(rows, weights[part], before, mean)
    centre = weights @ X / weights.sum() if second.center else 0.0
    second.add_energy(float(weights @ ((X - centre) ** 2).sum(axis=1)))
    return mean


def _matrix(second, rank=12):
    """Return the d x d matrix of the leading directions."""
    directions, sums = second.leading(rank)
    return (directions.T * sums) @ directions


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_exact_is_the_scatter(center, as_sparse):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(300, 12)) + 5.0, rng.random(300) + 0.1
    second = ExactMoment(12, center, np.dtype(float))
    mean = _feed(second, X, w, as_sparse=as_sparse)
    D = X - (w @ X / w.sum() if center else 0.0)
    np.testing.assert_allclose(_matrix(second), (D.T * w) @ D, rtol=1e-9)
    V = np.linalg.qr(rng.normal(size=(12, 3)))[0].T
    np.testing.assert_allclose(second.compress(V, mean), V @ ((D.T * w) @ D) @ V.T, rtol=1e-9)
    assert second.energy == pytest.approx(np.sum(w[:, None] * D**2))


@pytest.mark.parametrize("center", [False, True])
def test_sketch_is_exact_on_rows_of_low_rank(center):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 300)) + (3.0 if center else 0.0)
    second = SketchedMoment(300, 12, center, np.dtype(float), 50)
    _feed(second, X)
    D = X - (X.mean(axis=0) if center else 0.0)
    scale = np.linalg.norm(D.T @ D)
    assert np.linalg.norm(_matrix(second) - D.T @ D) < 1e-9 * scale


def test_sketch_finds_the_leading_directions_and_their_variances():
    rng = np.random.default_rng(2)
    spectrum = np.r_[np.full(4, 9.0), np.ones(396)]
    X = rng.normal(size=(3000, 400)) * np.sqrt(spectrum)
    second = SketchedMoment(400, 12, False, np.dtype(float), 200)
    mean = _feed(second, X, pieces=15)
    V = second.spanned(4).astype(float)
    assert (V[:, :4] ** 2).sum() > 3.9
    exact = V @ (X.T @ X) @ V.T
    np.testing.assert_allclose(np.diag(second.compress(V, mean)), np.diag(exact), rtol=0.02)


def test_what_the_sketch_does_not_see_is_judged_by_the_sample():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 500))
    second = SketchedMoment(500, 8, False, np.dtype(float), 256)
    mean = _feed(second, X, pieces=16)
    V = np.linalg.qr(rng.normal(size=(500, 6)))[0].T
    estimate = np.trace(second.compress(V, mean)) / np.trace(V @ (X.T @ X) @ V.T)
    assert 0.85 < estimate < 1.15


def test_merging_equals_one_pass():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 10)) + np.arange(10)
    whole = ExactMoment(10, True, np.dtype(float))
    _feed(whole, X)
    parts = []
    for rows in (X[:100], X[100:]):
        second = ExactMoment(10, True, np.dtype(float))
        parts.append((second, _feed(second, rows)))
    (first, mean), (other, their) = parts
    first.merge(other, mean.between(their))
    mean.merge(their)
    np.testing.assert_allclose(_matrix(first), _matrix(whole), rtol=1e-9)
    np.testing.assert_allclose(mean.vector, X.mean(axis=0), rtol=1e-12)


def test_fading_counts_less():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 6))
    second = ExactMoment(6, False, np.dtype(float))
    _feed(second, X)
    before = _matrix(second)
    second.fade(0.25)
    np.testing.assert_allclose(_matrix(second), 0.25 * before)
