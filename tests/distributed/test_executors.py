"""The same bits wherever shards are learned from, and no waiting for what will never come."""

import os
import random
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from onepass import PCA, CappedMSG, ShardError, load, open_source
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

X = made_rows(2000)
ESTIMATORS = [PCA(3), CappedMSG(3, average=True, random_state=0)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return ten files of rows."""
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate(np.array_split(X, 10)):
        np.save(folder / f"{number}.npy", part)
    return sorted(map(str, folder.glob("*.npy")))


@pytest.fixture(scope="module")
def pool():
    # Processes that begin from nothing: a fork would copy the threads of Dask in other tests.
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


class AnyOrder(Executor):
    """Finishes tasks in an order of its own."""

    def __init__(self, seed):
        self.tasks, self.order = [], random.Random(seed)

    def submit(self, function, /, *args):
        self.tasks.append((future := Future(), function, args))
        return future

    def map(self, function, *given):
        return map(function, *given)

    def finish(self, count):
        while len(self.tasks) < count:
            time.sleep(0.001)
        self.order.shuffle(self.tasks)
        for future, function, args in self.tasks:
            future.set_result(function(*args))


@pytest.mark.parametrize("count", [1, 2, 5, 21, 70])
def test_the_order_in_which_shards_are_done_changes_no_bit(count):
    source = [dask.delayed(part) for part in np.array_split(X, count)]
    executor = AnyOrder(count)
    thread = threading.Thread(target=executor.finish, args=[count])
    thread.start()
    found = fit(PCA(3), source, executor)
    thread.join()
    assert same_bits(found, fit(PCA(3), source))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_same_bits_as_in_one_process(estimator, client, pool, paths):
    expected = fit(estimator, paths)
    with ThreadPoolExecutor(2) as threads:
        for executor in (client, client.get_executor(), pool, threads):
            counted = []
            found = fit(estimator, paths, executor, progress=counted.append)
            assert same_bits(found, expected)
            assert counted == [200] * 10


@pytest.mark.parametrize("given_as", [open_source, str])
def test_workers_read_their_rows_of_a_file(client, pool, paths, given_as):
    expected = fit(PCA(3), given_as(paths[0]), shard_rows=70)
    for executor in (client, pool):
        assert same_bits(fit(PCA(3), given_as(paths[0]), executor, shard_rows=70), expected)


def test_collections_of_dask(client, pool):
    array = da.from_array(X, chunks=(250, 12))
    expected = fit(PCA(3), array)
    assert same_bits(fit(PCA(3), array, pool), expected)
    assert same_bits(fit(PCA(3), array, client), expected)
    assert same_bits(fit(PCA(3), client.persist(array), client), expected)
    centred = fit(PCA(3), array - array.mean(axis=0), client)
    np.testing.assert_allclose(centred.mean_, 0.0, atol=1e-12)


def slow_shard(number):
    """Return a shard after a while."""
    time.sleep(0.1)
    return made_rows(100, seed=number)


def test_a_killed_worker_of_dask_changes_nothing(client):
    parts = [dask.delayed(slow_shard)(number) for number in range(20)]
    expected = fit(PCA(3), parts)
    before = set(client.scheduler_info()["workers"])
    pids = list(client.run(os.getpid).values())

    def kill(rows):
        while pids:
            os.kill(pids.pop(), signal.SIGKILL)
            del pids[:]

    assert same_bits(fit(PCA(3), parts, client, progress=kill), expected)
    client.wait_for_workers(2, timeout=30)
    assert set(client.scheduler_info()["workers"]) != before


def test_a_killed_worker_of_a_pool_ends_the_work(paths, tmp_path):
    checkpoint = tmp_path / "run.onepass"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pid = pool.submit(os.getpid).result()

        def kill(rows):
            os.kill(pid, signal.SIGKILL)

        with pytest.raises(ShardError, match="died"):
            fit(PCA(3), paths, pool, checkpoint=checkpoint, progress=kill)
    found = fit(PCA(3), paths, checkpoint=checkpoint, resume=True)
    assert same_bits(found, fit(PCA(3), paths))


def test_errors_name_shard_and_row(client, pool, paths, tmp_path):
    rows = X.copy()
    rows[853, 5] = np.inf
    where = r"shard 17 \(from row 850 of the array\).*inf at row 3, column 5"
    for executor in (None, client, pool):
        with pytest.raises(ShardError, match=where):
            fit(PCA(3), da.from_array(rows, chunks=(50, 12)), executor)
        with pytest.raises(ShardError, match=r"shard 1 \(/nowhere/1.npy\).*no such file"):
            fit(PCA(3), [paths[0], "/nowhere/1.npy"], executor)
    with pytest.raises(ShardError, match=r"shard 1: .*the disk is gone"):
        fit(PCA(3), [dask.delayed(X), dask.delayed(_fails)()], client)


def _fails():
    raise OSError("the disk is gone")


def test_nothing_is_left_on_the_cluster(client, paths):
    fit(PCA(3), paths, client)
    deadline = time.monotonic() + 60
    while any(client.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.has_what().values())


def test_losing_the_scheduler_costs_what_was_being_done(paths, tmp_path):
    path = tmp_path / "run.onepass"
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    parts = [dask.delayed(slow_shard)(number) for number in range(10)]
    counted = []

    def lose(rows):
        counted.append(rows)
        if len(counted) == 5:
            cluster.close()

    with (
        distributed.Client(cluster, set_as_default=False) as lost,
        pytest.raises(ShardError, match="scheduler is gone"),
    ):
        fit(PCA(3), parts, lost, checkpoint=path, checkpoint_every=1000, progress=lose)
    saved = load(path).n_samples_seen_
    assert saved >= 500
    again = []
    found = fit(PCA(3), parts, checkpoint=path, resume=True, progress=again.append)
    assert sum(again) == 1000 - saved
    assert same_bits(found, fit(PCA(3), parts))


def test_a_client_that_could_not_connect(paths):
    with pytest.raises(ValueError, match="unknown address scheme"):
        distributed.Client("nonsense://x")
    client = distributed.default_client()  # it stays the default one
    try:
        with pytest.raises(ConnectionError, match="connecting"):
            fit(PCA(2), paths)
    finally:
        client.close()
    assert fit(PCA(2), paths).n_samples_seen_ == 2000


def test_a_client_that_is_closed(client, paths):
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(ConnectionError, match="closed"):
        fit(PCA(2), paths, other)
