"""When directions for evaluation are found, and from what."""

import numpy as np
import pytest

from onepass.pca import learner as module
from onepass.pca.learner import PCALearner
from onepass.rows.stream import Stream

D, K = 60, 3


def steps_by_rows(rows, monkeypatch, *, wide):
    """Return in how many steps directions were found, by the number of rows before."""
    monkeypatch.setattr(module, "LADDER_COLUMNS", D - 1 if wide else D)
    monkeypatch.setattr(module, "COSTLY_ROWS", 2000 / D)
    learner = PCALearner(Stream(D, np.dtype(np.float64), False, True), K)
    found, find = {}, learner.bounds.directions

    def recorded(k, previous, steps):
        found[learner.rows] = steps
        return find(k, previous, steps)

    learner.bounds.directions = recorded
    learner.push(np.random.default_rng(0).normal(size=(rows, D)) * np.arange(1, D + 1) ** -0.5)
    return found


@pytest.mark.parametrize("wide", [True, False])
def test_directions_of_wide_rows_are_found_less_often_at_first(wide, monkeypatch):
    """Four times the rows instead of twice, in one step, until learning takes longer."""
    found = steps_by_rows(10_000, monkeypatch, wide=wide)
    early = [count for count in found if count < 2000]
    growth = np.array(early[1:]) / early[:-1]
    assert growth.min() >= (4.0 if wide else 2.0)
    assert growth.max() < (6.0 if wide else 3.0)
    assert found == {count: 1 if wide and count < 2000 else 2 for count in found}


def test_the_first_directions_are_those_of_the_first_rows(monkeypatch):
    """Where a row has more columns than there are rows, these are all it takes."""
    monkeypatch.setattr(module, "FIRST_ROWS", 40)
    X = np.random.default_rng(1).normal(size=(40, D)) * np.arange(1, D + 1) ** -0.5
    learner = PCALearner(Stream(D, np.dtype(np.float64), False, True), K)
    monkeypatch.setattr(learner.bounds, "directions", None)
    learner.push(X)
    vectors = np.linalg.eigh(np.cov(X, rowvar=False))[1].T[::-1][:K]
    np.testing.assert_allclose(np.abs(np.sum(learner.directions[0] * vectors, axis=1)), 1.0)


def test_finishing_in_place_gives_the_bits_of_a_finished_copy():
    X = np.random.default_rng(2).normal(size=(300, D))
    learner = PCALearner(Stream(D, np.dtype(np.float64), False, True), K)
    learner.push(X)
    twin = learner.finished()
    assert learner.buffer.count
    learner.finish()
    assert not learner.buffer.count
    np.testing.assert_array_equal(learner.model().components, twin.model().components)
