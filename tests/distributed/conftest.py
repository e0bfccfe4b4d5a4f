"""Workers on this machine, started when the first test asks for them."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="session")
def pool():
    # Processes that begin from nothing: a fork would copy the threads of Dask in other tests.
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool
