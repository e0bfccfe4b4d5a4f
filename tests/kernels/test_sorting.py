import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onepass.kernels.sorting import sort_descending


@given(st.lists(st.floats(-3, 3) | st.integers(0, 3).map(float), max_size=40))
def test_is_the_stable_descending_order(values):
    n = len(values)
    order, spare = np.full(n + 1, -7), np.empty(n, np.int64)
    sort_descending(n, np.array([*values, 99.0]), order, spare)
    np.testing.assert_array_equal(order[:n], np.argsort(-np.array(values), kind="stable"))
    assert order[n] == -7


def test_moves_nothing_that_is_in_order():
    spare = np.full(1000, -7)
    sort_descending(1000, -np.arange(1000.0), np.empty(1000, np.int64), spare)
    assert (spare == -7).all()
