"""Closed streams, terminals that lack characters, odd names: exit codes tell what has happened."""

import os
import subprocess
import sys

import numpy as np
import pytest

import onepass
from onepass import PCA
from tests.cli.commands import onepass as run
from tests.cli.commands import rows

PROGRAM = [sys.executable, "-c", "from onepass.cli.program import run; run()"]
posix = pytest.mark.skipif(os.name != "posix", reason="file descriptors and names of POSIX")


@posix
@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(tmp_path, closed):
    np.save(tmp_path / "a.npy", rows())
    words = [*PROGRAM, "fit", "a.npy", "-k", "2", "-o", "m"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert onepass.load(tmp_path / "m").n_samples_seen_ == 300


# Several commands, in one process as that is faster: "then" stands between them.
SEVERAL = """
import sys
from itertools import groupby
from onepass.cli.program import run
words = sys.argv[1:]
for is_end, command in groupby(words, lambda word: word == "then"):
    if not is_end:
        sys.argv = ["onepass", *command]
        try:
            run()
        except SystemExit as ended:
            assert not ended.code, (command, ended.code)
"""


@posix
def test_names_that_are_no_text(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    name, model, page, out = b"\xff \xe9.npy", b"\xfem.onepass", b"\xfd.html", b"\xfc.csv"
    os.rename(tmp_path / "a.npy", os.fsencode(tmp_path) + b"/" + name)
    commands = [
        ["fit", name, "-k", "2", "-o", model, "--workers", "2"],
        ["fit", name, "-k", "2", "-o", model, "--report", page],
        ["info", model],
        ["score", model, name, "--rows", b"\xfb.parquet"],
        ["transform", model, name, "-o", out],
        ["transform", model, name, "-o", b"\xfa.h5ad"],
    ]
    words = [word for command in commands for word in [*command, "then"]]
    program = [sys.executable, "-c", SEVERAL, *words]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\\udcfe") >= 3  # the model, escaped
    files = os.listdir(os.fsencode(tmp_path))
    assert {name, model, page, out, b"\xfb.parquet", b"\xfa.h5ad"} == set(files)
    assert "udcff" in (tmp_path / os.fsdecode(page)).read_text()
    assert onepass.load(tmp_path / os.fsdecode(model)).n_samples_seen_ == 300


@pytest.mark.parametrize("letter", ["m", "ü"])
def test_long_names_of_models(tmp_path, letter):
    np.save(tmp_path / "a.npy", rows())
    output = tmp_path / (letter * (245 // len(os.fsencode(letter))))
    run("fit", tmp_path / "a.npy", "-k", 2, "-o", output)
    assert onepass.load(output).n_samples_seen_ == 300
    assert sorted(os.listdir(tmp_path)) == sorted(["a.npy", output.name])


def test_orders_to_a_terminal_are_escaped(tmp_path):
    (tmp_path / "a.csv").write_text("\x1b[31mred,b\x07\n" + "9,1\n-8,0\n7,1\n" * 40)
    fitted = run("fit", tmp_path / "a.csv", "-k", 1, "-o", tmp_path / "m")
    shown = run("info", tmp_path / "m")
    missing = run("transform", tmp_path / "m", "-", "-o", tmp_path / "o.csv", code=2,
                  given="c,d\n1,2\n")  # fmt: skip
    for text in (fitted.stdout, fitted.stderr, shown.stdout, missing.stderr):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "\\x1b[31mred" in shown.stdout


@posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("streams", [">", "&>"])
def test_a_reader_who_leaves(tmp_path, streams, unbuffered):
    """As `onepass fit | head` does: the model is what counts."""
    np.save(tmp_path / "a.npy", rows())
    words = [*PROGRAM, "fit", "a.npy", "-k", "2", "-o", "m"]
    # The other end of the pipe is closed before the first word is written.
    shell = ["bash", "-c", f'"$@" {streams} >(true); echo $? > code', "sh", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, timeout=60, env=environment)
    assert (tmp_path / "code").read_text() == "0\n", done.stderr
    assert onepass.load(tmp_path / "m").n_samples_seen_ == 300
    assert b"Broken" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["info", "m"], ["info", "m", "--json"], ["--help"]])
def test_a_full_device_for_output(tmp_path, words, unbuffered):
    PCA(2).fit(rows()).save(tmp_path / "m")
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, *words], cwd=tmp_path, stdout=full, env=environment,
                              stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert done.stderr == "onepass: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(("name", "code"), [("a.npy", 0), ("b.npy", 2)])
def test_a_full_device_for_messages(tmp_path, name, code):
    np.save(tmp_path / "a.npy", rows())
    words = [*PROGRAM, "fit", name, "-k", "2", "-o", "m"]
    with open("/dev/full", "w") as full:
        assert subprocess.run(words, cwd=tmp_path, stderr=full).returncode == code
