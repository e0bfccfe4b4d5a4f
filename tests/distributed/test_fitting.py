"""One model of all shards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from onepass import ERM, MEG, MSG, PCA, CappedMSG, Grouse, Incremental, Oja, metrics
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")

ESTIMATORS = [
    CappedMSG(3, average=True), CappedMSG(3, max_rank="auto"), MSG(3, trace="exact"),
    MEG(3), Oja(3, random_state=1), Grouse(3, random_state=1),
    Incremental(3), ERM(3, center=True), PCA(3), PCA(0.9),
]  # fmt: skip


def delayed(parts):
    return [dask.delayed(part) for part in parts]


@settings(max_examples=15)
@given(st.lists(st.integers(0, 90), min_size=2, max_size=9).filter(lambda sizes: sum(sizes) > 1))
def test_moments_are_those_of_all_rows_each_counted_once(sizes):
    X = made_rows(sum(sizes), d=6)
    parts = np.split(X, np.cumsum(sizes)[:-1])
    for estimator in (PCA(2), ERM(2, center=True)):
        found = fit(estimator, delayed(parts))
        assert found.n_samples_seen_ == len(X)
        np.testing.assert_allclose(found.mean_, X.mean(axis=0), rtol=1e-11, atol=1e-12)
        wanted = np.linalg.eigvalsh(np.cov(X.T))[::-1][:2]
        if len(wanted) == len(found.explained_variance_):
            np.testing.assert_allclose(found.explained_variance_, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_merged_iterates_are_as_good_as_one_pass(estimator):
    X = made_rows(4000) - made_rows(4000).mean(axis=0)
    best = ERM(3).fit(X).score(X)
    found = fit(estimator, delayed(np.array_split(X, 4)))
    assert found.score(X) > best - 0.03
    span = found.components_ @ found.components_.T
    np.testing.assert_allclose(span, np.eye(len(span)), atol=1e-10)


def test_an_unseeded_estimator_starts_at_the_same_place_in_every_shard():
    X = made_rows(10)
    found = fit(Oja(3, step_size=1e-12), delayed(np.array_split(X, 5)))
    learner = found._learner
    assert found.random_state is None
    one = learner.solver.rule.start(learner.stream.dtype).basis
    angles = metrics.principal_angles(learner.solver.state.basis, one)
    assert np.max(angles) < 1e-6


def test_the_given_estimator_stays_as_it_is():
    X = made_rows(300)
    estimator = PCA(3).fit(X[:100])
    before = clone(estimator).fit(X[:100])
    found = fit(estimator, delayed([X[100:]]))
    assert found.n_samples_seen_ == 200
    assert same_bits(estimator, before)
