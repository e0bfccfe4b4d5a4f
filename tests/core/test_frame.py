"""Coordinates in an orthonormal frame: by Cholesky from a Gram matrix, or by splitting a row."""

import numpy as np
import pytest

from onepass import _core


@pytest.mark.parametrize("n", [0, 1, 2, 7, 16, 33])
def test_the_factor_of_a_gram_matrix_is_that_of_lapack(n):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, n + 5))
    gram = rows @ rows.T
    factor, count = _core.cholesky(np.tril(gram))
    assert count == n
    np.testing.assert_allclose(factor, np.linalg.cholesky(gram) if n else gram, atol=1e-12)


def test_a_dependent_row_ends_the_factor():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 20))
    rows[4] = rows[0] - rows[2] + 1e-4 * rows[4]
    factor, count = _core.cholesky(rows @ rows.T)
    assert count == 4
    np.testing.assert_allclose(
        factor[:4, :4], np.linalg.cholesky(rows[:4] @ rows[:4].T), atol=1e-13
    )
    assert not factor[4:].any()


def test_a_row_of_zeros_has_no_direction():
    rows = np.diag([2.0, 0.0, 3.0])
    factor, count = _core.cholesky(rows @ rows)
    assert count == 3
    np.testing.assert_array_equal(factor, rows)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e295, 1e-290, -1.0])
def test_energies_out_of_range_end_the_factor(bad):
    assert _core.cholesky(np.diag([1.0, bad, 1.0]))[1] == 1


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize(("m", "n"), [(0, 1), (1, 5), (4, 9), (7, 30), (30, 31)])
def test_a_row_is_what_is_inside_and_what_is_outside(m, n, scale):
    rng = np.random.default_rng(m)
    basis = np.ascontiguousarray(np.linalg.qr(rng.normal(size=(n, m)))[0].T)
    row = rng.normal(size=n)
    inside, outside, residual = _core.split(basis, scale * row)
    np.testing.assert_allclose(inside / scale, basis @ row, atol=1e-14)
    rebuilt = inside / scale @ basis + residual / scale * outside
    np.testing.assert_allclose(rebuilt, row, atol=1e-14)
    frame = np.vstack([basis, outside])
    np.testing.assert_allclose(frame @ frame.T, np.eye(m + 1), atol=1e-14)


@pytest.mark.parametrize("share", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_small_residual_is_orthogonal_to_rounding(share):
    rng = np.random.default_rng(1)
    frame = np.ascontiguousarray(np.linalg.qr(rng.normal(size=(50, 9)))[0].T)
    row = rng.normal(size=8) @ frame[:8] + share * frame[8]
    _, outside, residual = _core.split(frame[:8].copy(), row)
    assert residual == pytest.approx(share, rel=1e-15 / share + 1e-14)
    assert abs(frame[:8] @ outside).max() < 1e-14


def test_a_row_in_the_span_has_no_residual():
    rng = np.random.default_rng(2)
    basis = np.ascontiguousarray(np.linalg.qr(rng.normal(size=(50, 9)))[0].T)
    _, outside, residual = _core.split(basis, rng.normal(size=9) @ basis)
    assert residual == 0
    assert not outside.any()
    assert _core.split(basis, np.zeros(50))[2] == 0
