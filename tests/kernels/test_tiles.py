"""Products of a few long rows against NumPy's."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass.kernels.tiles import CACHE_LINE, PANEL, add_gram, aligned, combine

PRECISIONS = [np.float64, np.float32]
sizes = st.integers(0, 11)
columns = st.sampled_from([1, 7, 8, 15, 16, 17, 100, 129, 300])


def some(rng, rows, d, dtype):
    """Return rows that are exact in either precision, and so are their products."""
    return rng.integers(-8, 9, (rows, d)).astype(dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
@given(sizes, sizes, columns, st.integers(0, 2**32))
def test_gram_is_exact_on_small_integers(dtype, m, b, d, seed):
    rng = np.random.default_rng(seed)
    basis, rows = some(rng, m + 1, d, dtype), some(rng, b, d, dtype)
    stack = np.vstack([basis[:m], rows])
    before = rng.integers(0, 5, (m + b, m + b)).astype(float)
    gram = before.copy()
    add_gram(basis, m, rows, gram)
    wanted = before + stack @ stack.T
    assert np.array_equal(np.tril(gram)[m:], np.tril(wanted)[m:])
    assert np.array_equal(gram[:m], before[:m])


@pytest.mark.parametrize("dtype", PRECISIONS)
@given(sizes, sizes, sizes, columns, st.integers(0, 2**32))
def test_combinations_are_exact_on_small_integers(dtype, k, m, b, d, seed):
    rng = np.random.default_rng(seed)
    basis, rows = some(rng, m + 1, d, dtype), some(rng, b, d, dtype)
    coefficients, out = some(rng, k, m + b, dtype), np.full((k + 1, d), 99, dtype)
    combine(coefficients, basis, m, rows, out)
    assert np.array_equal(out[:k], coefficients @ np.vstack([basis[:m], rows]))
    assert (out[k] == 99).all()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_many_columns_lose_no_digits(dtype):
    rng = np.random.default_rng(0)
    d, m, b = 3 * PANEL + 5, 5, 6
    stack = rng.standard_normal((m + b, d)).astype(dtype)
    gram = np.zeros((m + b, m + b))
    add_gram(stack, m, stack[m:], gram)
    wanted = stack.astype(float) @ stack.T.astype(float)
    bound = 2 * np.finfo(dtype).eps * np.sqrt(d) * np.sqrt(d)
    assert abs(np.tril(gram - wanted)[m:]).max() <= bound


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_row_that_is_not_finite_spoils_only_its_own_products(dtype):
    rows = np.ones((6, 40), dtype)
    rows[4, 39] = np.nan
    gram = np.zeros((6, 6))
    add_gram(rows, 0, rows, gram)
    spoilt = np.zeros((6, 6), bool)
    spoilt[4, :], spoilt[:, 4] = True, True
    assert np.array_equal(np.isnan(gram) & np.tri(6, dtype=bool), spoilt & np.tri(6, dtype=bool))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_aligned_arrays_begin_with_a_cache_line(dtype):
    for rows in range(5):
        array = aligned(rows, 3, np.dtype(dtype))
        assert array.shape == (rows, 3)
        assert array.dtype == dtype
        assert array.ctypes.data % CACHE_LINE == 0 or not array.size
        assert array.flags.c_contiguous
        assert array.flags.writeable


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="NumPy takes any order")
def test_rows_whose_columns_are_not_side_by_side_are_refused():
    rows = np.ones((16, 6)).T
    with pytest.raises(numba.TypingError):
        add_gram(rows, 2, rows, np.zeros((8, 8)))
