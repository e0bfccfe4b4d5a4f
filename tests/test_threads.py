"""How many threads products use: as many as BLAS may, only while something is learned."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from onepass import PCA, threads
from onepass.moments import chunk as rows_module
from onepass.pca import learner
from onepass.threads import one_thread, run_all


def names_of_two_jobs():
    """Return the threads that two jobs ran in, each of which waits for the other."""
    both = threading.Barrier(2, timeout=60)

    def job(_):
        both.wait()
        return threading.current_thread()

    return run_all(job, range(2))


def test_jobs_run_side_by_side_in_threads_that_stay_until_the_end():
    with threadpool_limits(2), one_thread():
        first, again = names_of_two_jobs(), names_of_two_jobs()
        assert len(set(first)) == 2
        (other,) = {*first, *again} - {threading.current_thread()}  # not a new one for each call
        assert other.is_alive()
    assert not other.is_alive()


@pytest.mark.parametrize("robust", [True, False])
@pytest.mark.parametrize(
    ("kind", "type_", "split", "exact"),
    [
        (np.asarray, float, 1024, 4096),  # accumulators
        (np.asarray, np.float32, 1024, 4096),
        (np.asarray, float, 48, 4096),  # blocks of columns
        (np.asarray, np.float32, 48, 4096),
        (sparse.csr_array, float, 48, 4096),
        (sparse.csr_array, np.float32, 48, 4096),
        (np.asarray, float, 48, 50),  # a sketch
        (sparse.csr_array, float, 48, 50),
    ],
)
def test_any_number_of_threads_gives_the_same_bits(kind, type_, split, exact, robust, monkeypatch):
    """With more threads than this machine may have cores, too."""
    monkeypatch.setattr(rows_module, "TILE_BYTES", 2**14)
    monkeypatch.setattr(rows_module, "OUTER_BYTES", 2**14)
    monkeypatch.setattr(rows_module, "SPLIT_COLUMNS", split)
    monkeypatch.setattr(learner, "EXACT_COLUMNS", exact)
    monkeypatch.setattr(learner, "SPARSE_EXACT_COLUMNS", exact)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 60)) * rng.standard_t(2, (3000, 1)) * 0.9 ** np.arange(60)
    if kind is not np.asarray:
        rows *= rng.random(rows.shape) < 0.2
    rows, pools, found = kind(rows.astype(type_)), set(), {}

    class Pool(threads.ThreadPoolExecutor):
        def __init__(self, size):
            pools.add(size)
            super().__init__(size)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)
    numbers = [1, 2, 4, 8, 16]
    for number in numbers:
        with threadpool_limits(number):
            found[number] = PCA(3, robust=robust).fit(rows).to_bytes()
    assert pools == {number - 1 for number in numbers[1:]}
    assert [number for number in numbers if found[number] != found[1]] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_forked_while_another_thread_learns_can_learn():
    rows = np.random.default_rng(0).normal(size=(600, 520))
    with threadpool_limits(2), one_thread():
        names_of_two_jobs()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that a thread may hold a lock
            child = os.fork()
        if not child:
            signal.alarm(100)  # it would wait for threads that it does not have
            code = 1
            try:
                code = 0 if PCA(2).fit(rows).components_.shape == (2, 520) else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def blas_threads():
    """Return the numbers of threads that the BLAS libraries use."""
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_the_limit_holds_whichever_thread_sets_and_lifts_it():
    """threadpoolctl 3.8 lets one thread at a time change OpenBLAS, here the main thread."""
    entered, may_leave, found = threading.Event(), threading.Event(), []

    def enter():
        with one_thread():
            found.append(blas_threads())
            entered.set()
            may_leave.wait(timeout=60)

    with threadpool_limits(2):
        before = blas_threads()
        other = threading.Thread(target=enter)
        other.start()
        entered.wait(timeout=60)
        with one_thread():
            may_leave.set()
            other.join()
            found.append(blas_threads())
        found.append(blas_threads())
    assert found == [{1}, {1}, before]
