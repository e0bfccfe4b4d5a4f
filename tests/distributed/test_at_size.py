"""Promises about clusters, tested at full size."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import ERM, PCA
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.long


def cluster_of(workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )


def dense(number, shards=20):
    """Return 200,000 / shards rows of 80 columns with slowly decaying variances."""
    rng = np.random.default_rng(number)
    return rng.normal(size=(200_000 // shards, 80)) * 0.95 ** np.arange(80) + 1.0


def sparse_rows(number):
    """Return 4,000 rows of 1,000 columns, 2% of them filled, some columns much more often."""
    rng = np.random.default_rng(number)
    often = 0.2 * 0.98 ** np.arange(1000)
    topics = rng.random((4000, 4)) < 0.3
    chance = often * (1.0 + 3.0 * (topics @ (np.arange(1000) % 4 == np.arange(4)[:, None])))
    return sp.csr_array((rng.random((4000, 1000)) < chance * 0.3).astype(float))


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize(("make", "count"), [(dense, 20), (sparse_rows, 8)])
def test_as_good_as_one_pass_on_rows_not_seen(workers, make, count):
    X, fresh = (_stacked(make, range(first, first + count)) for first in (0, 100))
    with cluster_of(workers) as cluster, distributed.Client(cluster) as client:
        found = fit(PCA(5), [dask.delayed(make)(number) for number in range(count)], client)
    assert found.n_samples_seen_ == X.shape[0]
    best = ERM(5, center=True).fit(fresh).score(fresh)
    batch, single, ours = (
        best - model.score(fresh) for model in (ERM(5, center=True).fit(X), PCA(5).fit(X), found)
    )
    print(f"excess: one pass {single / batch:.4f}, {workers} workers {ours / batch:.4f}")
    assert ours <= 1.1 * single


def _stacked(make, numbers):
    """Return the rows of several shards."""
    parts = [make(number) for number in numbers]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def slow(number):
    """Return a shard after a while."""
    time.sleep(0.15)
    return made_rows(1000, seed=number)


def test_thirty_workers_killed_at_random_moments():
    parts = [dask.delayed(slow)(number) for number in range(40)]
    expected = fit(PCA(3), parts)
    killed = 0
    while killed < 30:
        # A nanny whose worker dies again and again gives up, so every run has a new cluster.
        with dask.config.set({"distributed.scheduler.allowed-failures": 1000}):
            cluster = cluster_of(3)
        with cluster, distributed.Client(cluster) as client, Killer(cluster, killed) as killer:
            found = fit(PCA(3), parts, client)
        assert same_bits(found, expected)
        assert killer.kills > 0
        killed += killer.kills


def peak_memory():
    """Return the most megabytes that this process has had since it was started."""
    with open("/proc/self/status") as file:
        return int(file.read().partition("VmHWM:")[2].split()[0]) / 1024


def wide(number):
    """Return 500 rows of 2,000 columns, 8 MB, whose model has as much."""
    return np.random.default_rng(number).normal(size=(500, 2000))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_the_memory_of_a_worker_is_flat_in_the_number_of_shards():
    with cluster_of(1) as cluster, distributed.Client(cluster) as client:
        peaks = []
        for count in (30, 150):
            fit(PCA(20), [dask.delayed(wide)(number) for number in range(count)], client)
            peaks.extend(client.run(peak_memory).values())
    print(f"MB at most: {peaks}")
    assert peaks[1] - peaks[0] < 60  # 120 more shards would be 960, and so would their models


class Killer:
    """Kills a worker of a cluster now and then, as long as another one is there."""

    def __init__(self, cluster, seed):
        self.cluster, self.chance = cluster, random.Random(seed)
        self.kills, self.stop = 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self.thread.join()

    def run(self):
        while not self.stop.wait(0.3 + self.chance.random()):
            there = {worker.name for worker in self.cluster.scheduler.workers.values()}
            pids = [n.pid for name, n in self.cluster.workers.items() if name in there and n.pid]
            if len(pids) > 1:
                os.kill(self.chance.choice(pids), signal.SIGKILL)
                self.kills += 1
