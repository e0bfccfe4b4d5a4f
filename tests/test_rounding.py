"""Rounding: orthonormal directions, the right marginals, an exact mixture."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import rounding
from onepass.subspace import Subspace


def capped(values, k):
    """Scale and clip positive values to weights in [0, 1] with the sum k, by bisection."""
    low, high = 0.0, k / values.min()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1, middle * values).sum() < k else (low, middle)
    return np.minimum(1, high * values)


@st.composite
def feasible(draw, full=True):
    """(M, k, rng) with trace k if full, and below otherwise."""
    d = draw(st.integers(1, 7))
    k = draw(st.integers(1, d))
    ties = st.sampled_from([1e-6, 0.01, 0.5, 1.0, 1.0, 30.0])
    values = capped(np.array([draw(ties) for _ in range(d)]), k)
    m = draw(st.integers(0, d))
    if m < d:
        values[m:] = values[m:].mean()
    if not full:
        values *= draw(st.floats(0, 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0][:m]
    return Subspace(basis, values[:m], float(values[m]) if m < d else 0.0), k, rng


def assert_orthonormal(directions, k, d):
    assert directions.shape == (k, d)
    np.testing.assert_allclose(directions @ directions.T, np.eye(k), atol=1e-12)


@settings(deadline=None)
@given(feasible() | feasible(full=False))
def test_top_has_the_largest_eigenvalues(drawn):
    M, k, _ = drawn
    directions = rounding.top(M, k)
    assert_orthonormal(directions, k, M.n_features)
    eigenvalues = np.linalg.eigvalsh(M.to_dense())[::-1][:k]
    np.testing.assert_allclose(M.compress(directions), np.diag(eigenvalues), atol=1e-12)
    np.testing.assert_array_equal(rounding.top(M, k), directions)


class Uniform:
    """A generator whose uniform number is given: sampling is then a function of it."""

    def __init__(self, u):
        self.u = u
        self.standard_normal = np.random.default_rng(0).standard_normal

    def uniform(self):
        return self.u


@settings(deadline=None)
@given(feasible())
def test_marginals_are_exact(drawn):
    M, k, _ = drawn
    d, m = M.n_features, M.rank
    # The set of drawn rows changes only where u + a partial sum is a whole number.
    jumps = np.append(-np.cumsum(M.weights) % 1, [0, 1, -M.trace % 1])
    edges = np.unique(jumps.round(12))
    mean = np.zeros(m)
    outside = 0.0
    for low, high in itertools.pairwise(edges):
        directions = rounding.sample(M, k, Uniform((low + high) / 2))
        assert_orthonormal(directions, k, d)
        inside = ((directions @ M.basis.T) ** 2).sum(axis=0)
        np.testing.assert_allclose(inside, inside.round(), atol=1e-12)
        mean += (high - low) * inside
        outside += (high - low) * (k - inside.sum())
    np.testing.assert_allclose(mean, M.weights, atol=1e-10)
    assert outside == pytest.approx(M.rest * (d - m), abs=1e-10)


@settings(deadline=None)
@given(feasible(full=False))
def test_trace_below_k_is_completed(drawn):
    M, k, rng = drawn
    directions = rounding.sample(M, k, rng)
    assert_orthonormal(directions, k, M.n_features)
    # Rows are left out only for heavier or for drawn ones: nothing of weight 1 is lost.
    certain = M.basis[M.weights >= 1]
    np.testing.assert_allclose(certain @ directions.T @ directions, certain, atol=1e-12)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_decomposition_reconstructs(data):
    d = data.draw(st.integers(1, 12))
    k = data.draw(st.integers(1, d))
    value = st.floats(1e-9, 1) | st.sampled_from([0.25, 0.5, 1.0])
    weights = capped(np.array([data.draw(value) for _ in range(d)]), k)
    probabilities, corners = rounding.decompose(weights, k)
    assert corners.shape == (len(probabilities), k)
    assert len(probabilities) <= d
    assert (probabilities > 0).all()
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    rebuilt = np.zeros(d)
    for probability, corner in zip(probabilities, corners, strict=True):
        assert len(set(corner)) == k
        rebuilt[corner] += probability
    np.testing.assert_allclose(rebuilt, weights, atol=1e-12 * d)


def infeasible(k, error):
    """Return 2k weights of 0.5, the first of which is wrong by an error."""
    return np.r_[0.5 + error, np.full(2 * k - 1, 0.5)]


@pytest.mark.parametrize(
    ("weights", "k", "said"),
    [
        ([0.5, 0.6], 1, "sum"),
        ([1.5, 0.5], 2, "between"),
        ([np.nan, 0.5], 1, "between"),
        *((infeasible(k, 2e-6 * k), k, f"at most k={k}") for k in (2, 5)),
    ],
)
def test_infeasible_weights_are_refused(weights, k, said):
    with pytest.raises(ValueError, match=said):
        rounding.decompose(weights, k)
    if sum(weights) >= k:
        M = Subspace(np.eye(len(weights)), np.array(weights))
        with pytest.raises(ValueError, match=said):
            rounding.sample(M, k, np.random.default_rng(0))


@pytest.mark.parametrize("k", [2, 5])
def test_rounding_errors_are_feasible(k):
    """What is a rounding error grows with k."""
    weights = infeasible(k, 0.5e-6 * k)
    rounding.decompose(weights, k)
    rounding.sample(Subspace(np.eye(2 * k), weights), k, Uniform(0.5))


def test_ties_are_broken_by_order():
    """The same matrix always gives the same directions, on every machine."""
    d, k = 400, 200
    weights = np.tile([0.25, 0.75], k)  # enough of them that a quick sort would mix them
    heavy, light = np.arange(1, d, 2), np.arange(0, d, 2)
    M = Subspace(np.eye(d), weights)
    np.testing.assert_array_equal(rounding.top(M, d).argmax(axis=1), [*heavy, *light])
    M = Subspace(np.eye(d, d + 1), 1e-4 * weights)
    taken = rounding.sample(M, d, Uniform(0.5)).argmax(axis=1)
    np.testing.assert_array_equal(taken, [*heavy, *light])
    probabilities, corners = rounding.decompose(weights, k)
    np.testing.assert_allclose(probabilities, [0.75, 0.25])
    np.testing.assert_array_equal(corners, [heavy, light])


def test_directions_are_orthogonal_to_a_basis_that_is_nearly_all_of_the_space():
    nearly = Subspace(np.linalg.qr(np.vander(np.linspace(0.9, 1, 8)))[0][:7], np.ones(7))
    directions = rounding.top(nearly, 8)
    np.testing.assert_allclose(directions @ directions.T, np.eye(8), atol=1e-13)
