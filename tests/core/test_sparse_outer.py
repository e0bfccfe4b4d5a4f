"""Sums of outer products of sparse rows against dense products, in any split of the output."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from onepass import _core

TYPES = [(np.float64, np.int32), (np.float64, np.int64), (np.float32, np.int32),
         (np.float32, np.int64)]  # fmt: skip


def some_rows(n, d, density, dtype=np.float64, index=np.int32, seed=0):
    rng = np.random.default_rng(seed)
    rows = sparse.random_array((n, d), density=density, format="csr", dtype=dtype, rng=rng)
    rows.sort_indices()
    return (rows.data, rows.indices.astype(index), rows.indptr.astype(index)), rows.toarray()


@pytest.mark.parametrize(("dtype", "index"), TYPES)
@pytest.mark.parametrize(
    ("n", "d", "density"), [(40, 30, 0.2), (7, 5, 1.0), (0, 4, 0.5), (3, 1, 1)]
)
def test_equals_the_dense_product(n, d, density, dtype, index):
    parts, dense = some_rows(n, d, density, dtype, index)
    weights = np.random.default_rng(1).random(n)
    before = np.random.default_rng(2).random((d, d))
    out = before.copy()
    _core.add_sparse_outer(out, *parts, weights, 0, d)
    wide = dense.astype(np.float64)  # single precision is summed in double
    expected = before + np.triu(wide.T @ (weights[:, None] * wide))
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    np.testing.assert_array_equal(np.tril(out, -1), np.tril(before, -1))


@pytest.mark.parametrize("cuts", [[], [17], [3, 4, 4, 29], range(31)])
def test_any_split_of_the_output_gives_the_same_bits(cuts):
    parts, _ = some_rows(60, 31, 0.3)
    weights = np.random.default_rng(1).random(60)
    whole, split = np.zeros((31, 31)), np.zeros((31, 31))
    _core.add_sparse_outer(whole, *parts, weights, 0, 31)
    edges = [0, *cuts, 31]
    for first, last in pairwise(edges):
        before = split.copy()
        _core.add_sparse_outer(split, *parts, weights, first, last)
        outside = np.delete(split, np.s_[first:last], axis=0)
        np.testing.assert_array_equal(outside, np.delete(before, np.s_[first:last], axis=0))
    np.testing.assert_array_equal(split, whole)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out": np.zeros((3, 4))}, "not square"),
        ({"first": -1}, "not those of a matrix of 3 rows"),
        ({"last": 4}, "not those of a matrix of 3 rows"),
        ({"first": 3, "last": 2}, "not those of a matrix of 3 rows"),
        ({"weights": np.ones(3)}, "weights has 3 entries, but 2 are needed"),
        ({"weights": np.array([1.0, np.nan])}, r"weights\[1\] is nan"),
        ({"starts": np.array([0, 1, 2], np.int32)}, "starts must lead from 0"),
        ({"starts": np.array([1, 2, 3], np.int32)}, "starts must lead from 0"),
        ({"starts": np.array([], np.int32)}, "starts must lead from 0"),
        ({"starts": np.array([0, 4, 3], np.int32)}, "starts are not ascending"),
        ({"starts": np.array([0, -1, 3], np.int32)}, "starts are not ascending"),
        ({"indices": np.array([0, 2], np.int32)}, "an index for each entry"),
        ({"indices": np.array([2, 0, 1], np.int32)}, "columns of row 0 are not ascending"),
        ({"indices": np.array([1, 1, 1], np.int32)}, "columns of row 0 are not ascending"),
        ({"indices": np.array([0, 2, 3], np.int32)}, "columns of row 1 are not"),
        ({"indices": np.array([0, 2, -1], np.int32)}, "columns of row 1 are not"),
    ],
)
def test_arguments_that_do_not_fit(changes, message):
    fitting = {
        "out": np.zeros((3, 3)), "data": np.ones(3), "indices": np.array([0, 2, 1], np.int32),
        "starts": np.array([0, 2, 3], np.int32), "weights": np.ones(2), "first": 0, "last": 3,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.add_sparse_outer(**fitting | changes)
    assert not fitting["out"].any()


def test_the_matrix_is_never_a_copy():
    parts, _ = some_rows(2, 3, 1.0)
    read_only = np.zeros((3, 3))
    read_only.setflags(write=False)
    for out in (np.zeros((3, 3), np.float32), np.zeros((3, 6))[:, ::2], read_only):
        with pytest.raises(TypeError):
            _core.add_sparse_outer(out, *parts, np.ones(2), 0, 3)
