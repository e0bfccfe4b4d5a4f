"""Distances of rows from a point, and what directions capture of them."""

import numpy as np
import pytest

from onepass import _core

RNG = np.random.default_rng(0)


def problem(r, d, k, dtype=np.float64, scale=True):
    rows, origin, point, directions = (
        RNG.normal(size=shape).astype(dtype) for shape in ((r, d), (d,), (d,), (k, d))
    )
    scales = RNG.uniform(0.5, 2.0, d).astype(dtype) if scale else None
    return rows, origin, scales, point, directions


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("r", "d", "k"), [(1, 1, 1), (7, 5, 2), (50, 37, 3), (9, 900, 8), (0, 4, 2), (6, 4, 0)]
)
@pytest.mark.parametrize("scale", [True, False])
def test_equals_the_definition(r, d, k, scale, dtype):
    rows, origin, scales, point, directions = given = problem(r, d, k, dtype, scale)
    moved = (rows.astype(np.float64) - origin) / (1.0 if scales is None else scales) - point
    naive = (moved**2).sum(axis=1), ((moved @ directions.T) ** 2).sum(axis=1)
    for found, wanted in zip(_core.measure(*given), naive, strict=True):
        assert found.dtype == np.float64
        size = 50 * np.finfo(dtype).eps * np.abs(wanted).max(initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=size)


@pytest.mark.parametrize("d", [3, 50, 784])
def test_other_rows_and_their_order_in_memory_change_no_bit(d):
    """So rows can be split among threads in any way."""
    rows, *others = problem(300, d, 2)
    whole = _core.measure(rows, *others)
    for turned in (np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(_core.measure(turned, *others), whole)
    for start, stop in ((0, 1), (17, 43), (299, 300)):
        part = _core.measure(rows[start:stop], *others)
        np.testing.assert_array_equal(part, [found[start:stop] for found in whole])


def test_distances_are_not_negative():
    points = 1e8 + RNG.normal(size=(2, 3))
    assert (_core.measure(points, np.zeros(3), None, points[0], np.zeros((1, 3)))[0] >= 0.0).all()
