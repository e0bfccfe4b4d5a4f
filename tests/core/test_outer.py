"""Sums of outer products of dense rows about a point, by BLAS."""

import threading

import numpy as np
import pytest

from onepass import _core

RNG = np.random.default_rng(0)


def add(out, rows, weights, origin=None, scale=None, tile=4, first=0, step=1):
    """Add outer products of rows, in tiles; return the sum of the rows."""
    origin = np.zeros(rows.shape[1], rows.dtype) if origin is None else origin
    return _core.add_outer(out, rows, origin, scale, weights, tile, first, step)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d"), [(40, 30), (7, 1), (0, 4), (4, 3)])
@pytest.mark.parametrize("tile", [1, 4, 1000])
def test_equals_the_product(n, d, tile, dtype):
    rows, before = RNG.normal(size=(n, d)).astype(dtype), RNG.random((d, d)).astype(dtype)
    weights = np.where(RNG.random(n) < 0.3, 0.0, RNG.random(n))
    origin, scale = RNG.normal(size=d).astype(dtype), RNG.uniform(0.5, 2.0, d).astype(dtype)
    out = before.copy()
    total = add(out, rows, weights, origin, scale, tile)
    centred = (rows.astype(np.float64) - origin) / scale
    rounding = 200 * np.finfo(dtype).eps
    expected = before + np.triu(centred.T @ (weights[:, None] * centred))
    np.testing.assert_allclose(out, expected, rtol=rounding, atol=10 * rounding)
    np.testing.assert_array_equal(np.tril(out, -1), np.tril(before, -1))
    np.testing.assert_allclose(total, weights @ centred, rtol=rounding, atol=10 * rounding)


def test_every_third_tile():
    """Rows of positive weight are in tiles of four; the second of three jobs has two of these."""
    rows, weights = RNG.normal(size=(24, 5)), np.ones(24)
    weights[2] = 0.0
    counted = np.delete(np.arange(24), 2)
    mine = rows[np.concatenate([counted[4:8], counted[16:20]])]
    out = np.zeros((5, 5))
    total = add(out, rows, weights, first=1, step=3)
    np.testing.assert_allclose(out, np.triu(mine.T @ mine), rtol=1e-13)
    np.testing.assert_allclose(total, mine.sum(axis=0), rtol=1e-13)


def test_other_threads_go_on_meanwhile():
    rows, out, ended = np.ones((20_000, 400)), np.zeros((400, 400)), threading.Event()

    def work():
        add(out, rows, np.ones(20_000), tile=500)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    rounds = 0
    while not ended.is_set():
        rounds += 1
    thread.join()
    assert rounds > 1000  # with the lock held it would be a few before and after the call
