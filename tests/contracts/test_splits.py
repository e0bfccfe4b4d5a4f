"""How the rows are split into calls, and what is done between the calls, changes nothing."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contracts.results import assert_identical, published
from tests.contracts.rows import make
from tests.contracts.splits import at_once, feed, one_by_one, ragged
from tests.contracts.variants import VARIANTS, Variant

D, K = 30, 3
AUTO_RANK = Variant("CappedMSG", "auto", params={"max_rank": "auto"})
EVERY = pytest.mark.parametrize("variant", [*VARIANTS, AUTO_RANK, Variant("ERM")], ids=str)


@pytest.fixture(scope="module")
def rows():
    return make("gaussian", n=190, d=D, k=K)


@EVERY
@pytest.mark.parametrize("split", [ragged, one_by_one])
def test_any_split_gives_the_same_bits(variant, split, rows):
    whole = feed(variant.build(D, K), rows, at_once)
    assert_identical(whole, feed(variant.build(D, K), rows, split))
    assert_identical(whole, variant.build(D, K).fit(rows))


@EVERY
def test_reading_and_copying_between_calls_changes_nothing(variant, rows):
    whole = variant.build(D, K).fit(rows)
    read, pickled, forked = (variant.build(D, K) for _ in range(3))
    for piece in ragged(len(rows)):
        published(read.partial_fit(rows[piece]))
        read.transform(rows[:2])
        pickled = pickle.loads(pickle.dumps(pickled.partial_fit(rows[piece])))
        copy.deepcopy(forked.partial_fit(rows[piece])).partial_fit(10 * rows[:40])
    assert_identical(whole, read)
    assert_identical(whole, pickled)
    assert_identical(whole, forked)


@EVERY
def test_results_after_each_call_are_those_of_the_rows_so_far(variant, rows):
    """Rows that wait for their batch are in what is published."""
    estimator = variant.build(D, K)
    for piece in ragged(len(rows)):
        estimator.partial_fit(rows[piece])
        assert estimator.n_samples_seen_ == piece.stop
        assert_identical(variant.build(D, K).fit(rows[: piece.stop]), estimator)


@EVERY
@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_block_size_changes_speed_only(variant, block_size, rows):
    usual = variant.build(D, K).fit(rows)
    other = variant.build(D, K, block_size=block_size).fit(rows)
    projectors = [e.components_.T @ e.components_ for e in (usual, other)]
    np.testing.assert_allclose(*projectors, rtol=0, atol=1e-9)
    for name in ("explained_variance_", "noise_variance_"):
        np.testing.assert_allclose(getattr(other, name), getattr(usual, name), rtol=1e-9)
    if variant.algorithm != "ERM":
        wanted = usual.subspace_.to_dense()
        scale = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(other.subspace_.to_dense(), wanted, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(other.captured_.mean, usual.captured_.mean, rtol=1e-9)


@settings(max_examples=12)
@given(data=st.data())
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_any_shape_split_and_weights_equal_the_reference(variant, data):
    d = data.draw(st.integers(1, 12), label="d")
    k = data.draw(st.integers(1, d), label="k")
    n = data.draw(st.integers(1, 40), label="n")
    seed = data.draw(st.integers(0, 2**32), label="seed")
    cuts = data.draw(st.sets(st.integers(1, n)), label="cuts")
    rows = make("gaussian", n, d, k, seed)
    weights = np.random.default_rng(seed).choice([0, 0.5, 1, 2], n)
    weights[0] = 1  # a first call with nothing but absent rows is another matter
    edges = sorted({0, n, *cuts})
    pieces = [slice(a, b) for a, b in pairwise(edges)]
    estimator = feed(variant.build(d, k), rows, lambda n: pieces, weights)
    wanted = variant.expected(rows, k, weights)
    scale = max(1.0, np.abs(wanted.last).max())
    np.testing.assert_allclose(
        estimator.subspace_.to_dense(), wanted.last, rtol=0, atol=1e-9 * scale
    )
    if variant.averages:
        np.testing.assert_allclose(estimator.average_.to_dense(), wanted.average, rtol=0, atol=1e-9)
