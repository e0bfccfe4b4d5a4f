"""Directions from rows that are read several times, or that are few, against decompositions."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments.sketch import GRAM_ROWS
from onepass.pca.few import FewRows
from onepass.pca.passes import Sums, iterate

K = 4


def some_rows(n=240, d=160, seed=0, mean=0.0):
    rng = np.random.default_rng(seed)
    spread = np.r_[np.sqrt([9.0, 7.0, 6.0, 5.0, 4.0]), np.full(d - 5, 0.5)]
    return rng.normal(size=(n, d)) * spread + mean * rng.normal(size=d)


def batch(X, weights, *, center=True, scale=False):
    """Return mean, deviations or ones, and the leading sums of squares and directions."""
    mean = np.average(X, axis=0, weights=weights) * center
    Z = X - mean
    deviations = np.sqrt(np.average(Z**2, axis=0, weights=weights)) if scale else np.ones(1)
    deviations = np.where(deviations > 0.0, deviations, 1.0)
    values, vectors = np.linalg.svd(np.sqrt(weights)[:, None] * Z / deviations, False)[1:]
    return mean, deviations, values**2, vectors


def blocks_of(X, weights, length=None):
    """Return rows that are read in blocks, and a list that counts how often."""
    passes, length = [], length or len(weights)

    def read():
        passes.append(0)
        for start in range(0, len(weights), length):
            yield X[start : start + length], weights[start : start + length]

    return read, passes


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": True}])
@pytest.mark.parametrize("mean", [0.0, 1e5])
def test_equals_a_decomposition(kind, options, mean):
    X, weights = some_rows(mean=mean), np.random.default_rng(1).random(240) + 0.5
    if mean and options.get("center") is False:
        pytest.skip("the mean is all there is")
    read, passes = blocks_of(kind(X), weights)
    found = iterate(read, K, **options)
    mean_, deviations, values, vectors = batch(X, weights, **options)
    np.testing.assert_allclose(found.sums.mean, mean_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.sums.weight, weights.sum())
    if options.get("scale"):
        np.testing.assert_allclose(found.scale, deviations, rtol=1e-8)
    captured = found.values[:K].sum()
    np.testing.assert_allclose(captured, values[:K].sum(), rtol=3e-4)
    assert len(found.directions) >= 3 * K + 24
    np.testing.assert_allclose(found.directions @ found.directions.T,
                               np.eye(len(found.directions)), atol=1e-9)  # fmt: skip
    assert np.abs(vectors[:2] @ found.directions[:2].T).diagonal().min() > 0.99
    assert found.passes == len(passes) <= 8


@pytest.mark.parametrize("length", [240, 100, 7])
def test_blocks_change_rounding_alone(length):
    X, weights = some_rows(), np.ones(240)
    whole, parts = (iterate(blocks_of(X, weights, n)[0], K) for n in (240, length))
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-8)
    assert parts.passes == whole.passes


def test_float32_rows():
    X, weights = some_rows(mean=3.0), np.ones(240)
    found = iterate(blocks_of(X.astype(np.float32), weights)[0], K)
    np.testing.assert_allclose(found.values[:K], batch(X, weights)[2][:K], rtol=1e-3)


def test_the_last_of_a_given_number_of_passes_sees_the_directions():
    X, weights, seen = some_rows(), np.ones(240), []
    read, passes = blocks_of(X, weights, 80)

    def last(values, share, mean, scale, directions):
        seen.append((len(values), len(share), directions.copy()))
        assert mean.shape == (160,)
        assert scale is None

    found = iterate(read, K, passes=4, last=last)
    assert found.passes == len(passes) == 4
    assert [one[:2] for one in seen] == [(80, 80)] * 3
    for one in seen:
        np.testing.assert_array_equal(one[2], found.directions[:K])


def test_a_start_with_sums_saves_a_pass():
    X, weights = some_rows(), np.ones(240)
    first = iterate(blocks_of(X, weights)[0], K)
    read, passes = blocks_of(X, weights)
    again = iterate(read, K, start=first.directions[: K + 10], sums=first.sums, passes=2)
    assert len(passes) == again.passes == 2
    np.testing.assert_allclose(again.values[:K], first.values[:K], rtol=1e-3)
    assert again.values[:K].sum() >= first.values[:K].sum() * (1 - 1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("n", "options"),
    [
        (1, {}),
        (1, {"scale": True}),
        (3, {"center": False}),
        (50, {}),
        (50, {"scale": True}),
        (GRAM_ROWS + 1, {}),
        (GRAM_ROWS + 1, {"center": False}),
    ],
)
def test_few_rows_are_exact(kind, n, options):
    X, weights = some_rows(n, 300), np.random.default_rng(1).random(n) + 0.5
    mean, deviations, values, vectors = batch(X, weights, **options)
    columns = weights @ (X - mean) ** 2
    half = n // 2
    blocks = [(kind(X[part]), weights[part]) for part in (slice(half), slice(half, n)) if n > 1]
    rows = FewRows(
        blocks or [(kind(X), weights)],
        Sums(weights.sum(), mean * np.ones(300), columns),
        deviations if options.get("scale") else None,
    )
    directions, found = rows.leading(K, more=2)
    k = min(K, n - 1)
    np.testing.assert_allclose(found[:k], values[:k], rtol=1e-8)
    captured = np.square(vectors[:k] @ directions[:k].T).sum()
    assert captured >= k * (1 - 1e-9)
    assert len(directions) == min(K + 2, n)
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-9)
