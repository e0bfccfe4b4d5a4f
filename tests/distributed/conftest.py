"""A cluster of two processes on this machine, started when the first test asks for it."""

from pathlib import Path

import pytest

WITHOUT_A_CLUSTER = {"test_merging.py", "test_tree.py"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that need a cluster take long, and one of them was once seen waiting for ever."""
    for item in items:
        path = Path(item.path)
        if path.parent == Path(__file__).parent and path.name not in WITHOUT_A_CLUSTER:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client
