"""Steps in the space of a chunk's rows are the engine's steps."""

import numpy as np
import pytest
from scipy import sparse

from onepass.averaging import Average
from onepass.estimators.batch_strides import stride
from onepass.estimators.chunk_rows import ChunkRows, energies_about
from onepass.estimators.walk import Walk
from onepass.rules.msg import MSG
from onepass.schedules import AdaGradNorm

D, K, BATCH = 70, 3, 16


def walks(d=D, dtype=np.float64):
    """Return a gentle and a bold walk, whose average is kept whole."""
    return [
        Walk(MSG(K, d, K + 4), AdaGradNorm(scale), True, np.dtype(dtype), Average(d, d, dtype))
        for scale in (2.0, 50.0)
    ]


def plain(seed, d=D):
    """Rows that all go one way."""
    return np.random.default_rng(seed).normal(size=(80, d))


def dependent(seed, d=D):
    """Every row is there twice, and some are zero: the Gram matrix has no factor."""
    rows = plain(seed, d)
    rows[1::2] = rows[::2]
    rows[20:24] = 0.0
    return rows


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("make", [plain, dependent])
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
@pytest.mark.parametrize("most", [40, 256])
@pytest.mark.parametrize("d", [3, 20, 30, D])
def test_the_same_iterates_and_the_same_average(make, kind, scale, most, d, monkeypatch):
    monkeypatch.setattr("onepass.estimators.batch_strides.MOST_ROWS", most)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 80)
    mean = scale * np.random.default_rng(6).normal(size=d)
    ours, theirs = walks(d), walks(d)
    for seed in range(3):
        chunk = ChunkRows(kind(scale * make(seed, d)), mean, weights)
        stride(ours, chunk, BATCH)
        for walk in theirs:
            walk.begin()
            for row in range(0, 80, BATCH):
                walk.advance(chunk.block(row, row + BATCH))
    for one, other in zip(ours, theirs, strict=True):
        assert one.steps_taken == other.steps_taken == 15
        assert one.average.count == other.average.count
        np.testing.assert_allclose(one.gradients, other.gradients, rtol=1e-12)
        basis = one.state.basis
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-10)
        np.testing.assert_allclose(one.iterate().to_dense(), other.iterate().to_dense(), atol=1e-9)
        averages = [walk.average.value().to_dense() for walk in (one, other)]
        np.testing.assert_allclose(*averages, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_what_a_chunk_is_asked_for(kind):
    rng = np.random.default_rng(0)
    rows, offset, weights = rng.normal(size=(9, D)), rng.normal(size=D), rng.uniform(1, 2, 9)
    formed = np.sqrt(weights)[:, None] * (rows - offset)
    chunk = ChunkRows(kind(rows), offset, weights)
    directions, mixing = rng.normal(size=(2, D)), rng.normal(size=(2, 9))
    np.testing.assert_allclose(chunk.gram, formed @ formed.T, atol=1e-12)
    np.testing.assert_allclose(chunk.inner(directions), formed @ directions.T, atol=1e-12)
    np.testing.assert_allclose(chunk.combine(mixing), mixing @ formed, atol=1e-12)
    np.testing.assert_allclose(chunk.block(2, 7).to_dense(), formed[2:7], atol=1e-12)


def test_a_far_offset_is_left_to_the_engine():
    """Products with it would leave no digits of the rows."""
    rows = plain(0) + 1e8
    assert ChunkRows(rows, rows.mean(axis=0), np.ones(80)).left < 1e-10


@pytest.mark.parametrize("far", [0.0, 1.0, 1e8])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_energies_keep_their_digits(kind, far):
    rows, offset = plain(1) + far, np.full(D, far)
    exact = ((rows - offset) ** 2).sum(axis=1)
    np.testing.assert_allclose(energies_about(kind(rows), offset), exact, rtol=1e-8)
