"""``onepass fit --workers`` and ``--dask``."""

import gc
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


def test_the_command_gives_the_model_of_all_files(words, tmp_path, expected):
    onepass(*words)
    model = load(tmp_path / "m.onepass")
    assert same_bits(model, expected)
    X = np.concatenate([rows(60, seed=seed) for seed in range(5)])
    assert model.n_samples_seen_ == len(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    variances = np.linalg.eigvalsh(np.cov(X.T))[::-1][:2]
    np.testing.assert_allclose(model.explained_variance_, variances)
    assert not (tmp_path / "m.onepass.checkpoint").exists()


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
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()
    left = [o for o in gc.get_objects() if isinstance(o, distributed.Client)]
    assert {c.status for c in left} <= {"running", "closed"}  # none is left to be closed
    piped = onepass("fit", "-", "-k", 2, "--dask", address, code=2, given="1,2\n3,4\n").stderr
    assert "standard input" in piped


def test_what_is_done_is_safe_when_a_file_is_bad(words, tmp_path, expected):
    path, output = tmp_path / "part-3.npy", tmp_path / "m.onepass"
    good, stat = path.read_bytes(), path.stat()
    bad = rows(60)
    bad[7, 2] = np.inf
    np.save(path, bad)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    message = onepass(*words, "--checkpoint-every", 0, code=2).stderr
    assert f"shard 3 ({path}): {path}, row 8, column [2]" in message
    saved = load(f"{output}.checkpoint").n_samples_seen_ if "rows are safe" in message else 0
    path.write_bytes(good)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    again = onepass(*words, "--resume", code=2 if saved else 0).stderr
    assert ("part-3.npy has another content" if saved else "there is no") in again
    (tmp_path / "m.onepass.checkpoint").unlink(missing_ok=True)
    onepass(*words)
    assert same_bits(load(output), expected)


class StopsAt:
    """Sends a signal when so many shards are done."""

    def __init__(self, shards, number=signal.SIGINT):
        self.left, self.number = shards, number

    def __call__(self, rows):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_checkpoint_and_the_command_that_goes_on(
    words, tmp_path, monkeypatch, number, expected
):
    output, checkpoint = tmp_path / "m.onepass", tmp_path / "m.onepass.checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "advance", StopsAt(2, number))
        said = onepass(*words, "--checkpoint-every", 0, code=128 + number).stderr.splitlines()
    saved = load(checkpoint).n_samples_seen_
    assert 120 <= saved <= 300
    assert said[-2] == f"onepass: stopped; {saved} rows are saved. To continue:"
    program, *again = shlex.split(said[-1])
    assert program == "onepass"
    elsewhere = [tmp_path / "other.onepass" if word == output else word for word in words]
    replaced = onepass(*elsewhere, "--checkpoint-every", 0).stderr
    assert "checkpoint" not in replaced
    alone = onepass(*words[:-2], "--resume", code=2).stderr
    assert "it was on shards (--dask or --workers) and is in one process" in alone
    three = [3 if word == 2 else word for word in words]
    other = onepass(*three, "--resume", code=2).stderr
    assert "is of another run: n_components was 2 and is 3" in other
    assert f"continuing after {saved} rows" in onepass(*again).stderr
    assert same_bits(load(output), expected)
    assert not checkpoint.exists()


def test_an_old_checkpoint_is_replaced_only_with_a_warning(words, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "advance", StopsAt(2))
        onepass(*words, "--checkpoint-every", 0, code=130)
        patch.setattr(Progress, "advance", StopsAt(1))
        early = onepass(*words, "--checkpoint-every", 100, code=130).stderr
    assert "--resume would have continued it" in early
    assert "stopped" in early
    assert (tmp_path / "m.onepass.checkpoint").exists()


# Ctrl-C at a terminal reaches the whole group of processes.
@pytest.mark.skipif(os.name == "nt", reason="there are no groups of processes")
@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_an_interrupt_is_not_lost(tmp_path, seconds):
    np.savetxt(tmp_path / "long.csv", rows(200_000), delimiter=",")
    words = ["fit", tmp_path / "long.csv", "-k", 2, "-o", tmp_path / "m", "--workers", 2]
    script = (
        "import os, signal, sys, threading\n"
        "from onepass.cli import main\n"
        f"threading.Timer({seconds}, os.killpg, [0, signal.SIGINT]).start()\n"
        "main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, start_new_session=True
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr in ("onepass: stopped\n", "onepass: stopped, and nothing is saved\n")
    assert not (tmp_path / "m").exists()


def test_workers_end_with_a_command_that_was_killed(tmp_path):
    np.savetxt(tmp_path / "long.csv", rows(200_000), delimiter=",")
    words = ["fit", tmp_path / "long.csv", "-k", 2, "-o", tmp_path / "m", "--workers", 2]
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
    command = [sys.executable, "-c", script, *map(str, words)]
    # The pipe of the output ends when all processes that have it have ended.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL
