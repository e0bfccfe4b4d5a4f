"""Work that can never be done raises an error instead of waiting."""

import threading

import pytest

from onepass import PCA
from onepass.distributed import executor, fit
from tests.distributed.models import made_rows

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

SHARDS = [dask.delayed(made_rows(50, seed=number)) for number in range(3)]


def broken_client():
    """Return the client that stays the default one after its address was wrong."""
    with pytest.raises(ValueError, match="unknown address scheme"):
        distributed.Client("nonsense://x")
    return distributed.default_client()


def test_a_default_client_without_a_scheduler():
    client = broken_client()
    try:
        with pytest.raises(ConnectionError, match="is connecting: give a client"):
            fit(PCA(2), SHARDS)
    finally:
        client.close()
    assert fit(PCA(2), SHARDS).n_samples_seen_ == 150


def test_a_client_that_is_closed(client):
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(ConnectionError, match="is closed: give a client"):
        fit(PCA(2), SHARDS, other)


@pytest.mark.parametrize("progress", [None, [].append])
def test_tasks_that_the_scheduler_has_forgotten(monkeypatch, progress):
    monkeypatch.setattr(executor, "LOOK_EVERY", 0.05)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        scheduler = cluster.scheduler

        def forget():
            scheduler.client_releases_keys(list(scheduler.tasks), client.id, "a test")

        timer = threading.Timer(0.5, cluster.loop.add_callback, [forget])
        timer.start()
        with pytest.raises(ConnectionError, match="no longer knows the tasks"):
            fit(PCA(2), SHARDS, client, progress=progress)
        timer.join()
