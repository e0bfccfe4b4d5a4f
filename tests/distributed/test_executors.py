"""The same bits wherever shards are learned from, and no waiting for what will never come."""

import os
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
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


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return ten files of rows."""
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate(np.array_split(X, 10)):
        np.save(folder / f"{number}.npy", part)
    return sorted(map(str, folder.glob("*.npy")))


def slow_shard(number, most=0.2):
    """Return a shard after a while."""
    time.sleep(random.Random(number).random() * most)
    return made_rows(100, seed=number)


@pytest.mark.parametrize("estimator", [PCA(3), CappedMSG(3, average=True, random_state=0)])
@pytest.mark.parametrize("given_as", [list, open_source, lambda paths: paths[0]])
def test_the_same_bits_as_in_one_process(estimator, given_as, client, pool, paths):
    expected = fit(estimator, given_as(paths), shard_rows=70)
    with ThreadPoolExecutor(3) as threads:
        for executor in (client, pool, threads):
            assert same_bits(fit(estimator, given_as(paths), executor, shard_rows=70), expected)


def test_nothing_is_left_on_the_cluster(client, paths):
    fit(PCA(3), da.from_array(X, chunks=(250, 12)), client)
    fit(PCA(3), paths, client)
    for _ in range(100):  # the scheduler is told of what is let go with a delay
        left = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        if not left:
            break
        time.sleep(0.1)
    assert not left
    assert not client.futures


def test_collections_of_dask(client, pool):
    array = da.from_array(X, chunks=(250, 12))
    expected = fit(PCA(3), array)
    for given_as in (array, client.persist(array), client.compute(list(array.to_delayed().flat))):
        assert same_bits(fit(PCA(3), given_as, client), expected)
    assert same_bits(fit(PCA(3), array, pool), expected)
    centred = fit(PCA(3), array - array.mean(axis=0), client)
    np.testing.assert_allclose(centred.mean_, 0.0, atol=1e-12)


def test_a_killed_worker_of_dask_changes_nothing(client):
    parts = [dask.delayed(slow_shard)(number) for number in range(20)]
    expected = fit(PCA(3), parts)
    before = set(client.scheduler_info()["workers"])
    pids = list(client.run(os.getpid).values())

    def kill(rows):
        if pids:
            os.kill(pids.pop(), signal.SIGKILL)
            pids.clear()

    assert same_bits(fit(PCA(3), parts, client, progress=kill), expected)
    client.wait_for_workers(2, timeout=30)
    assert set(client.scheduler_info()["workers"]) != before


def test_a_killed_worker_of_a_pool_ends_the_work(paths, tmp_path):
    checkpoint = tmp_path / "run.onepass"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pid = pool.submit(os.getpid).result()

        def kill(rows):
            os.kill(pid, signal.SIGKILL)

        parts = [dask.delayed(slow_shard)(number) for number in range(20)]
        with pytest.raises(ShardError, match="a worker died"):
            fit(PCA(3), parts, pool, checkpoint=checkpoint, progress=kill)
    assert load(checkpoint).n_samples_seen_ < 2000
    found = fit(PCA(3), parts, checkpoint=checkpoint, resume=True)
    assert same_bits(found, fit(PCA(3), parts))


def _fails():
    raise OSError("the disk is gone")


def test_errors_name_shard_and_row(client, pool, paths, tmp_path):
    rows = X.copy()
    rows[853, 5] = np.inf
    where = r"shard 17 \(from row 850 of the array\).*inf at row 3, column 5"
    np.save(tmp_path / "bad.npy", rows)
    # A block is checked when it is read, and may reach into the rows of the next shards.
    in_file = r"shard \d+ \(.*bad.npy from row \d+\).*bad.npy, row 854, column \[5\]"
    for executor in (None, client, pool):
        with pytest.raises(ShardError, match=where):
            fit(PCA(3), da.from_array(rows, chunks=(50, 12)), executor)
        with pytest.raises(ShardError, match=in_file):
            fit(PCA(3), tmp_path / "bad.npy", executor, shard_rows=100)
        with pytest.raises(ShardError, match=r"shard 1 \(/nowhere/1.npy\).*no such file"):
            fit(PCA(3), [paths[0], "/nowhere/1.npy"], executor)
    with pytest.raises(ShardError, match=r"shard 1: .*the disk is gone"):
        fit(PCA(3), [dask.delayed(X), dask.delayed(_fails)()], client)


def test_losing_the_scheduler_costs_what_was_being_done(tmp_path):
    path = tmp_path / "run.onepass"
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options)
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
