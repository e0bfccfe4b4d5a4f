"""Arrays, sparse matrices and iterables of blocks as sources."""

import json

import numpy as np
import pytest
import scipy.sparse

from onepass.sources import ArraySource, BlockSource, SourceError, SparseSource
from onepass.sources.base import LARGEST

ROWS = np.random.default_rng(0).standard_normal((23, 4))
SOURCES = {
    "array": lambda X: ArraySource(X, block_rows=5),
    "fortran": lambda X: ArraySource(np.asfortranarray(X), block_rows=5),
    "one block": ArraySource,
    "csr": lambda X: SparseSource(scipy.sparse.csr_matrix(X), block_rows=5),
    "coo": lambda X: SparseSource(scipy.sparse.coo_array(X), block_rows=5),
    "list": lambda X: BlockSource([X[:7], X[7:8], X[8:]]),
    "list of sparse": lambda X: BlockSource([scipy.sparse.coo_matrix(X[:9]), X[9:]]),
    "function": lambda X: BlockSource(lambda: (X[i : i + 6] for i in range(0, len(X), 6))),
}


@pytest.fixture(params=SOURCES.values(), ids=SOURCES.keys())
def make(request):
    return request.param


def stacked(blocks):
    dense = [block.toarray() if scipy.sparse.issparse(block) else block for block in blocks]
    return np.vstack([np.empty((0, 4)), *dense])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("f8", "f8"), ("f4", "f4"), ("i2", "f8"), ("u1", "f8"), ("?", "f8")],
)
def test_rows_and_types(make, dtype, expected):
    X = (ROWS * 3).astype(dtype)
    source = make(X)
    for _ in range(2):
        blocks = list(source)
        np.testing.assert_array_equal(stacked(blocks), X)
        for block in blocks:
            assert block.dtype == np.dtype(expected)
            if not scipy.sparse.issparse(block):
                assert type(block) is np.ndarray
                assert block.flags.c_contiguous
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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_place_of_a_bad_number_is_named(make, bad):
    X = ROWS.copy()
    X[17, 2] = bad
    with pytest.raises(SourceError, match=r"row 18, column \[2\]: "):
        list(make(X))


def test_large_numbers_are_fine_up_to_a_limit(make):
    """All that can be learned from, and no sum on the way says anything else."""
    X = np.full((23, 4), LARGEST)
    np.testing.assert_array_equal(stacked(make(X)), X)
    X[7, 2] = -1.01 * LARGEST
    with pytest.raises(SourceError, match=r"row 8, column \[2\]: -1.01e\+\d+, and entries must be"):
        list(make(X))


def test_memmap(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    blocks = list(ArraySource(np.load(tmp_path / "a.npy", mmap_mode="r"), block_rows=4))
    np.testing.assert_array_equal(stacked(blocks), ROWS)
    assert type(blocks[0]) is np.ndarray


def test_order_of_bytes():
    for dtype in (">f8", ">f4", ">i2"):
        (block,) = ArraySource((ROWS * 3).astype(dtype))
        assert block.dtype == np.dtype("f4" if dtype == ">f4" else "f8")
        np.testing.assert_array_equal(block, (ROWS * 3).astype(dtype))


def test_empty_blocks_are_passed_over():
    assert [len(block) for block in BlockSource([ROWS[:0], ROWS[:2], ROWS[:0]])] == [2]


def test_a_generator_is_used_once():
    source = BlockSource(ROWS[i : i + 6] for i in range(0, 23, 6))
    assert source.n_features == 4
    np.testing.assert_array_equal(stacked(source), ROWS)
    with pytest.raises(SourceError, match="only once"):
        list(source)


@pytest.mark.parametrize(
    "make_bad",
    [
        lambda: ArraySource(np.ones(3)),
        lambda: ArraySource(np.ones((0, 3))),
        lambda: ArraySource(np.array([["a", "b"]])),
        lambda: ArraySource(np.ones((2, 2), dtype=complex)),
        lambda: SparseSource(scipy.sparse.csr_array((0, 3))),
        lambda: BlockSource([]),
        lambda: BlockSource([np.ones(3)]),
        lambda: list(BlockSource([np.ones((2, 3)), np.ones((2, 4))])),
        lambda: list(ArraySource(ROWS).blocks((0, 24))),
        lambda: list(ArraySource(ROWS).blocks((1, 0))),
    ],
)
def test_what_is_not_rows_is_refused(make_bad):
    with pytest.raises(SourceError):
        make_bad()


def test_a_ragged_block_is_named_by_its_row():
    with pytest.raises(SourceError, match=r"row 3: a block of shape \(2, 4\), not \(rows, 3\)"):
        list(BlockSource([np.ones((2, 3)), np.ones((2, 4))]))


@pytest.mark.parametrize("kind", ["array", "one block", "list", "function"])
def test_a_masked_value_is_named(kind):
    X = np.ma.masked_array(ROWS)
    assert stacked(SOURCES[kind](X)).tolist() == ROWS.tolist()
    X[17, 2] = np.ma.masked
    with pytest.raises(SourceError, match=r"row 18, column \[2\]: a masked value"):
        list(SOURCES[kind](X))
