"""Leading eigenpairs against LAPACK, by the measures that LAPACK is tested with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from onepass.kernels.symmetric import LARGE, leading_eigenpairs

EPS = np.finfo(float).eps


def check(matrix, most):
    """Ask that values are those of LAPACK and that vectors are orthonormal eigenvectors."""
    n = len(matrix)
    before = matrix.copy()
    values, vectors = leading_eigenpairs(matrix, most)
    assert np.array_equal(matrix, before)
    count = max(0, min(most, n))
    assert values.shape == (count,)
    assert vectors.shape == (count, n)
    if not count:
        return
    scale = max(float(np.abs(matrix).max()), 1e-300)
    scaled = matrix / scale
    bound = 30 * n * EPS * max(np.linalg.norm(scaled, 2), 1e-300)
    assert abs(values / scale - np.linalg.eigvalsh(scaled)[::-1][:count]).max() <= bound
    assert abs(vectors @ vectors.T - np.eye(count)).max() <= 30 * n * EPS
    assert abs(vectors @ scaled - (values / scale)[:, None] * vectors).max() <= bound
    assert (np.diff(values) <= 0).all()


def of(eigenvalues, seed=0):
    """Return a matrix with these eigenvalues."""
    eigenvalues = np.asarray(eigenvalues, float)
    vectors = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    matrix = (vectors * eigenvalues) @ vectors.T
    return (matrix + matrix.T) / 2


@given(
    st.integers(1, 24).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(-10, 10))),
    st.integers(0, 30),
)
def test_any_matrix(entries, most):
    check(entries + entries.T, most)


@given(st.integers(1, 12), st.integers(0, 2**32))
def test_matrices_of_few_different_numbers(n, seed):
    entries = np.random.default_rng(seed).integers(-1, 2, (n, n)).astype(float)
    check(entries + entries.T, n)


@pytest.mark.parametrize("n", [2, 3, 5, 16, 33, 64, 121, LARGE, LARGE + 1])
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_sizes(n, share):
    rows = np.random.default_rng(n).normal(size=(n, n))
    check(rows @ rows.T, max(1, int(share * n)))


@pytest.mark.parametrize(
    "eigenvalues",
    [
        np.ones(20),
        np.zeros(9),
        np.repeat([1.0, 0.5, 0.0], [30, 20, 10]),
        1.0 + 1e-15 * np.arange(40),
        1.0 - 1e-9 * np.arange(41),
        np.logspace(0, -300, 30),
        np.logspace(0, -16, 40),
        np.r_[1e8, np.ones(20), np.zeros(20)],
        np.r_[-5.0, -1.0, np.zeros(5), 2.0],
    ],
)
def test_spectra_that_are_hard(eigenvalues):
    for most in (1, len(eigenvalues) // 2, len(eigenvalues)):
        check(of(eigenvalues), most)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_scales(scale):
    check(scale * of([1.0, 0.9, 0.3, 0.1, 0.0]), 3)


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([3.0, 1.0, 2.0, 2.0, 0.0]),
        np.ones((9, 9)),
        np.full((15, 15), 3.6605510239567585e-274),
        np.diag(np.ones(12), 1) + np.diag(np.ones(12), -1),
        np.diag(np.full(21, 2.0)) - np.diag(np.ones(20), 1) - np.diag(np.ones(20), -1),
        np.diag(abs(np.arange(-10.0, 11.0))) + np.diag(np.ones(20), 1) + np.diag(np.ones(20), -1),
        np.array([[0.0, 1e-200], [1e-200, 0.0]]),
        np.array([[1.0, 1e-200, 0.0], [1e-200, 1.0, 1e-180], [0.0, 1e-180, 1.0]]),
    ],
)
def test_matrices_with_zeros_in_them(matrix):
    check(matrix, len(matrix))
