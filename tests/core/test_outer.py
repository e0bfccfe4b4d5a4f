"""Sums of outer products of dense rows, by BLAS."""

import threading

import numpy as np
import pytest

from onepass import _core


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d"), [(40, 30), (7, 1), (0, 4), (3, 0)])
def test_equals_the_product(n, d, dtype):
    rows = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    before = np.random.default_rng(1).random((d, d)).astype(dtype)
    out = before.copy()
    _core.add_outer(out, rows)
    expected = before + np.triu(rows.T @ rows)
    np.testing.assert_allclose(out, expected, rtol=200 * np.finfo(dtype).eps, atol=1e-5)
    np.testing.assert_array_equal(np.tril(out, -1), np.tril(before, -1))


def test_shapes_that_do_not_fit():
    for shape in ((3, 4), (4, 3), (3, 3)):
        with pytest.raises(ValueError, match="for each column of the rows"):
            _core.add_outer(np.zeros(shape), np.ones((5, 4)))


def test_other_threads_go_on_meanwhile():
    rows, out, ended = np.ones((20_000, 400)), np.zeros((400, 400)), threading.Event()

    def work():
        _core.add_outer(out, rows)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    rounds = 0
    while not ended.is_set():
        rounds += 1
    thread.join()
    assert rounds > 1000  # with the lock held it would be a few before and after the call
