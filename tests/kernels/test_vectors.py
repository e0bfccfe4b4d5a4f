"""Four numbers at once do what each would do alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from onepass.kernels import vectors
from onepass.kernels.compiling import jit
from onepass.kernels.vectors import LANES, load, spread, store, whole_vectors

# Those whose results, compiled and not, are rounded in the same way.
numbers = arrays(np.float64, (3, LANES), elements=st.floats(-1e100, 1e100))
specials = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308]


@jit
def arithmetic(x, y):
    a, b = load(x, 0, 0), load(x, 1, 0)
    store(y, 0, 0, a + b)
    store(y, 1, 0, a - b)
    store(y, 2, 0, a * b)
    store(y, 3, 0, a / b)
    store(y, 4, 0, 2.0 * a)
    store(y, 5, 0, a / 3.0)
    a += b
    a -= 1.0
    a *= b
    store(y, 6, 0, a)
    store(y, 7, 0, spread(4.0))


@jit
def selection(x, y):
    a, b, c = load(x, 0, 0), load(x, 1, 0), load(x, 2, 0)
    store(y, 0, 0, vectors.smaller(a, b))
    store(y, 1, 0, vectors.larger(a, 0.0))
    store(y, 2, 0, vectors.choose(a, b, c))
    store(y, 3, 0, vectors.choose(a, 1.0, spread(-1.0)))
    store(y, 4, 0, vectors.replace_zeros(a, 7.0))
    store(y, 5, 0, vectors.root(vectors.larger(b, 0.0)))
    return vectors.all_within(a, 1.0)


@jit
def sums(x):
    a, b, c = load(x, 0, 0), load(x, 1, 0), load(x, 2, 0)
    return vectors.total(vectors.fma(a, b, c)), vectors.total(vectors.fma(2.0, b, c))


@given(numbers)
def test_arithmetic(x):
    y = np.empty((8, LANES))
    with np.errstate(all="ignore"):
        arithmetic(x, y)
        a, b = x[:2]
        wanted = [a + b, a - b, a * b, a / b, 2 * a, a / 3, ((a + b) - 1) * b, np.full(LANES, 4.0)]
    assert np.array_equal(y, wanted, equal_nan=True)


@given(arrays(np.float64, (3, LANES), elements=st.sampled_from(specials)))
def test_selection_also_of_what_is_not_finite(x):
    y = np.empty((6, LANES))
    with np.errstate(invalid="ignore"):
        within = selection(x, y)
    a, b, c = x
    wanted = [
        np.where(a < b, a, b),
        np.where(a > 0, a, 0),
        np.where(a > 0, b, c),
        np.where(a > 0, 1, -1),
        np.where(a == 0, 7, a),
        np.sqrt(np.where(b > 0, b, 0)),
    ]
    assert np.array_equal(y, wanted, equal_nan=True)
    assert within == np.all(a <= 1)


def test_sums():
    x = np.arange(12.0).reshape(3, LANES)
    assert sums(x) == ((x[0] * x[1] + x[2]).sum(), (2 * x[1] + x[2]).sum())


def test_load_and_store_at_any_column():
    @jit
    def move(x, y):
        store(y, 1, 3, load(x, 0, 2))

    x, y = np.arange(20.0).reshape(2, 10), np.zeros((2, 10))
    move(x, y)
    wanted = np.zeros((2, 10))
    wanted[1, 3:7] = [2, 3, 4, 5]
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize(("count", "whole"), [(0, 0), (1, 4), (4, 4), (5, 8)])
def test_whole_vectors(count, whole):
    assert whole_vectors(count) == whole
