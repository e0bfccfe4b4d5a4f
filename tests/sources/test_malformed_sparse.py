"""Sparse matrices that are not what they claim: refused before any compiled code sees them."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

import onepass
from tests.contracts.chunks import chunks_of
from tests.contracts.variants import ESTIMATORS, build

N, D = 60, 12
KINDS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix]


def good(kind=sparse.csr_array, seed=0):
    """Return a sound sparse matrix."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N, D)) * np.linspace(3, 0.5, D)
    return kind(np.where(rng.random((N, D)) < 0.4, rows, 0))


# -- what can be wrong: each changes a sound matrix S with numbers from rng ------------------------


def inner(array, rng):
    """Return a place in an array that is neither its first nor its last."""
    return int(rng.integers(1, len(array) - 1))


def decreasing(S, rng):
    i = inner(S.indptr, rng)
    S.indptr[i] = S.indptr[i + 1] + int(rng.integers(1, 50))


def decreasing_below_zero(S, rng):
    S.indptr[inner(S.indptr, rng)] = -int(rng.integers(1, 10**6))


def beyond_the_end(S, rng):
    S.indptr[inner(S.indptr, rng)] = int(rng.choice([S.nnz + 1, 10**6, 2**31 - 1]))


def last_beyond_the_end(S, rng):
    S.indptr[-1] += int(rng.choice([1, 7, 10**6]))


def first_is_not_zero(S, rng):
    S.indptr[0] = int(rng.choice([-5, -1, 1]))


def too_few_pointers(S, rng):
    S.indptr = S.indptr[: -int(rng.integers(1, 5))].copy()


def too_many_pointers(S, rng):
    S.indptr = np.append(S.indptr, np.repeat(S.indptr[-1], int(rng.integers(1, 5))))


def index_too_large(S, rng):
    S.indices[inner(S.indices, rng)] = int(rng.choice([max(S.shape), 10**6, 2**31 - 1]))


def index_below_zero(S, rng):
    S.indices[inner(S.indices, rng)] = -int(rng.choice([1, 5, D, 10**6]))


def all_indices_below_zero(S, rng):
    S.indices[:] -= int(rng.integers(D, 1000)) + N


def too_little_data(S, rng):
    S.data = S.data[: -int(rng.integers(1, S.nnz))].copy()


def too_few_indices(S, rng):
    S.indices = S.indices[: -int(rng.integers(1, S.nnz))].copy()


def no_data(S, rng):
    S.data = S.data[:0].copy()


def fractional_indices(S, rng):
    S.indices = S.indices + rng.choice([0.5, np.nan])


def fractional_pointers(S, rng):
    S.indptr = S.indptr + rng.choice([0.25, np.nan])


def complex_data(S, rng):
    S.data = S.data + 1j


def data_of_objects(S, rng):
    S.data = np.array(["x"] * S.nnz, dtype=object)


def data_in_two_dimensions(S, rng):
    S.data = S.data[:, None]


def infinite(S, rng):
    S.data[inner(S.data, rng)] = rng.choice([np.inf, -np.inf])


def wraps_around(S, rng):
    """64-bit numbers that are sound once the upper half is dropped."""
    S.indices = S.indices.astype(np.int64)
    S.indptr = S.indptr.astype(np.int64)
    S.indices[inner(S.indices, rng)] += 2**32


WRONG = [
    decreasing, decreasing_below_zero, beyond_the_end, last_beyond_the_end, first_is_not_zero,
    too_few_pointers, too_many_pointers, index_too_large, index_below_zero, all_indices_below_zero,
    too_little_data, too_few_indices, no_data, fractional_indices, fractional_pointers,
    complex_data, data_of_objects, data_in_two_dimensions, infinite, wraps_around,
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_what_is_wrong_is_refused_and_changes_nothing(wrong):
    """25 matrices of each kind of fault: 500."""
    with chunks_of(16):
        models = [build(name, 2, random_state=0).fit(good()) for name in ESTIMATORS]
    before = [pickle.dumps(model) for model in models]
    for number in range(25):
        rng = np.random.default_rng(number)
        matrix = good(KINDS[number % len(KINDS)], seed=number)
        wrong(matrix, rng)
        model = models[number % len(models)]
        for method in ("partial_fit", "fit", "transform", "score"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SciPy's own, about types of indices
                with pytest.raises(ValueError, match=r"\w{3}"):
                    getattr(model, method)(matrix)
                with pytest.raises(ValueError, match=r"\w{3}"):
                    build("PCA", 2).fit([matrix])
    assert [pickle.dumps(model) for model in models] == before


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [-1, max(N, D), 10**6, "too few"])
@pytest.mark.parametrize("name", ["CappedMSG", "PCA"])
def test_coordinates_that_are_wrong_are_refused(name, place, axis):
    matrix = good(sparse.coo_array)
    coords = [index.copy() for index in matrix.coords]
    if place == "too few":
        coords[axis] = coords[axis][:-1]
    else:
        coords[axis][7] = place
    matrix.coords = tuple(coords)
    model = build(name, 2).fit(good())
    before = pickle.dumps(model)
    for method in ("partial_fit", "fit", "transform", "score"):
        with pytest.raises(ValueError, match=r"\w{3}"):
            getattr(model, method)(matrix)
    assert pickle.dumps(model) == before


# -- what is odd, but sound ------------------------------------------------------------------------


def unsorted(S):
    """The same entries, those of a row in another order."""
    twin = S.copy()
    for a, b in zip(S.indptr, S.indptr[1:], strict=False):
        twin.indices[a:b], twin.data[a:b] = S.indices[a:b][::-1], S.data[a:b][::-1]
    twin.has_sorted_indices = False
    return twin


def duplicated(S):
    """Each entry as two halves."""
    parts = np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr
    return sparse.csr_array(parts, shape=S.shape)


def with_zeros(S):
    """Zeros that are stored."""
    full = sparse.csr_array(np.where(S.toarray() == 0, 9.0, S.toarray()))
    full.data[full.data == 9.0] = 0.0
    return full


def longer_than_used(S):
    """Room at the end that no row points to."""
    twin = S.copy()
    twin.data, twin.indices = np.append(S.data, [7.0] * 3), np.append(S.indices, [0] * 3)
    return twin


def with_wide_indices(S):
    twin = S.copy()
    twin.indices, twin.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return twin


def read_only(S):
    for array in (S.data, S.indices, S.indptr):
        array.setflags(write=False)
    return S


ODD = [unsorted, duplicated, with_wide_indices, read_only, with_zeros, longer_than_used]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_odd_works_and_stays_as_it_is(name, odd):
    plain, given = good(), odd(good())
    kept = [array.copy() for array in (given.data, given.indices, given.indptr)]
    with chunks_of(16):
        expected, found = (
            build(name, 2, random_state=0).fit(S).partial_fit(S) for S in (plain, given)
        )
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-10)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(found.transform(given), expected.transform(plain), atol=1e-9)
    assert found.score(given) == pytest.approx(expected.score(plain), rel=1e-10)
    for array, before in zip((given.data, given.indices, given.indptr), kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_a_matrix_without_entries_is_rows_of_zeros():
    empty = sparse.csr_array((N, D))
    model = onepass.CappedMSG(2).partial_fit(good()).partial_fit(empty)
    assert model.n_samples_seen_ == 2 * N
