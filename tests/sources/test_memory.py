"""Arrays, sparse matrices and iterables of blocks as sources."""

import json
import re

import numpy as np
import pytest
import scipy.sparse

from onepass import ERM
from onepass.sources import ArraySource, BlockSource, SourceError
from onepass.sources.base import LARGEST
from tests.sources.files.test_formats import dense

ROWS = np.random.default_rng(0).standard_normal((23, 4))
SOURCES = {
    "array": lambda X: ArraySource(X, block_rows=5),
    "fortran": lambda X: ArraySource(np.asfortranarray(X), block_rows=5),
    "one block": ArraySource,
    "csr": lambda X: ArraySource(scipy.sparse.csr_matrix(X), block_rows=5),
    "coo": lambda X: ArraySource(scipy.sparse.coo_array(X), block_rows=5),
    "list": lambda X: BlockSource([X[:7], X[7:8], X[8:]]),
    "list of sparse": lambda X: BlockSource([scipy.sparse.coo_matrix(X[:9]), X[9:]]),
    "function": lambda X: BlockSource(lambda: (X[i : i + 6] for i in range(0, len(X), 6))),
}


@pytest.fixture(params=SOURCES.values(), ids=SOURCES.keys())
def make(request):
    return request.param


def stacked(blocks):
    return np.vstack([np.empty((0, 4)), *map(dense, blocks)])


@pytest.mark.parametrize(("dtype", "expected"), [("f8", "f8"), ("f4", "f4"), ("i2", "f8")])
def test_rows_and_types(make, dtype, expected):
    X = (ROWS * 3).astype(dtype)
    source = make(X)
    for _ in range(2):
        blocks = list(source)
        np.testing.assert_array_equal(stacked(blocks), X)
        for block in blocks:
            assert block.dtype == np.dtype(expected)
            assert scipy.sparse.issparse(block) or type(block) is np.ndarray
    assert source.n_features == 4
    assert source.n_rows in (23, None)


def test_goes_on_from_every_position(make):
    source = make(ROWS)
    seen = [position for position, _ in source.blocks()]
    assert seen[-1] == (0, 23)
    for position in [(0, 0), (0, 3), *seen]:
        saved = json.loads(json.dumps(position))
        rest = stacked(block for _, block in source.blocks(saved))
        np.testing.assert_array_equal(rest, ROWS[position[1] :])


def test_slices(make):
    source = make(ROWS)
    for rows in (slice(3, 9), slice(20, 99), slice(None, 6), slice(8, None), slice(9, 4)):
        np.testing.assert_array_equal(stacked(source[rows]), ROWS[rows])
    for wrong in (slice(-3, None), slice(0, 9, 2)):
        with pytest.raises(SourceError):
            source[wrong]


@pytest.mark.parametrize("bad", [np.inf, -np.inf, -1.01 * LARGEST])
def test_the_place_of_a_bad_number_is_named(make, bad):
    """By the estimator, which checks each entry once, with the place that the source knows."""
    X = ROWS.copy()
    X[17, 2] = bad
    value = re.escape(f"{bad:g}")
    with pytest.raises(SourceError, match=rf"row 18, column \[2\]: {value}; all entries must be"):
        ERM(1).fit(make(X))


def test_nothing_is_read_before_it_is_asked_for():
    read = []
    source = BlockSource(lambda: (read.append(1) or ROWS for _ in range(1)))
    assert read == []
    assert source.n_features == 4
    assert read == [1]


def test_a_generator_is_used_once_and_not_mapped():
    source = BlockSource(ROWS[i : i + 6] for i in range(0, 23, 6))
    assert source.n_features == 4
    np.testing.assert_array_equal(stacked(source), ROWS)
    for again in (list, lambda source: source.map(np.abs)):
        with pytest.raises(SourceError, match="only once"):
            again(source)


@pytest.mark.parametrize(
    "make_bad",
    [
        lambda: ArraySource(np.ones((2, 2), dtype=complex)),
        lambda: ArraySource(scipy.sparse.csr_array((0, 3))),
        lambda: BlockSource([]).n_features,
        lambda: list(BlockSource([np.ones(3)])),
        lambda: list(ArraySource(ROWS).blocks((0, 24))),
        lambda: list(ArraySource(ROWS).blocks((1, 0))),
    ],
)
def test_what_is_not_rows_is_refused(make_bad):
    with pytest.raises(SourceError):
        make_bad()


@pytest.mark.parametrize(
    ("dtype", "expected"), [("f8", "f8"), ("f4", "f4"), ("f2", "f4"), (">f4", "f4"), ("i8", "f8")]
)
def test_masked_entries_are_missing_and_keep_their_precision(dtype, expected):
    X = np.ma.masked_equal(np.array([[1, 2], [3, 2]], dtype=dtype), 3)
    (block,) = ArraySource(X)
    np.testing.assert_array_equal(block, [[1, 2], [np.nan, 2]])
    assert block.dtype == expected


def test_a_map_is_applied_at_every_iteration_and_from_every_position(make):
    source = make(ROWS).map(lambda block: 2 * block)
    assert source.n_features == 4
    for _ in range(2):
        np.testing.assert_array_equal(stacked(source), 2 * ROWS)
    for position, _ in make(ROWS).blocks():
        rest = stacked(block for _, block in source.blocks(position))
        np.testing.assert_array_equal(rest, 2 * ROWS[position.row :])


def test_a_map_keeps_names_where_the_number_of_columns_stays_the_same():
    source = BlockSource([ROWS], feature_names=list("abcd"))
    assert source.map(np.abs).feature_names == list("abcd")
    narrow = source.map(lambda block: block[:, :3])
    assert (narrow.feature_names, narrow.n_features) == (None, 3)
    np.testing.assert_array_equal(np.vstack(list(narrow.map(np.abs))), abs(ROWS[:, :3]))


def test_a_map_may_leave_out_rows():
    source = ArraySource(ROWS, block_rows=2).map(lambda block: block[block[:, 0] > 0.2])
    np.testing.assert_array_equal(stacked(source), ROWS[ROWS[:, 0] > 0.2])
    with pytest.raises(SourceError, match="the function left out all rows"):
        ArraySource(ROWS).map(lambda block: block[:0])


def test_a_map_that_changes_its_block_changes_no_row_of_the_caller():
    X = ROWS.copy()
    source = ArraySource(X).map(lambda block: np.multiply(block, 2, out=block))
    np.testing.assert_array_equal(stacked(source), 2 * ROWS)
    np.testing.assert_array_equal(X, ROWS)


def test_errors_of_a_map_have_a_place():
    source = ArraySource(ROWS, block_rows=5)
    spoiled = source.map(lambda block: np.where(block == ROWS[17, 2], np.inf, block))
    with pytest.raises(ValueError, match=r"block after 15 rows contains inf at row 2, column 2"):
        ERM(1).fit(spoiled)
    with pytest.raises(SourceError, match=r"what the .* map returned has the shape \(5,\)"):
        source.map(lambda block: block[:, 0])
    widths = iter([4, 4, 3])
    uneven = source.map(lambda block: block[:, : next(widths)])
    with pytest.raises(ValueError, match="The block after 5 rows has 3 features, expected"):
        ERM(1).fit(uneven)
