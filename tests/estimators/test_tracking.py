"""Variances along the directions that an algorithm holds, on rows with many columns."""

import numba
import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass.estimators import walk
from onepass.kernels.centring import centre
from onepass.rules.msg import MSG

WIDE = 20_100  # columns from which on the engine tells how the directions move

ESTIMATORS = [
    onepass.CappedMSG(3),
    onepass.CappedMSG(3, center=True),
    onepass.CappedMSG(3, average=True),
    onepass.CappedMSG(3, batch_size=8),
    onepass.Incremental(3),
    onepass.Oja(3, random_state=0),
    onepass.Grouse(3, random_state=0),
]


def _rows(n=3000, d=300):
    """Return rows whose leading directions are found soon: the others are followed too late."""
    scales = np.r_[np.array([9.0, 7.0, 5.0]) * d / 300, np.ones(d - 3)]
    return np.random.default_rng(0).normal(size=(n, d)) * scales


@pytest.mark.parametrize("d", [300, WIDE])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_explained_variance_is_about_that_of_the_components(estimator, kind, d):
    X = _rows(d=d, n=3000 if d == 300 else 600)
    model = estimator.fit(kind(X))
    centred = X - X.mean(axis=0) if estimator.center else X
    exact = np.sum((centred @ model.components_.T) ** 2, axis=0) / (len(X) - 1)
    np.testing.assert_allclose(model.explained_variance_, exact, rtol=0.15 if d == 300 else 0.25)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("center", [False, True])
def test_the_compiled_walk_is_the_engine_block_by_block(monkeypatch, center, dtype):
    X = _rows(700).astype(dtype)
    X[300:310] = X[100]  # a block that is not well behaved
    X[400:403] = 0.0
    at_once = onepass.CappedMSG(3, center=center).fit(X)
    monkeypatch.setattr(walk, "NARROW", 0)
    blocks = onepass.CappedMSG(3, center=center).fit(X)
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    for ours, theirs, within in (
        (at_once.subspace_.to_dense(), blocks.subspace_.to_dense(), tolerance),
        (at_once.captured_.mean, blocks.captured_.mean, tolerance),
        # Along directions that move it matters how often they are looked at.
        (at_once.explained_variance_, blocks.explained_variance_, 0.1),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=within, atol=within)


@pytest.mark.parametrize("center", [False, True])
def test_sparse_rows_in_one_go_are_dense_rows(center):
    X = _rows(2000)
    X[np.random.default_rng(1).random(X.shape) < 0.9] = 0.0
    X[:, 5] = 1.0  # a column that every row has
    X[300:320] = X[100]  # rows that are not well behaved
    X[400:403] = 0.0
    dense = onepass.CappedMSG(3, center=center).fit(X)
    thin = onepass.CappedMSG(3, center=center).fit(sparse.csr_array(X))
    np.testing.assert_allclose(
        thin.subspace_.to_dense(), dense.subspace_.to_dense(), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(thin.captured_.mean, dense.captured_.mean, rtol=1e-10)
    np.testing.assert_allclose(thin.explained_variance_, dense.explained_variance_, rtol=1e-8)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_no_kernel_is_compiled_for_the_way_that_rows_lie_in_memory():
    X = _rows(600)
    frozen = X.copy()
    frozen.flags.writeable = False
    first = onepass.CappedMSG(3, center=True).fit(X)
    compiled = [len(kernel.signatures) for kernel in (MSG.walk, centre)]
    for other in (np.asfortranarray(X), frozen, np.repeat(X, 2, axis=1)[:, ::2]):
        model = onepass.CappedMSG(3, center=True).fit(other)
        np.testing.assert_array_equal(model.components_, first.components_)
    assert [len(kernel.signatures) for kernel in (MSG.walk, centre)] == compiled
