"""Against a scheduler and two workers that run as programs of their own."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import onepass
from onepass import PCA, CappedMSG
from onepass.distributed import fit
from tests.distributed.models import made_rows, same_bits

distributed = pytest.importorskip("distributed")

ESTIMATORS = [PCA(3), CappedMSG(3, random_state=0)]


def dask(*words):
    """Start a program of Dask, without its output."""
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Yield the address of a scheduler with two workers: three processes, none of them this one."""
    contact = tmp_path_factory.mktemp("dask") / "scheduler.json"
    to_scheduler = ["--scheduler-file", str(contact)]
    local = ["--host", "127.0.0.1"]
    programs = [dask("scheduler", "--port", "0", "--no-dashboard", *local, *to_scheduler)]
    try:
        deadline = time.monotonic() + 120
        while not contact.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        for _ in range(2):
            options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", *local]
            programs.append(dask("worker", *options, *to_scheduler))
        yield json.loads(contact.read_text())["address"]
    finally:
        for program in programs:  # without nannies these have no processes of their own
            program.kill()
            program.wait()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return four files of rows, and the rows."""
    folder = tmp_path_factory.mktemp("rows")
    rows = made_rows(4000, 12, seed=0)
    for number, part in enumerate(np.array_split(rows, 4)):
        np.save(folder / f"{number}.npy", part)
    return folder, rows


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_same_bits_as_in_one_process(address, files, estimator):
    paths = sorted(map(str, files[0].glob("*.npy")))
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
        where = set(client.run(os.getpid).values())
        found = fit(estimator, paths, client)
    assert len(where) == 2
    assert os.getpid() not in where
    assert same_bits(found, fit(estimator, paths))
    assert found.n_samples_seen_ == 4000


def test_the_command_line(address, files):
    folder, rows = files
    model = folder / "model.onepass"
    words = ["fit", str(folder / "*.npy"), "-k", "3", "-o", str(model), "--dask", address]
    program = [sys.executable, "-c", "from onepass.cli.program import run; run()"]
    done = subprocess.run(program + words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    expected = PCA(3).fit(rows).components_
    found = onepass.load(model).components_
    assert np.abs(np.sum(found * expected, axis=1)) == pytest.approx(1.0, abs=1e-9)
