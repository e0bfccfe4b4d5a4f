"""Products of a few long rows against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepass import _core

PRECISIONS = [np.float64, np.float32]
sizes = st.integers(0, 11)
columns = st.sampled_from([1, 7, 8, 15, 16, 17, 100, 129, 300, 1025])


def some(rng, rows, d, dtype):
    """Return rows that are exact in either precision, and so are their products."""
    return rng.integers(-8, 9, (rows, d)).astype(dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
@given(sizes, sizes, columns, st.integers(0, 2**32))
def test_gram_is_exact_on_small_integers(dtype, m, b, d, seed):
    rng = np.random.default_rng(seed)
    basis, rows = some(rng, m, d, dtype), some(rng, b, d, dtype)
    gram = _core.gram(basis, rows)
    wanted = rows @ np.vstack([basis, rows]).T
    known = np.tri(b, m + b, m, dtype=bool)  # up to the diagonal
    assert gram.shape == (b, m + b)
    assert np.array_equal(gram[known], wanted[known])


@pytest.mark.parametrize("dtype", PRECISIONS)
@given(sizes, sizes, sizes, columns, st.integers(0, 2**32))
def test_combinations_are_exact_on_small_integers(dtype, k, m, b, d, seed):
    rng = np.random.default_rng(seed)
    basis, rows = some(rng, m, d, dtype), some(rng, b, d, dtype)
    coefficients = some(rng, k, m + b, dtype)
    out = _core.combine(coefficients, basis, rows)
    assert out.dtype == dtype
    assert np.array_equal(out, coefficients @ np.vstack([basis, rows]))


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_many_columns_lose_no_digits(dtype):
    rng = np.random.default_rng(0)
    d, m, b = 1541, 5, 6
    stack = rng.standard_normal((m + b, d)).astype(dtype)
    wanted = stack[m:].astype(float) @ stack.T.astype(float)
    error = np.tril(_core.gram(stack[:m], stack[m:]) - wanted, m)
    assert abs(error).max() <= 2 * np.finfo(dtype).eps * d


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_row_that_is_not_finite_spoils_only_its_own_products(dtype):
    rows = np.ones((6, 40), dtype)
    rows[4, 39] = np.nan
    gram = _core.gram(rows[:0], rows)
    spoilt = np.zeros((6, 6), bool)
    spoilt[4, :], spoilt[:, 4] = True, True
    lower = np.tri(6, dtype=bool)
    assert np.array_equal(np.isnan(gram) & lower, spoilt & lower)
