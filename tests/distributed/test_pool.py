"""Executors of concurrent.futures, in place of a Dask cluster."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from onepass import PCA, CappedMSG, load, open_source
from onepass.distributed import ShardError, fit
from tests.distributed.models import made_rows, same_bits

X = made_rows(1200)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return six files of rows."""
    folder = tmp_path_factory.mktemp("rows")
    paths = [str(folder / f"{number}.npy") for number in range(6)]
    for path, part in zip(paths, np.array_split(X, 6), strict=True):
        np.save(path, part)
    return paths


@pytest.fixture(scope="module")
def pool():
    # Processes that begin from nothing: a fork would copy the threads of Dask in other tests.
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("estimator", [PCA(3), CappedMSG(3, random_state=0)], ids=repr)
def test_the_same_bits_as_in_one_process(pool, paths, estimator):
    counted = []
    found = fit(estimator, paths, pool, progress=counted.append)
    assert same_bits(found, fit(estimator, paths))
    assert counted == [200] * 6
    source = open_source(paths[0])
    assert same_bits(
        fit(estimator, source, pool, shard_rows=70), fit(estimator, source, shard_rows=70)
    )


def test_errors_and_checkpoints(pool, paths, tmp_path):
    bad = X[:200].copy()
    bad[7, 2] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    given = [*paths[:3], str(tmp_path / "bad.npy"), *paths[4:]]
    with pytest.raises(ShardError, match=r"shard 3 .*bad.npy, row 8, column \[2\]"):
        fit(PCA(3), given, pool, shard_rows=None, checkpoint=tmp_path / "run.onepass")
    assert load(tmp_path / "run.onepass").n_samples_seen_ == 600


def test_collections_of_dask_need_its_client(pool):
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="need Dask's client"):
        fit(PCA(3), da.from_array(X, chunks=(200, 12)), pool)


WITHOUT_DASK = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
from onepass import PCA
from onepass.distributed import fit
print(fit(PCA(3), sys.argv[1:]).n_samples_seen_)
"""


def test_paths_need_no_dask(paths):
    command = [sys.executable, "-c", WITHOUT_DASK, *paths]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1200\n", "")


def test_threads_do(paths):
    with ThreadPoolExecutor(2) as pool:
        assert same_bits(fit(PCA(3), paths, pool), fit(PCA(3), paths))
