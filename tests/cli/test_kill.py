"""Runs that are killed, and what somebody at a terminal sees: in processes of their own."""

import os
import pty
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet
import pytest

import onepass
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.sources.files.written import WRITERS, arrow_table

# Says when it is about to begin, so that no time is lost on killing what only imports modules.
START = """
import sys
import onepass.cli.fitting, onepass.progress, onepass.estimators.algorithms
from onepass.cli import main
print("ready", flush=True)
main(sys.argv[1:])
"""


def start(*words, **streams):
    """Begin a command in a process of its own; return when it is at work."""
    command = [sys.executable, "-c", START, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, **streams)
    assert process.stdout.readline() == b"ready\n"
    return process


def finish(process, code=0):
    """Return what a process says on standard output and standard error."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return out.decode(), (err or b"").decode()


def write_text(line_break):
    def write(path, X):
        lines = [",".join(f"c{j}" for j in range(X.shape[1]))]
        lines += [",".join(map(repr, row)) for row in X.tolist()]
        path.write_bytes((line_break.join(lines) + line_break).encode())

    return write


KILLED = {
    "a.npy": np.save,
    "lf.csv": write_text("\n"),
    "crlf.csv": write_text("\r\n"),
    "cr.csv": write_text("\r"),
    "a.csv.gz": WRITERS["a.csv.gz"],
    "a.parquet": lambda path, X: pyarrow.parquet.write_table(arrow_table(X), path),
    "a.svmlight": WRITERS["a.svmlight"],
}


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("name", "kills"),
    [("cr.csv", 3), *(pytest.param(name, 30, marks=pytest.mark.long) for name in KILLED)],
)
def test_killed_runs_end_like_an_undisturbed_one(tmp_path, name, kills):
    # Some ten blocks, and a checkpoint after each.
    KILLED[name](tmp_path / name, rows(15_000, 40))
    base = ["fit", tmp_path / name, "-k", 3, "--algorithm", "capped-msg"]
    base += ["--checkpoint-every", 0, "--resume", "-o"]
    run(*base, tmp_path / "whole")  # compiles, where that is to be done
    process = start(*base, tmp_path / "whole", stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    finish(process)
    whole, length = (tmp_path / "whole").read_bytes(), time.monotonic() - begin
    output = tmp_path / "m.onepass"
    moments, done, resumed = random.Random(0), 0, 0
    # Of few runs, on a machine that does other things as well, it may be that none got far enough.
    while done < kills or (resumed <= kills // 20 and done < 10 * kills):
        process = start(*base, output, stderr=subprocess.PIPE)
        time.sleep(moments.uniform(0.0, length))
        process.kill()
        _, said = process.communicate()
        done += process.returncode != 0
        resumed += b"going on after" in said
        if process.returncode == 0:
            assert output.read_bytes() == whole
            output.unlink()
    finish(start(*base, output, stderr=subprocess.DEVNULL))
    assert output.read_bytes() == whole
    assert sorted(os.listdir(tmp_path)) == sorted([name, "m.onepass", "whole"])
    assert resumed > kills // 20


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT")
@pytest.mark.parametrize("lines", [0, 10, 200_000])
def test_a_pipe_that_falls_silent_can_be_left(tmp_path, lines):
    words = ["fit", "-", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    process = start(*words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"a,b\n" + b"1,2\n3,5\n" * lines)
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    assert process.stderr.read() == b"onepass: stopped\n"
    assert process.returncode == 130
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.skipif(os.name == "nt", reason="there is no pseudo-terminal")
@pytest.mark.parametrize(("width", "rows_shown"), [(120, b"of 20,000 rows"), (60, b".0%")])
def test_progress_on_a_terminal_only(tmp_path, width, rows_shown):
    np.save(tmp_path / "a.npy", rows(20_000, 40))
    words = ["fit", tmp_path / "a.npy", "-k", 3, "--algorithm", "capped-msg", "-o", tmp_path / "m"]
    _, said = finish(start(*words, stderr=subprocess.PIPE))
    assert said == ""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(width)}
    process = start(*words, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:  # the other side is closed
        pass
    finally:
        os.close(ours)
    out, _ = finish(process)
    assert "3 components of 40 columns from 20,000 rows" in out
    for part in (rows_shown, b"rows/s", b"% captured", b"left"):
        assert part in shown
    assert onepass.load(tmp_path / "m").n_samples_seen_ == 20_000
