"""Leading eigenpairs, by iteration where that is proven to have missed none."""

import numpy as np
import pytest

from onepass.moments import eigen
from onepass.moments.eigen import SMALL, Scatter, improve, leading_eigenpairs


def matrix_with(values, seed=0):
    d = len(values)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    return (Q * values) @ Q.T, Q


@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize(
    ("d", "k"), [(1, 1), (5, 2), (5, 5), (SMALL, 3), (SMALL + 44, 3), (SMALL + 44, 60)]
)
def test_they_are_the_leading_ones(d, k, prove):
    values = 1.0 / np.arange(1, d + 1)
    matrix, Q = matrix_with(values)
    kept = matrix.copy()
    vectors, found = leading_eigenpairs(matrix, k, prove=prove)
    assert vectors.shape == (k, d)
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(found, values[:k], rtol=1e-9)
    np.testing.assert_allclose(np.abs(vectors @ Q[:, :k]), np.eye(k), atol=1e-6)
    np.testing.assert_array_equal(matrix, kept)


@pytest.mark.parametrize("d", [20, SMALL + 50])
def test_of_several_equal_ones_none_is_missed(d):
    """Lanczos' iteration from one vector sees a single one of them."""
    values = np.r_[np.full(8, 2.0), np.linspace(1, 0.1, d - 8)]
    vectors, found = leading_eigenpairs(matrix_with(values)[0], 8)
    np.testing.assert_allclose(found, np.full(8, 2.0), rtol=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(8), atol=1e-10)


@pytest.mark.parametrize("d", [6, SMALL + 50])
@pytest.mark.parametrize("scale", [1e-250, 1e-100, 1.0, 1e100, 1e250])
def test_any_scale(d, scale):
    values = scale / np.arange(1.0, d + 1)
    _, found = leading_eigenpairs(matrix_with(values)[0], 2)
    np.testing.assert_allclose(found / scale, [1.0, 0.5], rtol=1e-9)


@pytest.mark.parametrize("d", [6, SMALL + 50])
def test_rounding_below_zero_is_zero(d):
    row = np.random.default_rng(0).normal(size=d)
    _, found = leading_eigenpairs(np.outer(row, row), 4)
    assert (found >= 0).all()
    np.testing.assert_allclose(found[0], row @ row)


def test_the_same_matrix_gives_the_same_bits():
    matrix, _ = matrix_with(1.0 / np.arange(1, SMALL + 50))
    first, second = leading_eigenpairs(matrix, 3), leading_eigenpairs(matrix, 3)
    np.testing.assert_array_equal(first[0], second[0])


class Found:
    """Stands for Lanczos' iteration, and finds what it is told to."""

    def __init__(self, values, vectors):
        self.answer, self.calls, self.options = (values, vectors), 0, {}

    def __call__(self, matrix, k, **options):
        self.calls += 1
        self.options = options
        return self.answer


@pytest.mark.parametrize("missed", [0, 1, 2])
def test_what_the_iteration_missed_is_noticed(missed, monkeypatch):
    """The proof fails wherever a larger eigenvalue is missing, and holds where none is."""
    d = SMALL + 20
    values = np.r_[3.0, 2.0, 1.5, np.linspace(1, 0.1, d - 3)]
    matrix, Q = matrix_with(values)
    taken = [i for i in range(4) if i != missed][::-1]
    iteration = Found(values[taken], Q[:, taken])
    monkeypatch.setattr(eigen, "eigsh", iteration)
    _, found = leading_eigenpairs(matrix, 3)
    np.testing.assert_allclose(found, [3.0, 2.0, 1.5], rtol=1e-10)
    _, unproven = leading_eigenpairs(matrix, 3, prove=False)
    np.testing.assert_array_equal(unproven, values[taken][::-1])
    assert iteration.calls == 2


def test_a_proof_is_enough(monkeypatch):
    """Nothing is decomposed again, also where neighbouring eigenvalues are nearly equal."""
    d = SMALL + 20
    values = np.r_[3.0, 2.0, 1.5, 1.5 * (1 - 1e-9), np.linspace(1, 0.1, d - 4)]
    matrix, Q = matrix_with(values)
    monkeypatch.setattr(eigen, "eigh", None)
    monkeypatch.setattr(eigen, "eigsh", Found(values[[1, 2, 0]], Q[:, [1, 2, 0]]))
    vectors, found = leading_eigenpairs(matrix, 3)
    np.testing.assert_array_equal(found, [3.0, 2.0, 1.5])
    np.testing.assert_array_equal(vectors, Q[:, :3].T)


@pytest.mark.parametrize("largest", [3.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_proof_allows_for_rounding(largest, scale, monkeypatch):
    """Of two equal eigenvalues one is found, which is right: the other is not above it."""
    d = SMALL + 20
    values = scale * np.r_[largest, 2.0, 1.5, 1.5, np.linspace(1, 0.1, d - 4)]
    matrix, Q = matrix_with(values)
    monkeypatch.setattr(eigen, "eigh", None)
    monkeypatch.setattr(eigen, "eigsh", Found(values[:3], Q[:, :3]))
    _, found = leading_eigenpairs(matrix, 3)
    np.testing.assert_array_equal(found, values[:3])


@pytest.mark.parametrize(
    ("d", "k", "scale", "iterated"),
    [
        (SMALL, 1, 1.0, False),  # LAPACK is as fast
        (SMALL + 1, 1, 1.0, True),
        (25 * eigen.MANY, 25, 1.0, True),
        (25 * eigen.MANY - 1, 25, 1.0, False),  # too many pairs
        (SMALL + 1, 1, 1e-150, True),
        (SMALL + 1, 1, 1e150, True),
        (SMALL + 1, 1, 1e-210, False),  # squares of entries would be zero
        (SMALL + 1, 1, 1e210, False),  # or infinite
        (SMALL + 1, 1, 0.0, False),
    ],
)
def test_the_iteration_is_for_a_few_pairs_of_large_matrices(d, k, scale, iterated, monkeypatch):
    values = scale / np.arange(1.0, d + 1)
    iteration = Found(values[:k], np.eye(d, k))
    monkeypatch.setattr(eigen, "eigsh", iteration)
    _, found = leading_eigenpairs(np.diag(values), k)
    np.testing.assert_allclose(found, values[:k], rtol=1e-10)
    assert iteration.calls == iterated
    if iterated:
        assert iteration.options["maxiter"] == eigen.MOST_RESTARTS


@pytest.mark.parametrize(("k", "some"), [(1, True), (5, True), (6, False), (20, False)])
def test_lapack_finds_some_pairs_where_these_are_few(k, some, monkeypatch):
    subsets, find = [], eigen.eigh

    def recorded(matrix, **options):
        subsets.append(options["subset_by_index"])
        return find(matrix, **options)

    monkeypatch.setattr(eigen, "eigh", recorded)
    values = 1.0 / np.arange(1.0, 21.0)
    _, found = leading_eigenpairs(np.diag(values), k)
    np.testing.assert_allclose(found, values[:k])
    assert subsets == ([(20 - k, 19)] if some else [])


def turned(vectors, angle, seed=1):
    """Return eigenvectors (k, d) turned by about an angle, orthonormal."""
    noise = np.random.default_rng(seed).normal(size=vectors.shape) / np.sqrt(vectors.shape[1])
    return np.linalg.qr((vectors + angle * noise).T)[0].T


@pytest.mark.parametrize(
    ("values", "share"),
    [(1.0 / np.arange(1, 401) ** 2, 1e-4), (np.r_[5.0, 4.0, 3.0, np.ones(397)], 1e-2)],
)
def test_directions_near_the_leading_ones_are_improved(values, share):
    A, Q = matrix_with(values)
    start = turned(Q[:, :3].T, 0.3)
    directions, sums = improve(lambda columns: A @ columns, start)
    np.testing.assert_allclose(directions @ directions.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(sums, (directions @ A @ directions.T).diagonal(), rtol=1e-10)
    lost, before = (1 - np.trace(V @ A @ V.T) / values[:3].sum() for V in (directions, start))
    assert before > 0.02
    assert lost < share


def test_what_is_orthogonal_to_all_previous_directions_is_found():
    """Rows along columns that were zero before leave no trace in products with them."""
    values = np.r_[1.0, 0.5, np.full(298, 0.01), 3.0, 2.0]
    found = np.eye(2, 302)
    for _ in range(4):
        found, sums = improve(lambda columns: values[:, None] * columns, found)
    np.testing.assert_allclose(sums, [3.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(np.abs(found[:, -2:]), np.eye(2), atol=1e-3)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1.0, 1e300])
def test_of_few_rows_improved_directions_are_orthonormal(scale):
    row = np.random.default_rng(0).normal(size=300)
    A = scale * np.outer(row, row) / (row @ row)
    found, sums = improve(lambda columns: A @ columns, np.eye(3, 300))
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(sums, [scale, 0, 0], rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("d", [20, SMALL + 50])
@pytest.mark.parametrize("k", [2, 10])
def test_a_scatter_need_not_be_formed(d, k):
    rng = np.random.default_rng(0)
    X, scale = rng.normal(size=(2 * d, d)) + 0.5, rng.random(d) + 0.5
    squares, t = np.asfortranarray(np.tril(X.T @ X)), X.sum(axis=0) / np.sqrt(len(X))
    whole = np.cov(X / scale, rowvar=False, bias=True) * len(X)
    scatter = Scatter(squares, t, scale)
    np.testing.assert_allclose(np.tril(scatter.triangle()), np.tril(whole), atol=1e-9)
    np.testing.assert_allclose(scatter.trace(), whole.trace())
    vectors, found = leading_eigenpairs(scatter, k)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(whole)[::-1][:k])
    np.testing.assert_allclose(vectors @ whole, found[:, None] * vectors, atol=1e-8 * found[0])
