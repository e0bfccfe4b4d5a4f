"""What is summed up in one go through the rows is what NumPy would sum up in several."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass.kernels.squares import add_squares, dsyrk
from onepass.kernels.survey import add_scores, energies_along, survey

SHAPES = [(1, 1), (5, 3), (40, 4), (7, 50), (33, 131)]


def surveyed(rows, origin, weights, room, directions=None, groups=0, squares=None, believed=0):
    """Return what `survey` returns and writes."""
    b, d = rows.shape
    directions = np.zeros((0, d)) if directions is None else directions
    squares = np.zeros((0, 0)) if squares is None else squares
    energy, total = np.empty(b), np.zeros(d)
    captured, sums, scores = np.empty((groups, b)), np.zeros(groups), np.zeros(5)
    found = survey(
        rows, origin, weights, directions, room, squares, dsyrk(), energy, total, captured, sums,
        believed, 0.0, scores,
    )  # fmt: skip
    return *found, energy, total, captured, sums, scores


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("room_rows", [1, 4, 100])
@pytest.mark.parametrize("shape", SHAPES)
def test_survey(shape, room_rows, alike, dtype):
    rng = np.random.default_rng(0)
    rows, origin = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1])
    weights = np.ones(shape[0]) if alike else rng.uniform(0.5, 2.0, shape[0])
    directions, before = rng.normal(size=(6, shape[1])), rng.normal(size=(shape[1], shape[1]))
    squares = before.copy()
    energies, found_alike, unit, energy, total, captured, sums, scores = surveyed(
        rows, origin, weights, np.empty((room_rows, shape[1])), directions, 3, squares, 1
    )
    expected = rows.astype(np.float64) - origin
    np.testing.assert_allclose(energy, weights * (expected**2).sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(total, weights @ expected, atol=1e-12)
    assert energies == pytest.approx(energy.sum(), rel=1e-13)
    assert bool(found_alike) is alike
    along = ((expected @ directions.T) ** 2).reshape(-1, 3, 2).sum(axis=2)
    np.testing.assert_allclose(captured, (weights[:, None] * along).T, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(sums, captured.sum(axis=1), rtol=1e-12)
    added = (weights[:, None] * expected).T @ expected
    np.testing.assert_allclose(np.tril(squares), np.tril(before + added), atol=1e-11)
    np.testing.assert_array_equal(np.triu(squares, 1), np.triu(before, 1))
    by_hand = np.zeros(5)
    assert unit == add_scores(captured[1], energy, 0.0, by_hand)
    np.testing.assert_array_equal(scores, by_hand)


def test_survey_keeps_the_rows_where_there_is_room():
    rng = np.random.default_rng(0)
    rows, origin, room = rng.normal(size=(9, 5)), rng.normal(size=5), np.empty((9, 5))
    surveyed(rows, origin, rng.uniform(size=9), room)
    np.testing.assert_array_equal(room, rows - origin)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_survey_notices_what_is_out_of_range(bad):
    rows = np.random.default_rng(0).normal(size=(9, 6))
    rows[4, 5] = bad
    with np.errstate(all="ignore"):  # where it is not compiled
        found, _, _, energy, *_ = surveyed(rows, np.zeros(6), np.ones(9), np.empty((4, 6)))
    assert not np.isfinite(found)
    assert not np.isfinite(energy[4])


@pytest.mark.parametrize("groups", [1, 3])
def test_energies_along(groups):
    rng = np.random.default_rng(1)
    inner, along = rng.normal(size=(20, groups * 4)), rng.normal(size=groups * 4)
    weights = rng.uniform(0.5, 2.0, 20)
    energies, sums = np.empty((groups, 20)), np.zeros(groups)
    energies_along(inner, along, weights, energies, sums)
    squares = ((inner - along) ** 2).reshape(20, groups, 4).sum(axis=2)
    np.testing.assert_allclose(energies, weights * squares.T, rtol=1e-13)
    np.testing.assert_allclose(sums, energies.sum(axis=1), rtol=1e-13)


energies = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.floats(1e-200, 1e200)), max_size=9
)


@settings(max_examples=200, deadline=None)
@given(st.lists(energies, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_sums_of_scores_do_not_depend_on_when_the_unit_grows(parts, random):
    unit, sums = 0.0, np.zeros(5)
    for part in parts:
        energy = np.array(part)
        captured = np.array([random.random() for _ in part]) * energy
        unit = add_scores(captured, energy, unit, sums)
    assert unit == max((max(part, default=0.0) for part in parts), default=0.0)
    if unit > 0.0:
        assert np.isfinite(sums).all()
        whole = np.array([e / unit for part in parts for e in part])
        assert sums[1] == pytest.approx(whole.sum(), rel=1e-12)
        assert sums[4] == pytest.approx((whole**2).sum(), rel=1e-12)
        assert 0.0 <= sums[0] <= sums[1] * (1 + 1e-12)
        assert sums[3] ** 2 <= sums[2] * sums[4] * (1 + 1e-9)


@pytest.mark.parametrize("shape", [(0, 3), *SHAPES])
def test_squares(shape):
    rng = np.random.default_rng(2)
    rows, before = rng.normal(size=shape), rng.normal(size=(shape[1], shape[1]))
    matrix = before.copy()
    add_squares(rows, matrix, dsyrk())
    np.testing.assert_allclose(np.tril(matrix), np.tril(before + rows.T @ rows), atol=1e-12)
    np.testing.assert_array_equal(np.triu(matrix, 1), np.triu(before, 1))


def test_squares_of_another_size_are_refused():
    with pytest.raises(ValueError, match="another number of columns"):
        add_squares(np.ones((4, 3)), np.zeros((2, 2)), dsyrk())


def test_squares_let_other_threads_go_on():
    rows, matrix = np.ones((20_000, 500)), np.zeros((500, 500))
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    add_squares(rows, matrix, dsyrk())
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during > 0
