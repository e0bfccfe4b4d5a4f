"""Promises about clusters, tested at full size."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from onepass import PCA
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.long


def cluster_of(workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )


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


def peak_memory():
    """Return the most megabytes that this process has had since it was started."""
    with open("/proc/self/status") as file:
        return int(file.read().partition("VmHWM:")[2].split()[0]) / 1024


def wide(number):
    """Return 500 rows of 2,000 columns, 8 MB, whose model has as much."""
    return np.random.default_rng(number).normal(size=(500, 2000))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_memory_is_flat_in_the_number_of_shards():
    with cluster_of(1) as cluster, distributed.Client(cluster) as client:
        peaks = []
        for count in (30, 150):
            fit(PCA(20), [dask.delayed(wide)(number) for number in range(count)], client)
            peaks.append([*client.run(peak_memory).values(), peak_memory()])
    print(f"MB at most, worker and client: {peaks}")
    # 120 more shards would be 960, and so would their models.
    assert peaks[1][0] - peaks[0][0] < 100
    assert peaks[1][1] - peaks[0][1] < 100
