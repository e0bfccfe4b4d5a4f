"""Variances along directions that move."""

import numpy as np
import pytest
from scipy import sparse

from onepass.moments import Mean, TrackedMoment

D, K = 40, 4
SPECTRUM = np.r_[9.0, 7.0, 5.0, 4.0, np.ones(D - K)]


def _rows(n, seed=0, mean=0.0):
    return np.random.default_rng(seed).normal(size=(n, D)) * np.sqrt(SPECTRUM) + mean


def _feed(moment, X, directions, weights=None, as_sparse=False):
    """Feed X, one chunk for each of the directions."""
    mean = Mean(D)
    weights = np.ones(len(X)) if weights is None else weights
    parts = np.array_split(np.arange(len(X)), len(directions))
    for part, held in zip(parts, directions, strict=True):
        before = mean.copy()
        rows = sparse.csr_array(X[part]) if as_sparse else X[part]
        if moment.center:
            mean.update(0.0, rows, weights[part])
        else:
            mean.weight += weights[part].sum()
        until = slice(0, part[-1] + 1)
        seen = weights[until] @ ((X[until] - mean.vector) ** 2).sum(axis=1)
        more = seen - moment.energy
        moment.add_energy(more, more)  # no limit on what was captured
        moment.update(rows, weights[part], before, mean, held)
    return mean


def _turned(seed, angle):
    """Return the leading directions, turned a little."""
    noise = angle * np.random.default_rng(seed).normal(size=(K, D)) / np.sqrt(D)
    return np.linalg.qr((np.eye(K, D) + noise).T)[0].T


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_fixed_directions_are_exact(center, as_sparse):
    X, V = _rows(300, mean=3.0), _turned(1, 0.5)
    w = np.random.default_rng(2).random(300) + 0.1
    moment = TrackedMoment(D, center, np.dtype(float), np.inf)
    mean = _feed(moment, X, [V] * 5, w, as_sparse)
    centred = X - (w @ X / w.sum() if center else 0.0)
    np.testing.assert_allclose(
        moment.compress(V, mean), V @ (centred.T * w) @ centred @ V.T, rtol=1e-9
    )


def test_directions_that_shake_stay_within_a_few_per_cent():
    X = _rows(4000)
    moment = TrackedMoment(D, False, np.dtype(float), np.inf)
    mean = _feed(moment, X, [_turned(i, 0.3) for i in range(40)])
    V = np.eye(K, D)
    found = np.diag(moment.compress(V, mean)) / 4000
    np.testing.assert_allclose(found, SPECTRUM[:K], rtol=0.12)


def test_thinned_is_close_and_looks_at_fewer():
    X, V = _rows(20_000), np.eye(K, D)
    moment = TrackedMoment(D, False, np.dtype(float), 1000)
    looks, turn = [], moment._turn
    moment._turn = lambda held: looks.append(turn(held))
    mean = _feed(moment, X, [V] * 200)
    assert len(looks) < 0.35 * 200
    exact = np.diag(V @ X.T @ X @ V.T)
    np.testing.assert_allclose(np.diag(moment.compress(V, mean)), exact, rtol=0.1)


@pytest.mark.parametrize("center", [False, True])
def test_merging_equals_one_pass(center):
    X, V = _rows(400, mean=np.arange(D)), _turned(3, 0.5)
    whole = TrackedMoment(D, center, np.dtype(float), np.inf)
    mean = _feed(whole, X, [V, V])
    first, second = (TrackedMoment(D, center, np.dtype(float), np.inf) for _ in range(2))
    means = [_feed(first, X[:100], [V]), _feed(second, X[100:], [V])]
    first.merge(second, means[0].between(means[1]), V)
    np.testing.assert_allclose(first.compress(V, mean), whole.compress(V, mean), rtol=1e-9)


def test_what_was_never_looked_along_has_the_variance_of_the_rest():
    X = _rows(2000)
    moment = TrackedMoment(D, False, np.dtype(float), np.inf)
    mean = _feed(moment, X, [np.eye(K, D)] * 4)
    outside = np.eye(D)[-1:]
    assert moment.compress(outside, mean)[0, 0] / 2000 == pytest.approx(1.0, rel=0.02)


def test_fading_lets_the_new_count_more():
    V = np.eye(K, D)
    moment = TrackedMoment(D, False, np.dtype(float), np.inf)
    mean = _feed(moment, 3.0 * _rows(500), [V])
    moment.fade(1e-6)
    rows = _rows(500, seed=1)
    before = Mean(D)
    before.weight, mean.weight = 5e-4, 500.0005
    moment.add_energy(float((rows**2).sum()), np.inf)
    moment.update(rows, np.ones(500), before, mean, V)
    found = np.diag(moment.compress(V, mean)) / 500
    np.testing.assert_allclose(found, SPECTRUM[:K], rtol=0.15)


def test_a_direction_that_came_with_a_huge_row_is_not_taken_for_the_rows_before():
    X = _rows(2000)
    X[-1] = 0.0
    X[-1, -1] = 60.0
    found = []
    for captured in (0.3, np.inf):  # of all energy, when rows came
        moment = TrackedMoment(D, False, np.dtype(float), np.inf)
        mean = _feed(moment, X[:1900], [np.eye(K, D)] * 19)
        moment._captured = captured * moment.energy
        before = mean.copy()
        mean.weight += 100
        moment.add_energy(float((X[1900:] ** 2).sum()))
        held = np.eye(D)[[0, 1, 2, -1]]
        moment.update(X[1900:], np.ones(100), before, mean, held)
        found.append(moment.compress(held, mean)[-1, -1])
    assert found[1] > 5 * (X[:, -1] ** 2).sum()
    assert found[0] < 0.5 * found[1]
