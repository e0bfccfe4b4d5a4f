"""``onepass fit --workers`` and ``--dask``."""

import gc
import itertools
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

from onepass import PCA, load
from onepass.distributed import fit
from onepass.progress import Progress
from tests.cli.commands import onepass, parts, rows
from tests.distributed.models import same_bits

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def _collected():
    """Collect clients that could not be closed now.

    Dask closes them when they are collected and takes a lock for that, which a client that is
    being started holds: collected then, they would hang.
    """
    yield
    gc.collect()


@pytest.fixture
def words(client, tmp_path):
    """Return the command for five files."""
    output = tmp_path / "m.onepass"
    return ["fit", *parts(tmp_path), "-k", 2, "-o", output, "--dask", client.scheduler.address]


@pytest.fixture
def expected(tmp_path):
    """Return the model of five files."""
    return fit(PCA(2), parts(tmp_path))


def test_workers_need_no_dask(tmp_path, expected):
    script = "import sys; sys.modules['distributed'] = None; from onepass.cli import main; main()"
    words = ["fit", *parts(tmp_path), "-k", 2, "-o", tmp_path / "m.onepass", "--workers", 2]
    command = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert same_bits(load(tmp_path / "m.onepass"), expected)


def test_errors_are_one_line(words, tmp_path):
    *command, _, address = words
    missing = onepass(*command, "--dask", "nonsense://x", code=2).stderr
    assert "there is no scheduler" in missing
    piped = onepass("fit", "-", "-k", 2, "--dask", address, code=2, given="1,2\n3,4\n").stderr
    assert "standard input" in piped


def test_a_signal_leaves_a_checkpoint_and_the_command_that_goes_on(
    words, tmp_path, monkeypatch, expected
):
    output, checkpoint = tmp_path / "m.onepass", tmp_path / "m.onepass.checkpoint"
    with monkeypatch.context() as patch:
        done = itertools.count(1)
        stop = lambda self, rows: next(done) == 2 and os.kill(os.getpid(), signal.SIGTERM)  # noqa: E731
        patch.setattr(Progress, "advance", stop)
        stopped = onepass(*words, "--checkpoint-every", 0, code=128 + signal.SIGTERM)
        said = stopped.stderr.splitlines()
    saved = load(checkpoint).n_samples_seen_
    assert 120 <= saved <= 300
    assert said[-2] == f"onepass: stopped; {saved} rows are saved. To continue:"
    program, *again = shlex.split(said[-1])
    assert program == "onepass"
    alone = onepass(*words[:-2], "--resume", code=2).stderr
    assert "it was on shards (--dask or --workers) and is in one process" in alone
    assert f"continuing after {saved} rows" in onepass(*again).stderr
    assert same_bits(load(output), expected)
    assert not checkpoint.exists()


@pytest.fixture
def long_words(tmp_path):
    """Return the command for two workers and a file that takes some seconds."""
    np.savetxt(tmp_path / "long.csv", rows(200_000), delimiter=",")
    words = ["fit", tmp_path / "long.csv", "-k", 2, "-o", tmp_path / "m", "--workers", 2]
    return list(map(str, words))


# Ctrl-C at a terminal reaches the whole group of processes.
@pytest.mark.skipif(os.name == "nt", reason="there are no groups of processes")
def test_an_interrupt_is_not_lost(tmp_path, long_words):
    script = (
        "import os, signal, sys, threading\n"
        "from onepass.cli import main\n"
        "threading.Timer(3.0, os.killpg, [0, signal.SIGINT]).start()\n"
        "main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, *long_words]
    streams = {"capture_output": True, "text": True, "start_new_session": True}
    done = subprocess.run(command, timeout=600, **streams)
    assert done.returncode == 130, done.stderr
    assert done.stderr in ("onepass: stopped\n", "onepass: stopped, and nothing is saved\n")
    assert not (tmp_path / "m").exists()


def test_workers_end_with_a_command_that_was_killed(long_words):
    script = (
        "import multiprocessing, os, signal, sys, threading, time\n"
        "from onepass.cli import main\n"
        "def kill():\n"
        "    while len(multiprocessing.active_children()) < 2: time.sleep(0.01)\n"
        "    time.sleep(1)\n"
        "    print(*(child.pid for child in multiprocessing.active_children()), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=kill).start()\n"
        "main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, *long_words]
    # The pipe of the output ends when all processes that have it have ended.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL
