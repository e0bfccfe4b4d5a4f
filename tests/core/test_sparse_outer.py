"""Sums of outer products of sparse rows against dense products, in any parts."""

import numpy as np
import pytest
from scipy import sparse

from onepass import _core


def some_rows(n, d, density, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    rows = sparse.random_array((n, d), density=density, format="csr", dtype=dtype, rng=rng)
    rows.sort_indices()
    return (rows.data, rows.indices, rows.indptr), rows.toarray()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("n", "d", "density"), [(40, 30, 0.2), (7, 5, 1.0), (0, 4, 0.5), (3, 1, 1), (5000, 70, 0.3)]
)
def test_equals_the_dense_product(n, d, density, dtype):
    parts, dense = some_rows(n, d, density, dtype)
    weights = np.random.default_rng(1).random(n)
    before = np.random.default_rng(2).random((d, d))
    out = before.copy()
    _core.add_sparse_outer(out, *parts, weights)
    wide = dense.astype(np.float64)  # single precision is summed in double
    expected = before + np.triu(wide.T @ (weights[:, None] * wide))
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.tril(out, -1), np.tril(before, -1))


def rows_with_some_dense_columns(n, d, dense):
    """Return counts in which every so many columns are stored by most rows, a few by none."""
    rng = np.random.default_rng(3)
    shares = np.where(np.arange(d) % (d // dense) == 0, 0.7, 0.05) * (np.arange(d) != 4)
    rows = sparse.csr_array(rng.poisson(3.0, (n, d)) * (rng.random((n, d)) < shares) * 1.0)
    return rows, (rows.data, rows.indices, rows.indptr)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("n", "d", "dense"), [(300, 120, 40), (3000, 700, 100), (100, 1300, 650)])
def test_columns_that_many_rows_store(n, d, dense, single):
    """Test that a dense block of columns changes rounding alone: there is none in counts."""
    rows, parts = rows_with_some_dense_columns(n, d, dense)
    weights = np.random.default_rng(1).integers(0, 2, n).astype(float) * 4.0
    out = np.zeros((d, d))
    _core.add_sparse_outer(out, *parts, weights, single=single)
    X = rows.toarray()
    np.testing.assert_array_equal(out, np.triu(X.T @ (weights[:, None] * X)))


@pytest.mark.parametrize("parts", [2, 3, 40])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("dense", [5, 600])
def test_parts_of_the_matrix_give_the_same_bits(parts, single, dense):
    _, arrays = rows_with_some_dense_columns(150, 1250, dense)
    weights, d = np.random.default_rng(1).random(150), 1250
    whole, split = np.zeros((d, d)), np.zeros((d, d))
    _core.add_sparse_outer(whole, *arrays, weights, single=single)
    for part in range(parts):
        _core.add_sparse_outer(split, *arrays, weights, single=single, part=part, parts=parts)
    np.testing.assert_array_equal(split, whole)


@pytest.mark.parametrize("part", [-1, 1])
def test_a_part_that_there_is_not(part):
    parts, _ = some_rows(2, 3, 1.0)
    with pytest.raises(ValueError, match="is not one of 1"):
        _core.add_sparse_outer(np.zeros((3, 3)), *parts, np.ones(2), part=part)


def test_the_matrix_is_never_a_copy():
    parts, _ = some_rows(2, 3, 1.0)
    read_only = np.zeros((3, 3))
    read_only.setflags(write=False)
    for out in (np.zeros((3, 3), np.float32), np.zeros((3, 6))[:, ::2], read_only):
        with pytest.raises(TypeError):
            _core.add_sparse_outer(out, *parts, np.ones(2))
