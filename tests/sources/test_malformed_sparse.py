"""Sparse matrices that are not what they claim: refused before any compiled code sees them."""

import pickle
import warnings
from itertools import pairwise

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


def inner(array, rng):
    """Return a place in an array that is neither its first nor its last."""
    return int(rng.integers(1, len(array) - 1))


def put(name, value, place=inner, add=False, dtype=None):
    """Return what writes a number, drawn from some, into one of the arrays of a matrix."""

    def spoil(S, rng):
        array = getattr(S, name).astype(dtype or getattr(S, name).dtype)
        at = place(array, rng) if callable(place) else place
        array[at] = rng.choice(value(S)) + (array[at] if add else 0)
        setattr(S, name, array)

    return spoil


def exchange(name, make):
    """Return what puts another array in the place of one of those of a matrix."""
    return lambda S, rng: setattr(S, name, make(getattr(S, name), rng))


def shorter(array, rng):
    return array[: -int(rng.integers(1, 5))].copy()


# Each changes a sound matrix S with numbers from rng.
WRONG = {
    "decreasing": put("indptr", lambda S: [S.nnz + 1, S.nnz - 1], 3),
    "decreasing below zero": put("indptr", lambda S: [-1, -(10**6)]),
    "beyond the end": put("indptr", lambda S: [S.nnz + 1, 10**6, 2**31 - 1]),
    "last beyond the end": put("indptr", lambda S: [1, 7, 10**6], -1, add=True),
    "first is not zero": put("indptr", lambda S: [-5, -1, 1], 0),
    "too few pointers": exchange("indptr", shorter),
    "too many pointers": exchange(
        "indptr", lambda p, rng: np.append(p, np.repeat(p[-1], rng.integers(1, 5)))
    ),
    "index too large": put("indices", lambda S: [max(S.shape), 10**6, 2**31 - 1]),
    "index below zero": put("indices", lambda S: [-1, -5, -D, -(10**6)]),
    "all indices below zero": exchange("indices", lambda i, rng: i - D - N - rng.integers(1000)),
    "too little data": exchange("data", shorter),
    "too few indices": exchange("indices", shorter),
    "no data": exchange("data", lambda data, rng: data[:0].copy()),
    "fractional indices": exchange("indices", lambda i, rng: i + rng.choice([0.5, np.nan])),
    "fractional pointers": exchange("indptr", lambda p, rng: p + rng.choice([0.25, np.nan])),
    "complex data": exchange("data", lambda data, rng: data + 1j),
    "data of objects": exchange("data", lambda data, rng: np.array(["x"] * len(data), object)),
    "data in two dimensions": exchange("data", lambda data, rng: data[:, None]),
    "infinite": put("data", lambda S: [np.inf, -np.inf]),
    # Sound once the upper half of 64-bit numbers is dropped.
    "wraps around": put("indices", lambda S: [2**32], add=True, dtype=np.int64),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_refused_and_changes_nothing(wrong):
    """25 matrices of each kind of fault: 500."""
    with chunks_of(16):
        models = [build(name, 2, random_state=0).fit(good()) for name in ESTIMATORS]
    before = [pickle.dumps(model) for model in models]
    for number in range(25):
        rng = np.random.default_rng(number)
        matrix = good(KINDS[number % len(KINDS)], seed=number)
        WRONG[wrong](matrix, rng)
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


def with_parts(S, data, indices, indptr):
    twin = sparse.csr_array((data, indices, indptr), shape=S.shape)
    twin.has_sorted_indices = False
    return twin


def unsorted(S):
    """The same entries, those of a row in another order."""
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(S.indptr)])
    return with_parts(S, S.data[order], S.indices[order], S.indptr)


def read_only(S):
    for array in (S.data, S.indices, S.indptr):
        array.setflags(write=False)
    return S


# What is odd, but sound.
ODD = {
    "unsorted": unsorted,
    "each entry as two halves": lambda S: with_parts(
        S, np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr
    ),
    "wide indices": lambda S: with_parts(
        S, S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)
    ),
    "read only": read_only,
    "stored zeros": lambda S: with_parts(
        S, np.append(S.data, 0.0), np.append(S.indices, D - 1), S.indptr + (np.arange(N + 1) == N)
    ),
    "room at the end": lambda S: with_parts(
        S, np.append(S.data, [7.0] * 3), np.append(S.indices, [0] * 3), S.indptr
    ),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_odd_works_and_stays_as_it_is(name, odd):
    plain, given = good(), ODD[odd](good())
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
