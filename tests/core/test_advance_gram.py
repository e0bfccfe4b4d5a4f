"""Rows that are known by their Gram matrix only, as sparse rows are."""

import numpy as np
import pytest

from onepass import _core
from tests.contracts.rows import MAKERS, make
from tests.core.learning import METHODS, State, advance, assert_close, well_posed


def advance_by_gram(state, rows, **options):
    """Take rows as a caller with sparse rows does: a row that is not easy alone, and dense."""
    d, captured, energy, sums, rests = rows.shape[1], [], [], [], 0.0
    while len(rows):
        stack = np.vstack([state.basis, rows])
        out = _core.advance_gram(
            state.rule, np.tril(stack @ stack.T), len(state.basis), d, state.weights, state.rest,
            None, seen=state.seen, **options,
        )  # fmt: skip
        assert out.basis.shape == (len(out.weights), len(stack))
        assert not out.basis[:, len(state.basis) + out.taken :].any()
        assert len(out.captured) == len(out.energy) == out.taken
        after = State(out.rule, out.basis @ stack, out.weights, out.rest, out.seen)
        parts = [(out, out.sums @ stack if out.sums is not None else None)]
        state, rows = after, rows[out.taken :]
        if len(rows):
            state, alone = advance(state, rows[:1], **options)
            parts.append((alone, alone.sums))
            rows = rows[1:]
        for part, factor in parts:
            captured.append(part.captured)
            energy.append(part.energy)
            rests += part.rests
            if factor is not None:
                sums.append(factor)
    total = np.vstack(sums) if sums else None
    return state, np.concatenate(captured), np.concatenate(energy), total, rests


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_equals_dense_rows(method, name):
    for d, k in ((70, 3), (90, 25), (12, 4)):
        if not well_posed(method, name, d, k):
            continue
        rows, scale = make(name, 60, d, k), method.scale(d, k)
        wanted, dense = advance(method.start(d, k), rows, scale=scale, sums=True)
        state, captured, energy, sums, rests = advance_by_gram(
            method.start(d, k), rows, scale=scale, sums=True
        )
        assert_close(state.iterate(), wanted.iterate())
        np.testing.assert_allclose(energy, dense.energy, rtol=1e-12)
        assert state.seen == pytest.approx(wanted.seen)
        assert rests == pytest.approx(dense.rests)
        assert_close(sums.T @ sums / 60, dense.sums.T @ dense.sums / 60)
        if name == "gaussian":
            np.testing.assert_allclose(captured, dense.captured, atol=1e-10)


def test_turn_and_inner_follow_the_second_moment_along_the_basis():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 100))
    for method in METHODS:
        state, _ = advance(method.start(100, 4), rows[:16], scale=1.0)
        stack, m = np.vstack([state.basis, rows[16:]]), len(state.basis)
        out = _core.advance_gram(
            state.rule, stack @ stack.T, m, 100, state.weights, state.rest, None, scale=1.0
        )
        basis = out.basis @ stack
        products = rows[16:] @ basis.T
        np.testing.assert_allclose(out.rotation, basis @ state.basis.T, atol=1e-12)
        np.testing.assert_allclose(out.inner, products.T @ products, atol=1e-11)


def test_a_row_in_the_span_is_left_to_the_caller():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 100))
    rows[23] = rows[21] - rows[22]
    rule = _core.Rule("msg", 4, max_rank=100)
    out = _core.advance_gram(rule, rows @ rows.T, 0, 100, np.zeros(0), 0.0, np.full(40, 1e-3))
    assert out.taken == 23


def test_a_gram_matrix_of_more_rows_than_columns_cannot_raise_the_rank_beyond_them():
    """Test a Gram matrix that no rows in three dimensions can have."""
    rule = _core.Rule("incremental", 2, max_rank=50)
    out = _core.advance_gram(rule, np.eye(50), 0, 3, np.zeros(0), 0.0, None)
    assert out.taken == 3
    assert len(out.weights) == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_energies_that_are_none_are_left_to_the_caller(bad):
    gram = np.eye(5)
    gram[3, 3] = bad
    rule = _core.Rule("msg", 2, max_rank=4)
    assert _core.advance_gram(rule, gram, 0, 9, np.zeros(0), 0.0, None, scale=1.0).taken == 3


def test_a_basis_that_is_far_from_orthonormal_is_refused():
    rule = _core.Rule("msg", 2, max_rank=4)
    with pytest.raises(ValueError, match="far from orthonormal"):
        _core.advance_gram(rule, np.ones((5, 5)), 2, 9, np.ones(2), 0.0, None, scale=1.0)
