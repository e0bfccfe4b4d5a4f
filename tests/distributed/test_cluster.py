"""On a real cluster of processes."""

import os
import pickle
import signal
import time

import numpy as np
import pytest

from onepass import PCA, CappedMSG
from onepass.distributed import ShardError, fit
from onepass.distributed.shards import join, learn
from onepass.pca.learner import exact_columns
from tests.distributed.models import made_rows, same_bits

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

SHARDS = 20


def shard(number, rows=400, d=12):
    """Return the rows of a shard: made where they are used."""
    return made_rows(rows, d, seed=number)


def slow_shard(number, folder):
    """Return a shard after a while, and say that it was begun."""
    with open(os.path.join(folder, str(number)), "a") as file:
        file.write("begun\n")
    time.sleep(0.1)
    return shard(number)


def shards(**kwargs):
    return [dask.delayed(shard)(number, **kwargs) for number in range(SHARDS)]


@pytest.mark.parametrize("estimator", [PCA(3), CappedMSG(3, average=True)], ids=repr)
def test_the_same_bits_as_in_one_process(client, estimator):
    if isinstance(estimator, CappedMSG):
        estimator = estimator.set_params(random_state=0)
    counted = []
    found = fit(estimator, shards(), client, progress=counted.append)
    assert same_bits(found, fit(estimator, shards()))
    assert counted == [400] * SHARDS


def test_a_killed_worker_changes_nothing(client, tmp_path):
    expected = fit(PCA(3), shards())
    before = set(client.scheduler_info()["workers"])
    parts = [dask.delayed(slow_shard)(number, str(tmp_path)) for number in range(SHARDS)]
    pids = list(client.run(os.getpid).values())
    killed: list[int] = []

    def kill(rows):
        if not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    found = fit(PCA(3), parts, client, progress=kill)
    assert same_bits(found, expected)
    assert killed
    client.wait_for_workers(2, timeout=30)
    assert set(client.scheduler_info()["workers"]) != before


def test_errors_reach_the_client_with_shard_and_row(client):
    rows = np.concatenate([shard(number, rows=50) for number in range(SHARDS)])
    rows[17 * 50 + 3, 5] = np.inf
    where = r"shard 17 \(from row 850 of the array\).*inf at row 3, column 5"
    for progress in (None, [].append):
        with pytest.raises(ShardError, match=where):
            fit(PCA(3), da.from_array(rows, chunks=(50, 12)), client, progress=progress)
    with pytest.raises(ShardError, match=r"shard 1 \(/nowhere/1.npy\).*no such file"):
        fit(PCA(3), [dask.delayed(shard)(0), "/nowhere/1.npy"], client)


def test_nothing_is_left_on_the_cluster(client):
    fit(PCA(3), shards(), client, progress=lambda rows: None)
    deadline = time.monotonic() + 10
    while any(client.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.has_what().values())


@pytest.mark.parametrize("d", [300, exact_columns(is_sparse=False) + 100])
@pytest.mark.parametrize("k", [2, 8])
def test_what_a_shard_sends_is_a_few_k_rows(d, k):
    """Sketch, average, iterate, answers, anchors and a sample: a few times k and a constant.

    Up to some number of columns it is the exact second moment instead of a sketch.
    """
    rng = np.random.default_rng(0)
    most = 20 * k + 180 + (2 * d if d <= exact_columns(is_sparse=False) else 0)
    for size in (300, 1500):
        rows = rng.normal(size=(3, size, d))
        parts = [learn(PCA(k), rows[n], f"shard {n}") for n in range(3)]
        for learned in (*parts, join(*parts)):
            assert len(pickle.dumps(learned)) < 8 * d * most + 10_000
