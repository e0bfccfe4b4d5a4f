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


def put(array, place, value):
    """Return a copy with another number at a place."""
    array = array.copy()
    array[place] = value
    return array


# Each changes a sound matrix S with numbers from rng.
# Each returns what takes the place of one of the arrays of a sound matrix, and at is within it.
WRONG = {
    "decreasing": ("indptr", lambda p, at: put(p, 3, p[-1] - 1)),
    "decreasing below zero": ("indptr", lambda p, at: put(p, at, -1)),
    "beyond the end": ("indptr", lambda p, at: put(p, at, p[-1] + 1)),
    "far beyond the end": ("indptr", lambda p, at: put(p, at, 2**31 - 1)),
    "last beyond the end": ("indptr", lambda p, at: put(p, -1, p[-1] + 1)),
    "first below zero": ("indptr", lambda p, at: put(p, 0, -1)),
    "first above zero": ("indptr", lambda p, at: put(p, 0, 1)),
    "too few pointers": ("indptr", lambda p, at: p[:-1].copy()),
    "too many pointers": ("indptr", lambda p, at: np.append(p, p[-1])),
    "index too large": ("indices", lambda i, at: put(i, at, max(N, D))),
    "index far too large": ("indices", lambda i, at: put(i, at, 2**31 - 1)),
    "index below zero": ("indices", lambda i, at: put(i, at, -1)),
    "index of the last column from behind": ("indices", lambda i, at: put(i, at, -D)),
    "all indices below zero": ("indices", lambda i, at: i - D - N),
    "too little data": ("data", lambda data, at: data[:-1].copy()),
    "too few indices": ("indices", lambda i, at: i[:-1].copy()),
    "no data": ("data", lambda data, at: data[:0].copy()),
    "fractional indices": ("indices", lambda i, at: put(i.astype(float), at, 1.5)),
    "fractional pointers": ("indptr", lambda p, at: p + 0.25),
    "pointers that are NaN": ("indptr", lambda p, at: p + np.nan),
    "complex data": ("data", lambda data, at: data + 1j),
    "data of objects": ("data", lambda data, at: np.array(["x"] * len(data), object)),
    "data in two dimensions": ("data", lambda data, at: data[:, None]),
    "infinite": ("data", lambda data, at: put(data, at, -np.inf)),
    # Sound once the upper half of 64-bit numbers is dropped.
    "wraps around": ("indices", lambda i, at: put(i.astype(np.int64), at, int(i[at]) + 2**32)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_refused_and_changes_nothing(wrong):
    """25 matrices of each kind of fault: 625."""
    name, spoil = WRONG[wrong]
    with chunks_of(16):
        models = [build(name, 2, random_state=0).fit(good()) for name in ESTIMATORS]
    before = [pickle.dumps(model) for model in models]
    for number in range(25):
        matrix = good(KINDS[number % len(KINDS)], seed=number)
        array = getattr(matrix, name)
        setattr(matrix, name, spoil(array, 1 + 37 * number % (len(array) - 2)))
        model = models[number % len(models)]
        for method in ("partial_fit", "fit", "transform", "score"):
            refuse(model, method, matrix)
        refuse(build("PCA", 2), "fit", [matrix])
    assert [pickle.dumps(model) for model in models] == before


def refuse(model, method, matrix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's own, about types of indices
        with pytest.raises(ValueError, match=r"\w{3}"):
            getattr(model, method)(matrix)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [-1, max(N, D), 10**6, None])
@pytest.mark.parametrize("name", ["CappedMSG", "PCA"])
def test_coordinates_that_are_wrong_are_refused(name, place, axis):
    """None stands for a coordinate too few."""
    matrix = good(sparse.coo_array)
    coords = list(matrix.coords)
    coords[axis] = coords[axis][:-1] if place is None else put(coords[axis], 7, place)
    matrix.coords = tuple(coords)
    model = build(name, 2).fit(good())
    before = pickle.dumps(model)
    for method in ("partial_fit", "fit", "transform", "score"):
        refuse(model, method, matrix)
    assert pickle.dumps(model) == before


def with_parts(S, data, indices, indptr):
    twin = sparse.csr_array((data, indices, indptr), shape=S.shape)
    twin.has_sorted_indices = False
    for array in (twin.data, twin.indices, twin.indptr):
        array.setflags(write=False)
    return twin


# What is odd, but sound.
def unsorted(S):
    """Return the order of entries that has those of each row from behind."""
    return np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(S.indptr)])


# What is odd, but sound: data, indices and indptr, which cannot be written to.
ODD = {
    "unsorted": lambda S: (S.data[unsorted(S)], S.indices[unsorted(S)], S.indptr),
    "each entry as two halves": lambda S: (
        np.repeat(S.data / 2, 2),
        np.repeat(S.indices, 2),
        2 * S.indptr,
    ),
    "wide indices": lambda S: (S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)),
    "stored zeros": lambda S: (
        np.append(S.data, 0.0),
        np.append(S.indices, D - 1),
        S.indptr + (np.arange(N + 1) == N),
    ),
    "room at the end": lambda S: (
        np.append(S.data, [7.0] * 3),
        np.append(S.indices, [0] * 3),
        S.indptr,
    ),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_odd_works_and_stays_as_it_is(name, odd):
    plain, given = good(), with_parts(good(), *ODD[odd](good()))
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
