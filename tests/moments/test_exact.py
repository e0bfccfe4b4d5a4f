"""The second moment as a matrix: that of all rows about their mean, however they came."""

import numpy as np
import pytest

from onepass.moments.chunk import chunk_about
from onepass.moments.exact import SecondMoment
from tests import reference

N, D = 40, 6
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, D)) * np.linspace(3, 0.5, D) + 20
WEIGHTS = RNG.uniform(0.5, 2, N)
SCALE = RNG.uniform(0.5, 2, D)


def moment_of(center=True):
    """Return the moment of rows that come in parts, each about a point near its rows."""
    moment = SecondMoment(D, center)
    for part in np.array_split(np.arange(N), 3):
        origin = ROWS[part[0]] if center else np.zeros(D)
        moment.add(chunk_about(ROWS[part], WEIGHTS[part], origin), WEIGHTS[part])
    return moment


@pytest.mark.parametrize("step", [0.0, 1.0, 1e3, -7.5])
def test_moved_to_another_point_it_is_the_same(step):
    moment = moment_of()
    point = moment.origin + step * np.linspace(1, 2, D)
    moment.move(point)
    np.testing.assert_array_equal(moment.origin, point)
    near = ROWS - point
    np.testing.assert_allclose(moment.total, WEIGHTS @ near, rtol=1e-10)
    np.testing.assert_allclose(
        np.tril(moment.squares), np.tril(near.T @ (WEIGHTS[:, None] * near)), rtol=1e-10
    )
    mean, S = reference.scatter(ROWS, WEIGHTS, center=True)
    size = 1e-12 * max(1.0, step**2) * np.trace(S)
    np.testing.assert_allclose(moment.mean, mean, rtol=1e-12 * max(1.0, step**2))
    np.testing.assert_allclose(moment.times(np.eye(D)), S, rtol=0, atol=size)
    np.testing.assert_allclose(moment.column_sums(), np.diag(S), rtol=0, atol=size)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [None, SCALE])
def test_everything_is_read_in_the_units_of_a_scale(center, scale):
    moment = moment_of(center)
    divided = ROWS if scale is None else ROWS / scale
    _, S = reference.scatter(divided, WEIGHTS, center=center)
    size = 1e-12 * np.trace(S)
    directions = np.linalg.qr(RNG.normal(size=(D, 3)))[0].T
    np.testing.assert_allclose(moment.times(np.eye(D), scale), S, rtol=0, atol=size)
    np.testing.assert_allclose(
        moment.compress(directions, scale), directions @ S @ directions.T, rtol=0, atol=size
    )
    assert moment.energy(scale) == pytest.approx(np.trace(S))
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(moment.spectrum(scale), values[::-1], rtol=0, atol=size)
    found, sums = moment.leading(2, scale)
    np.testing.assert_allclose(sums, values[:-3:-1], rtol=1e-10)
    np.testing.assert_allclose(np.abs(found @ vectors[:, :-3:-1]), np.eye(2), atol=1e-6)
