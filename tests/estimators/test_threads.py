"""One estimator in several threads: calls take turns, and no row is lost."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from onepass import ERM, CappedMSG
from tests.contracts.variants import ESTIMATORS, build

D = 5
EVERY = pytest.mark.parametrize("algorithm", ESTIMATORS)


def rows(seed, n=37):
    return np.random.default_rng(seed).normal(size=(n, D)) * [4, 2, 1, 1, 0.5]


@EVERY
def test_no_row_is_lost(algorithm):
    model, start = build(algorithm, 2, random_state=0), threading.Barrier(8)

    def work(thread):
        start.wait()
        for call in range(12):
            model.partial_fit(rows(12 * thread + call))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert model.n_samples_seen_ == 8 * 12 * 37
    assert np.isfinite(model.components_).all()


def test_sums_over_rows_are_those_of_one_thread():
    everything = np.vstack([rows(seed) for seed in range(64)])
    with ThreadPoolExecutor(8) as pool:
        model = ERM(2)
        list(pool.map(lambda seed: model.partial_fit(rows(seed)), range(64)))
    expected = ERM(2).fit(everything)
    np.testing.assert_allclose(model.mean_, expected.mean_, atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-10)


def test_results_can_be_read_while_another_thread_learns():
    model, stop = CappedMSG(2).fit(rows(0)), threading.Event()

    def learn():
        seed = 1
        while not stop.is_set():
            model.partial_fit(rows(seed))
            seed += 1

    worker = threading.Thread(target=learn)
    worker.start()
    try:
        for _ in range(50):
            assert np.isfinite(model.transform(rows(0))).all()
            assert np.isfinite(model.captured_.mean)
            assert pickle.loads(pickle.dumps(model)).n_samples_seen_ >= 37
    finally:
        stop.set()
        worker.join()


def test_a_refused_call_does_not_let_another_one_in():
    """The lock survives an error, after which everything is as it was."""
    model = ERM(2).fit(rows(0))
    lock = model._lock()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, D), np.nan))
    assert model._lock() is lock
    assert "_learning_lock" not in model.__getstate__()
