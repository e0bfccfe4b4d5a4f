"""Rows one by one, against the paper in d x d matrices."""

import resource
from functools import cache

import numpy as np
import pytest

from onepass import _core
from tests import reference
from tests.contracts.rows import MAKERS, make
from tests.core.learning import METHODS, advance, assert_close, assert_orthonormal, well_posed

N = 60
SHAPES = [(5, 1), (5, 3), (5, 5), (30, 8), (70, 3), (70, 30)]  # (d, k)


def some(d, k, n=200, seed=0, dtype=np.float64):
    return make("gaussian", n, d, k, seed).astype(dtype)


@cache
def expected(method, name, d, k):
    """Return what the reference makes of the rows, once for all instruction sets."""
    return METHODS[method].expected(make(name, N, d, k), k)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_equals_the_reference(method, name):
    for d, k in SHAPES:
        if not well_posed(method, name, d, k):
            continue
        rows, wanted = make(name, N, d, k), expected(METHODS.index(method), name, d, k)
        state, out = advance(method.start(d, k), rows, scale=method.scale(d, k), sums=True)
        assert_close(state.iterate(), wanted.last)
        assert_close((out.sums.T @ out.sums + out.rests * np.eye(d)) / N, wanted.average)
        assert_orthonormal(out.basis)
        np.testing.assert_allclose(out.energy, (rows**2).sum(axis=1), rtol=1e-12)
        if k == d:
            np.testing.assert_array_equal(out.captured, out.energy)
        elif name == "gaussian" and method.rule != "meg" and not method.exact:  # no ties
            share = out.captured.sum() / out.energy.sum()
            assert share == pytest.approx(reference.captured(wanted, k), abs=1e-8)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_turn_and_inner_follow_the_second_moment_along_the_basis(method):
    for d, k in ((12, 3), (60, 4)):  # coordinates are columns; or through the Gram matrix
        rows = np.vstack([some(d, k, 40), make("duplicated", 40, d, k)])
        state, _ = advance(method.start(d, k), some(d, k, 30, seed=1), scale=1.0)
        moment = np.diag(np.arange(1.0, len(state.basis) + 1))
        block = 16  # the rows of a block of the core
        wanted, following = moment, state
        for start in range(0, 32, block):
            part = rows[start : start + block]
            after, out = advance(following, part, scale=1.0)
            turn = after.basis @ following.basis.T
            products = part @ after.basis.T
            np.testing.assert_allclose(out.rotation, turn, atol=1e-12)
            np.testing.assert_allclose(out.inner, products.T @ products, atol=1e-12)
            wanted, following = turn @ wanted @ turn.T + products.T @ products, after
        whole, out = advance(state, rows[:32], scale=1.0)
        # Vectors of equal weight may come in any order: compare the matrices.
        got = out.rotation @ moment @ out.rotation.T + out.inner
        assert_close(
            whole.basis.T @ got @ whole.basis, following.basis.T @ wanted @ following.basis, 1e-11
        )


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_single_precision_stays_near_double_precision(method, scale):
    if method.name == "capped-exact" or (method.rule == "incremental" and scale != 1.0):
        pytest.skip("ties, or directions of rounding; it sums")
    for name in ("gaussian", "one_hot", "duplicated", "in_span", "with_zeros"):
        for d, k in ((9, 2), (70, 4)):
            if not well_posed(method, name, d, k):
                continue
            rows, numerator = (make(name, N, d, k) * scale).astype(np.float32), method.scale(d, k)
            wanted, _ = advance(method.start(d, k), rows.astype(float), scale=numerator)
            state, out = advance(method.start(d, k, np.float32), rows, scale=numerator, sums=True)
            assert state.basis.dtype == out.sums.dtype == np.float32
            assert_close(state.iterate(), wanted.iterate(), 5e-5)
            assert_orthonormal(state.basis, 2e-6)
            np.testing.assert_allclose(out.energy, (rows.astype(float) ** 2).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(("d", "k"), [(20, 6), (100, 5)])
def test_a_basis_in_single_precision_stays_orthonormal_over_200_000_rows(d, k):
    rows = some(d, k, 20_000, dtype=np.float32)
    for method in METHODS:
        if method.name not in ("capped", "oja"):
            continue
        state = method.start(d, k, np.float32)
        for _ in range(10):
            state, _ = advance(state, rows, scale=1.0, trusted=True)
        assert_orthonormal(state.basis, 2e-6)


def test_a_basis_that_is_not_trusted_is_made_orthonormal():
    rng = np.random.default_rng(0)
    rows, method = some(60, 4), METHODS[2]
    state, _ = advance(method.start(60, 4), rows[:100], scale=1.0)
    wanted, _ = advance(state, rows[100:], scale=1.0)
    state.basis = state.basis + 1e-8 * rng.normal(size=state.basis.shape)
    after, _ = advance(state, rows[100:], scale=1.0)
    assert_orthonormal(after.basis, 1e-14)
    assert_close(after.iterate(), wanted.iterate(), 1e-6)
    # The same where the first row has to be taken alone, and where coordinates are columns.
    after, _ = advance(state, state.basis[:1].copy(), scale=1.0)
    assert_orthonormal(after.basis, 1e-14)


@pytest.mark.parametrize("d", [8, 60])
def test_a_basis_far_from_orthonormal_is_refused(d):
    rows, rule = some(d, 4), _core.Rule("msg", 4, max_rank=5)
    for basis in (np.zeros((3, d)), np.ones((3, d)), np.full((3, d), np.nan), 20 * np.eye(3, d)):
        with pytest.raises(ValueError, match="orthonormal"):
            _core.advance(rule, basis, np.ones(3), 0.0, rows, None, scale=1.0)


def test_steps_that_are_too_large_are_refused():
    rows = some(60, 3)
    with pytest.raises(OverflowError, match="no longer finite"):
        advance(METHODS[-1].start(60, 3), 1e10 * rows, np.full(len(rows), 1e300))


@pytest.mark.parametrize("deficient_rows", [0, 200, 700])
def test_the_rank_test_raises_the_cap(deficient_rows):
    """Test Section 5's test row by row against a plain transcription."""
    d, k = 40, 2
    rows = some(d, k, 700)
    rows[:deficient_rows, k:] = 0.0  # of rank k, which leaves the cap as it is
    state = METHODS[2].start(d, k)
    state.rule = _core.Rule("msg", k, max_rank=k + 1, memory=[64, 0, 0])
    cap, deficient, test = k + 1, False, 64
    one_by_one = state
    for step, row in enumerate(rows, start=1):
        one_by_one, _ = advance(one_by_one, row[None], scale=0.3)
        deficient = deficient or len(one_by_one.weights) < cap
        if step >= test:
            cap, deficient, test = cap + (not deficient), False, 2 * test
        rule = one_by_one.rule
        assert (rule.max_rank, rule.memory) == (cap, [test, step, deficient])
    assert (cap > k + 1) == (deficient_rows < len(rows))
    whole, _ = advance(state, rows, scale=0.3)
    assert whole.rule.max_rank == cap
    assert_close(whole.iterate(), one_by_one.iterate(), 1e-11)


def test_memory_grows_with_the_rank_that_is_reached_and_not_with_the_one_allowed():
    """Test a long call in many dimensions without a cap: rank 3 needs no 5,000 x 5,000 matrix."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3)) @ rng.normal(size=(3, 5000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    state, _ = advance(METHODS[0].start(5000, 3), rows, scale=1.0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert len(state.basis) <= 4
    assert grown < 20_000  # kB
