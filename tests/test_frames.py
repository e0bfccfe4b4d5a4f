"""All frames of the same basis and rows stand for the same vectors."""

import numpy as np
import pytest
from scipy import sparse

from onepass.frames import Block, FormedFrame, GramFrame, Room, WholeSpace, find_frame
from onepass.subspace import Subspace


def _state(m: int, d: int, rng: np.random.Generator) -> Subspace:
    return Subspace(np.linalg.qr(rng.normal(size=(d, m)))[0].T, np.ones(m))


def _rows(frame, rows):
    """The rows that the coordinates stand for."""
    return frame.carry(frame.coordinates)


@pytest.mark.parametrize(
    ("d", "rows", "kind"),
    [
        (50, lambda U, X: X, GramFrame),
        (50, lambda U, X: np.vstack([X[:3], X[:3]]), FormedFrame),  # dependent
        (
            50,
            lambda U, X: np.vstack([X[:5], U[0] + 1e-9 * X[5]]),
            FormedFrame,
        ),  # nearly in the span
        (50, lambda U, X: 1e-150 * X, FormedFrame),
        (50, lambda U, X: np.vstack([X[:5], 0 * X[5]]), GramFrame),
        (9, lambda U, X: X, WholeSpace),
    ],
)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_coordinates_carry_back_to_the_rows(d, rows, kind, as_sparse):
    rng = np.random.default_rng(0)
    state = _state(3, d, rng)
    X = rows(state.basis, rng.normal(size=(6, d)))
    block = Block(sparse.csr_array(X) if as_sparse else X)
    frame = find_frame(state, block, Room(), whole=True)
    assert isinstance(frame, kind)
    scale = np.abs(X).max()
    np.testing.assert_allclose(_rows(frame, X) / scale, X / scale, atol=1e-12)
    np.testing.assert_allclose(frame.energy, (X**2).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(frame.carry(frame.basis), state.basis, atol=1e-12)
    if kind is not WholeSpace:
        late = np.arange(frame.coordinates.shape[1]) > frame.width + np.arange(len(X))[:, None]
        assert not frame.coordinates[late].any()


def test_sparse_rows_are_centred_without_being_dense():
    rng = np.random.default_rng(1)
    state, mean = _state(2, 40, rng), rng.normal(size=40)
    X = rng.normal(size=(5, 40)) * (rng.random((5, 40)) < 0.3)
    mixing = np.column_stack([-np.ones(5), np.eye(5)])
    frame = find_frame(state, Block(sparse.csr_array(X), mixing, mean), Room(), whole=True)
    assert isinstance(frame, GramFrame)
    np.testing.assert_allclose(_rows(frame, X), X - mean, atol=1e-12)


def test_sparse_rows_far_from_zero_are_not_lost_in_the_gram_matrix():
    rng = np.random.default_rng(2)
    state = _state(2, 40, rng)
    mean = np.full(40, 1e8)
    X = mean + rng.normal(size=(5, 40))
    mixing = np.column_stack([-np.ones(5), np.eye(5)])
    frame = find_frame(state, Block(sparse.csr_array(X), mixing, mean), Room(), whole=True)
    np.testing.assert_allclose(_rows(frame, X), X - mean, atol=1e-6)


def test_a_block_of_dependent_sparse_rows_is_halved():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(1, 60)), 20, axis=0)
    assert find_frame(_state(2, 60, rng), Block(sparse.csr_array(X)), Room(), whole=False) is None
