"""One estimator in several threads: calls that learn take turns, and reading never waits."""

import os
import pickle
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import onepass
from onepass import PCA, CappedMSG
from tests.contracts.variants import BATCH, ESTIMATORS, build

D = 5
EVERY = pytest.mark.parametrize("algorithm", ESTIMATORS)
PATIENCE = 120.0  # seconds after which a test has failed, and not the machine been slow


def rows(seed, n=37):
    return np.random.default_rng(seed).normal(size=(n, D)) * [4, 2, 1, 1, 0.5]


class Blocked:
    """A partial_fit in another thread that is inside of its X until it is released."""

    def __init__(self, model, first, last):
        self.model, self.first, self.last = model, first, last
        self.inside, self.release = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=lambda: model.partial_fit(self.blocks()))

    def blocks(self):
        yield self.first
        self.inside.set()
        assert self.release.wait(PATIENCE)
        yield self.last

    def __enter__(self):
        self.thread.start()
        assert self.inside.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self.release.set()
        self.thread.join()


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
    everything = build(algorithm, 2, random_state=0).fit(np.vstack([*map(rows, range(96))]))
    np.testing.assert_allclose(model.mean_, everything.mean_, atol=1e-12)
    if algorithm in BATCH:
        variances = everything.explained_variance_
        np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-10)


@EVERY
def test_reading_goes_on_while_a_call_is_inside_its_rows(algorithm):
    """Whatever is read is of the model before the call, until the call ends."""
    model = build(algorithm, 2, random_state=0).fit(rows(0, 600))
    before, X = model.transform(rows(1)), rows(1)
    with Blocked(model, rows(2, 600), rows(3, 600)):
        for _ in range(20):
            np.testing.assert_array_equal(model.transform(X), before)
        assert model.n_samples_seen_ == 600
        assert onepass.from_bytes(model.to_bytes()).n_samples_seen_ == 600
        assert pickle.loads(pickle.dumps(model)).n_samples_seen_ == 600
        assert model.merge(build(algorithm, 2, random_state=0).fit(X)).n_samples_seen_ == 637
    assert model.n_samples_seen_ == 1800
    assert not np.array_equal(model.transform(X), before)


@pytest.mark.parametrize("kind", [PCA, CappedMSG])
def test_ten_thousand_calls_see_only_whole_models(kind):
    """Coordinates of a row are those of one of the models that there were, to the last bit."""
    model, X, point = kind(2, center=True), rows(0, 6000), rows(1, 3)
    calls = np.array_split(X, 40)
    twin, known = kind(2, center=True), set()
    for block in calls:
        known.add(twin.partial_fit(block).transform(point).tobytes())
    model.partial_fit(calls[0])
    done, seen = threading.Event(), set()

    def learn():
        for block in calls[1:]:
            model.partial_fit(block)
        done.set()

    worker = threading.Thread(target=learn)
    worker.start()
    count = 0
    while count < 10_000 or not done.is_set():
        seen.add(model.transform(point).tobytes())
        count += 1
    worker.join()
    assert seen <= known
    assert model.transform(point).tobytes() in seen | known


@EVERY
def test_a_call_from_inside_of_its_own_rows_is_refused(algorithm):
    model = build(algorithm, 2, random_state=0).fit(rows(0))

    def blocks(use):
        yield rows(1)
        use(rows(2))
        yield rows(3)

    for use in (model.fit, model.partial_fit):
        with pytest.raises(RuntimeError, match="reads the X of another call"):
            model.partial_fit(blocks(use))
    assert model.n_samples_seen_ == 37
    with ThreadPoolExecutor(1) as pool:  # another thread may call after that
        pool.submit(model.partial_fit, blocks(model.transform)).result()
    assert model.n_samples_seen_ == 111


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("learns", [False, True])
def test_a_fork_while_another_thread_learns(learns):
    """The child has no such thread: it reads the model before the call, and can learn itself."""
    model, X = PCA(2).fit(rows(0, 600)), rows(1)
    before = model.transform(X)
    with Blocked(model, rows(2, 600), rows(3, 600)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks in the middle of threads
            child = os.fork()
        if not child:
            signal.alarm(60)  # a child that waits for a lock ends by itself
            good = np.array_equal(model.transform(X), before)
            if learns:
                good &= model.partial_fit(rows(4)).n_samples_seen_ == 637
            os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.n_samples_seen_ == 1800
