"""Directions that rows are evaluated with, and what finishing does."""

import numpy as np

from onepass.pca.learner import PCALearner
from onepass.stream import Stream

D, K = 60, 3
STREAM = Stream(D, np.dtype(np.float64), False, True)


def test_the_first_directions_are_those_of_the_first_rows():
    X = np.random.default_rng(1).normal(size=(128, D)) * np.arange(1, D + 1) ** -0.5
    learner = PCALearner(STREAM, K)
    learner.push(X)
    vectors = np.linalg.eigh(np.cov(X, rowvar=False))[1].T[::-1][:K]
    np.testing.assert_allclose(np.abs(np.sum(learner.directions * vectors, axis=1)), 1.0)


def test_directions_are_found_again_when_the_stream_has_doubled():
    X = np.random.default_rng(0).normal(size=(10_000, D)) * np.arange(1, D + 1) ** -0.5
    learner, found = PCALearner(STREAM, K), set()
    for row in X:
        learner.push(row[None])
        found.add(learner.rows_found)
    assert sorted(found) == [0, 128, 256, 512, 1024, 2048, 4096, 8192]


def test_finishing_in_place_gives_the_bits_of_a_finished_copy():
    X = np.random.default_rng(2).normal(size=(300, D))
    learner = PCALearner(STREAM, K)
    learner.push(X)
    twin = learner.finished()
    assert learner.buffer.count
    learner.finish()
    assert not learner.buffer.count
    np.testing.assert_array_equal(learner.model().components, twin.model().components)
