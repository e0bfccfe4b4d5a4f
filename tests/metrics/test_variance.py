"""Captured variance and suboptimality against d x d matrices and against known angles."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import PCA, metrics
from onepass.subspace import Subspace

MOMENT = Subspace(np.eye(2), np.array([1.0, 4 / 3]))


def projection(directions):
    """The d x d projection onto the span, the naive way."""
    return np.linalg.pinv(directions) @ directions


@st.composite
def subspaces(draw):
    d = draw(st.integers(1, 7))
    m = draw(st.integers(0, d))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 3.0])
    weights = np.array([draw(values) for _ in range(m)])
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0][:m]
    return Subspace(basis, weights, draw(values)), rng


@settings(deadline=None, max_examples=300)
@given(subspaces(), st.data())
def test_equals_the_dense_computation(drawn, data):
    moment, rng = drawn
    d = moment.n_features
    j = data.draw(st.integers(1, d))
    k = data.draw(st.integers(j, d))
    directions = rng.standard_normal((j, d)) * 10.0 ** rng.integers(-9, 9, size=(j, 1))
    dense = moment.to_dense()
    normalised = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    amount = np.trace(projection(normalised) @ dense)
    optimum = np.sort(np.linalg.eigvalsh(dense))[::-1][:k].sum()
    assert metrics.captured(directions, moment) == pytest.approx(amount, abs=1e-9)
    assert metrics.suboptimality(directions, moment, k) == pytest.approx(optimum - amount, abs=1e-9)
    if moment.trace > 0:
        share = metrics.captured_share(directions, moment)
        assert share == pytest.approx(amount / moment.trace, abs=1e-9)
    alike = metrics.from_dense(dense)
    assert metrics.suboptimality(directions, alike, k) == pytest.approx(optimum - amount, abs=1e-9)


@pytest.mark.parametrize("angle", [1.0, 1e-3, 1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("rotation", [None, 7])
def test_tiny_suboptimality_keeps_its_digits(angle, rotation):
    basis = np.eye(5, 9)
    if rotation is not None:
        basis = np.linalg.qr(np.random.default_rng(rotation).normal(size=(9, 5)))[0].T
    moment = Subspace(basis, np.array([4.0, 3.0, 2.0, 0.5, 0.1]), 0.01)
    directions = basis[:3].copy()
    directions[2] = np.cos(angle) * basis[2] + np.sin(angle) * basis[3]
    mixed = np.random.default_rng(0).standard_normal((3, 3)) @ directions
    expected = 1.5 * np.sin(angle) ** 2
    # The directions themselves are only good to 1e-16 / angle.
    rel = 1e-13 + 1e-14 / angle
    assert metrics.suboptimality(directions, moment) == pytest.approx(expected, rel=rel)
    assert metrics.suboptimality(mixed, moment) == pytest.approx(expected, rel=10 * rel)


@pytest.mark.parametrize("shape", [(40, 6), (5, 9)])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_rows(shape, kind):
    rng = np.random.default_rng(2)
    rows = rng.standard_normal(shape) * (rng.random(shape) < 0.5) + (rng.random(shape) < 0.2)
    directions = rng.standard_normal((3, shape[1]))
    dense = rows.T @ rows / len(rows)
    amount = np.trace(projection(directions) @ dense)
    optimum = np.linalg.eigvalsh(dense)[-3:].sum()
    assert metrics.captured(directions, kind(rows)) == pytest.approx(amount)
    assert metrics.captured_share(directions, kind(rows)) == pytest.approx(amount / dense.trace())
    assert metrics.suboptimality(directions, kind(rows)) == pytest.approx(optimum - amount)
    mean = rows.mean(axis=0)
    centred = np.cov(rows.T, bias=True)
    amount = np.trace(projection(directions) @ centred)
    assert metrics.captured(directions, kind(rows), mean=mean) == pytest.approx(amount)
    share = metrics.captured_share(directions, kind(rows), mean=mean)
    assert share == pytest.approx(amount / centred.trace())


def test_large_sparse_rows():
    rng = np.random.default_rng(3)
    rows = scipy.sparse.random_array((2600, 2400), density=0.002, random_state=rng, format="csr")
    _, values, vectors = np.linalg.svd(rows.toarray()[:, :1800], full_matrices=False)
    padded = scipy.sparse.hstack([rows[:, :1800], scipy.sparse.csr_array((2600, 600))])
    directions = np.pad(vectors[1:4], ((0, 0), (0, 600)))
    expected = (values[0] ** 2 - values[3] ** 2) / 2600
    assert metrics.suboptimality(directions, padded) == pytest.approx(expected, rel=1e-9)
    nothing = scipy.sparse.csr_array((2600, 2400))
    assert metrics.suboptimality(directions, nothing) == 0


@pytest.mark.parametrize(
    ("directions", "data", "keywords"),
    [
        ([[1.0, 0.0, 0.0]], MOMENT, {}),
        ([[np.nan, 0.0]], MOMENT, {}),
        ([[1.0, 0.0]], np.zeros((0, 2)), {}),
        ([[1.0, 0.0]], np.eye(2), {"mean": [0.0]}),
        ([[1.0, 0.0]], MOMENT, {"mean": [0.0, 0.0]}),
    ],
)
def test_impossible_questions_are_refused(directions, data, keywords):
    with pytest.raises(ValueError):
        metrics.captured(directions, data, **keywords)


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_sparse_rows_about_a_far_mean_lose_no_digits(far):
    rows = np.random.default_rng(0).normal(size=(300, 5)) * [3, 2, 1, 1, 1] + far
    mean = rows.mean(axis=0)
    found = metrics.captured_share(np.eye(2, 5), scipy.sparse.csr_array(rows), mean=mean)
    squares = ((rows - mean) ** 2).sum(axis=0)
    assert found == pytest.approx(squares[:2].sum() / squares.sum(), rel=1e-15 * far)


def test_a_model_is_not_its_directions():
    model = PCA(1).fit(np.random.default_rng(0).normal(size=(50, 3)))
    for measure in (metrics.suboptimality, metrics.captured, metrics.principal_angles):
        with pytest.raises(ValueError, match="pass its components_"):
            measure(model, np.eye(3))


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [0.0, 1.0]], -np.eye(2), [[np.nan]]])
def test_what_is_no_second_moment_is_refused(matrix):
    with pytest.raises(ValueError):
        metrics.from_dense(matrix)


def test_rounding_of_single_precision_makes_a_second_moment():
    rows = np.random.default_rng(0).normal(size=(50, 80)).astype(np.float32)
    product = rows.T @ rows
    assert metrics.from_dense(product).weights[-1] == 0.0
