"""Runs in processes of their own: killed ones, and what is shown at a terminal."""

import contextlib
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time

import anndata
import numpy as np
import pyarrow.parquet
import pytest

from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.sources.files.written import WRITERS, arrow_table, csv_text

# Prints a line before it begins, so that signals come after the imports.
START = """
import sys
import onepass.cli.fit, onepass.progress, onepass.algorithms.capped_msg
from onepass.cli import main
print("ready", flush=True)
main(sys.argv[1:])
"""


def start(*words, **streams):
    """Start a command in a process of its own; return when its imports are done."""
    command = [sys.executable, "-c", START, *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, **streams)
    assert process.stdout.readline() == b"ready\n"
    return process


# Runs commands, each in a forked process that has everything imported. Prints the number of the
# process, and its exit status.
FORK = """
import os, sys
import onepass.cli.fit, onepass.progress, onepass.algorithms.capped_msg
import onepass.sources.arrays, onepass.sources.arrow, onepass.sources.csv
import onepass.cli.models, onepass.cli.rows, onepass.report.charts
from onepass.cli import main
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        said = os.open("said", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(said, 1)
        os.dup2(said, 2)
        code = 1
        try:
            main(line.rstrip("\\n").split("\\t"))
        except SystemExit as end:
            code = end.code or 0
        finally:
            os._exit(code)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Forks:
    """Commands that are run in a folder, one after the other."""

    def __init__(self, folder):
        self._folder = folder
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, "-c", FORK]
        self._process = subprocess.Popen(command, cwd=folder, text=True, **streams)

    def run(self, words, killed_after=None, by=signal.SIGKILL):
        """Return whether a command ended by itself, and what it said; kill it after so long."""
        print(*words, sep="\t", file=self._process.stdin, flush=True)
        child = int(self._process.stdout.readline())
        if killed_after is not None:
            time.sleep(killed_after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, by)
        code = os.waitstatus_to_exitcode(int(self._process.stdout.readline()))
        said = (self._folder / "said").read_text()
        assert code in (0, -by, 128 + by), said
        return code == 0, said

    def close(self):
        self._process.stdin.close()
        assert self._process.wait(timeout=60) == 0
        self._process.stdout.close()


def write_text(line_break):
    def write(path, X):
        names = [f"c{j}" for j in range(X.shape[1])]
        path.write_bytes(csv_text(X, names).replace("\n", line_break).encode())

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
    forks = Forks(tmp_path)
    assert forks.run([*base, tmp_path / "whole"])[0]  # reads the files from disk
    begin = time.monotonic()
    assert forks.run([*base, tmp_path / "whole"])[0]
    whole, length = (tmp_path / "whole").read_bytes(), time.monotonic() - begin
    output = tmp_path / "m.onepass"
    moments, done, resumed = random.Random(0), 0, 0
    # On a busy machine it may be that none of a few runs came as far as a checkpoint.
    while done < kills or (resumed <= kills // 20 and done < 10 * kills):
        ended, said = forks.run([*base, output], moments.uniform(0.0, length))
        done += not ended
        resumed += "continuing after" in said
        if ended:
            assert output.read_bytes() == whole
            output.unlink()
    assert forks.run([*base, output])[0]
    forks.close()
    assert output.read_bytes() == whole
    assert sorted(os.listdir(tmp_path)) == sorted([name, "m.onepass", "said", "whole"])
    assert resumed > kills // 20


# What is written, and the words of the command; g.csv has gaps, m1 and m2 are models.
INTERRUPTED = {
    "fit": ("m", ["fit", "g.csv", "-k", "3", "--checkpoint-every", "0", "--resume", "-o", "m"]),
    "fit --report": ("page.html", ["fit", "a.npy", "-k", "3", "-o", "r", "--report", "page.html"]),
    "report": ("page.html", ["report", "m1", "-o", "page.html"]),
    "merge": ("m", ["merge", "m1", "m2", "-o", "m"]),
    "impute": ("whole.csv", ["impute", "m1", "g.csv", "-o", "whole.csv"]),
    "transform": ("out.h5ad", ["transform", "m1", "g.csv", "-o", "out.h5ad"]),
}


@pytest.mark.parametrize("command", INTERRUPTED)
def test_what_a_killed_command_has_left_is_removed(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", rows())
    write_text("\n")(tmp_path / "g.csv", rows())
    for name in ("m1", "m2"):
        run("fit", "g.csv", "-k", 3, "-o", name)
    output, words = INTERRUPTED[command]
    (tmp_path / f".{output}.0123456789ab.tmp").touch()
    run(*words)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("command", INTERRUPTED)
def test_interrupted_commands_end_like_undisturbed_ones(tmp_path, command):
    X = rows(4000, 12)
    np.save(tmp_path / "a.npy", X)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    write_text("\n")(tmp_path / "g.csv", X)
    output, words = INTERRUPTED[command]
    forks = Forks(tmp_path)
    for name, part in (("m1", "g.csv"), ("m2", "g.csv")):
        assert forks.run(["fit", part, "-k", "3", "-o", name])[0]
    assert forks.run(words)[0]  # imports what is missing
    begin = time.monotonic()
    assert forks.run(words)[0]
    length = time.monotonic() - begin
    whole = read_output(tmp_path / output)
    moments, interrupted = random.Random(command), 0
    while interrupted < 50:
        by = moments.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
        (tmp_path / output).write_bytes(b"old")
        ended, _ = forks.run(words, moments.uniform(0.0, length), by)
        interrupted += not ended
        left = (tmp_path / output).read_bytes()
        assert left == b"old" or read_output(tmp_path / output) == whole
        unfinished = [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
        assert not unfinished or by == signal.SIGKILL
        for name in unfinished:
            (tmp_path / name).unlink()
    assert forks.run(words)[0]
    forks.close()
    assert read_output(tmp_path / output) == whole


def read_output(path):
    """Return what is in a file; of a page, without how long the fit took."""
    if path.suffix == ".h5ad":
        return anndata.read_h5ad(path).obsm["X_pca"].tobytes()
    return re.sub(rb"[\d.]+ s\b", b"", path.read_bytes())


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
    assert start(*words, stderr=subprocess.PIPE).communicate(timeout=120)[1] == b""
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
    assert b"3 components of 40 columns from 20,000 rows" in process.communicate(timeout=120)[0]
    for part in (rows_shown, b"rows/s", b"% captured", b"left"):
        assert part in shown
