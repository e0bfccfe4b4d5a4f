"""Distances of rows from points, and what directions capture of them."""

import numpy as np
import pytest

from onepass import _core

RNG = np.random.default_rng(0)
PAIRS = np.array([[0, 1], [1, 0], [1, 2]])


def naive(rows, origin, scale, points, directions, pairs):
    centred = (rows.astype(np.float64) - origin) / (1.0 if scale is None else scale)
    distances = ((centred - points[:, None]) ** 2).sum(axis=2)
    captured = [
        (((centred - points[point]) @ directions[candidate].T) ** 2).sum(axis=1)
        for point, candidate in pairs
    ]
    return distances, np.reshape(captured, (len(pairs), len(rows)))


def problem(r, d, k, dtype=np.float64, scale=True):
    shapes = (r, d), (d,), (2, d), (3, k, d)
    rows, origin, points, directions = (RNG.normal(size=shape).astype(dtype) for shape in shapes)
    return (
        rows,
        origin,
        RNG.uniform(0.5, 2.0, d).astype(dtype) if scale else None,
        points,
        directions,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("r", "d", "k"), [(1, 1, 1), (7, 5, 2), (50, 37, 3), (9, 900, 8), (0, 4, 2)]
)
@pytest.mark.parametrize("scale", [True, False])
def test_equals_the_definition(r, d, k, scale, dtype):
    given = problem(r, d, k, dtype, scale)
    for found, wanted in zip(_core.measure(*given, PAIRS), naive(*given, PAIRS), strict=True):
        assert found.dtype == np.float64
        size = 50 * np.finfo(dtype).eps * np.abs(wanted).max(initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=size)


def test_without_directions_or_pairs():
    rows, origin, scale, points, directions = problem(6, 4, 2)
    none = np.zeros((0, 2), np.int64)
    distances, captured = _core.measure(rows, origin, scale, points, directions[:0], none)
    np.testing.assert_allclose(distances, naive(rows, origin, scale, points, directions, none)[0])
    assert captured.shape == (0, 6)


@pytest.mark.parametrize("turn", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_any_order_in_memory(turn):
    rows, *others = problem(30, 6, 2)
    for one, other in zip(
        _core.measure(rows, *others, PAIRS), _core.measure(turn(rows), *others, PAIRS), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("d", [3, 50, 784])
def test_other_rows_change_no_bit(d):
    """So rows can be split among threads in any way."""
    rows, *others = problem(300, d, 2)
    whole = _core.measure(rows, *others, PAIRS)
    for start, stop in ((0, 1), (17, 43), (299, 300)):
        part = _core.measure(rows[start:stop], *others, PAIRS)
        for one, other in zip(whole, part, strict=True):
            np.testing.assert_array_equal(one[:, start:stop], other)


def test_distances_are_not_negative():
    points = 1e8 + RNG.normal(size=(2, 3))
    given = points, np.zeros(3), None, points, np.zeros((1, 1, 3))
    assert (_core.measure(*given, PAIRS[:0])[0] >= 0.0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({1: np.zeros(3)}, "origin has 3 entries, and the rows 4 columns"),
        ({2: np.zeros(3)}, "a scale for each column"),
        ({3: np.zeros((2, 3))}, "must have 4 columns, as the rows do"),
        ({4: np.zeros((3, 2, 5))}, "must have 4 columns, as the rows do"),
        ({5: np.array([[2, 0]])}, "pair 0 is not one of 2 points and 3 candidates"),
        ({5: np.array([[0, 0], [0, 3]])}, "pair 1 is not one of 2 points and 3 candidates"),
        ({5: np.array([[-1, 0]])}, "pair 0 is not"),
        ({5: np.array([[0, -1]])}, "pair 0 is not"),
        ({5: np.zeros((1, 3), np.int64)}, "a pair is a point and a candidate"),
    ],
)
def test_what_does_not_fit(changes, message):
    given = dict(enumerate([*problem(5, 4, 2), PAIRS]))
    with pytest.raises(ValueError, match=message):
        _core.measure(*(given | changes).values())
