"""Errors: exit code 2, one line that says where, and outputs as they were."""

import contextlib
import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from onepass import load
from onepass.cli.program import parse_size
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.sources.files.written import write_csv_gz


def damaged_gzip(folder):
    write_csv_gz(folder / "bad.csv.gz", rows(20_000))
    content = bytearray((folder / "bad.csv.gz").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 100] = bytes(100)
    (folder / "bad.csv.gz").write_bytes(content)


def infinite_npy(folder):
    X = rows()
    X[123, 4] = np.inf
    np.save(folder / "bad.npy", X)


BAD = {
    "infinite": (infinite_npy, "bad.npy", [], ["bad.npy, row 124, column [4]", "inf"]),
    "damaged": (damaged_gzip, "bad.csv.gz", [], ["bad.csv.gz, line"]),
    "column": (infinite_npy, "bad.npy", ["--columns", "0,9"], ["bad.npy", "9"]),
    "absent": (lambda f: None, "bad.csv", [], ["bad.csv", "there is no such file"]),
    "too many": (lambda f: np.save(f / "a.npy", rows()), "a.npy", ["-k", "7"], ["7", "6"]),
}


def listing(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


@pytest.mark.parametrize("case", BAD)
def test_bad_data(tmp_path, case):
    write, name, more, said = BAD[case]
    write(tmp_path)
    output = tmp_path / "model.onepass"
    output.write_text("the old model")
    before = listing(tmp_path)
    words = ["fit", tmp_path / name, "--algorithm", "capped-msg", "-o", output, "-k", 1]
    result = run(*words, *more, code=2)
    assert len(result.stderr.splitlines()) == 1
    for part in said:
        assert part in result.stderr
    assert listing(tmp_path) == before


@pytest.mark.parametrize("output", ["no/such/folder/m.onepass", ".", "", "pipe"])
@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_outputs_that_cannot_be(tmp_path, monkeypatch, output):
    """They are refused before the work, which may take hours."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", rows())
    os.mkfifo("pipe")
    before = sorted(os.listdir())
    run("fit", "a.npy", "-k", 1, "-o", output, "--algorithm", "erm", code=2)
    assert sorted(os.listdir()) == before


def test_data_are_not_overwritten(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    before = listing(tmp_path)
    data, model = tmp_path / "a.npy", tmp_path / "m"
    words = ["fit", data, "-k", 1, "--algorithm", "erm"]
    run(*words, "-o", model)
    for more in (
        [*words, "-o", data],
        [*words, "-o", tmp_path / "n", "--report", tmp_path / "n"],
        ["transform", model, data, "-o", data],
        ["transform", model, f"file://{data}", "-o", data],
        ["merge", model, "-o", model],
    ):
        run(*more, code=2)
    model.unlink()
    assert listing(tmp_path) == before


@pytest.mark.parametrize("command", ["info", "score", "transform", "merge"])
def test_what_is_no_model(tmp_path, command):
    np.save(tmp_path / "a.npy", rows())
    words = {
        "info": [],
        "score": [tmp_path / "a.npy"],
        "transform": [tmp_path / "a.npy", "-o", tmp_path / "out.npy"],
        "merge": ["-o", tmp_path / "out"],
    }
    run(command, tmp_path / "a.npy", *words[command], code=2)
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("error", [ImportError, RuntimeError, None])
def test_a_signal_whose_exception_is_lost_decides(tmp_path, monkeypatch, number, error):
    """Extensions raise another one in its place, or drop it."""

    def interrupted(name):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        if error is not None:
            raise error("invalid affine transformation matrix")

    np.save(tmp_path / "a.npy", rows())
    run("fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "m")
    importing = SimpleNamespace(import_module=interrupted)
    monkeypatch.setattr("onepass.extras.importlib", importing)
    assert run("report", tmp_path / "m", code=128 + number).stderr == "onepass: stopped\n"
    assert not (tmp_path / "m.html").exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ImportError("no segment"), 2),
        (ImportError("no segment", path="/lib/core.so"), 1),
        (KeyError("no segment"), 1),
    ],
)
def test_bugs_and_broken_libraries_are_no_mistakes_of_the_user(tmp_path, monkeypatch, error, code):
    def failing(*given, **params):
        raise error

    monkeypatch.setattr("onepass.cli.fit.make_estimator", failing)
    np.save(tmp_path / "a.npy", rows())
    said = run("fit", tmp_path / "a.npy", "-k", 1, code=code, bug=True).stderr
    assert len(said.splitlines()) == 1
    assert "no segment" in said


def test_an_interrupted_report_leaves_a_model(tmp_path, monkeypatch):
    def interrupted(*args, **keywords):
        raise KeyboardInterrupt

    np.save(tmp_path / "a.npy", rows())
    monkeypatch.setattr("onepass.cli.models.model_page", interrupted)
    words = ("-k", 1, "-o", tmp_path / "m", "--report", tmp_path / "r.html")
    said = run("fit", tmp_path / "a.npy", *words, code=130).stderr
    assert f"{tmp_path / 'm'} is complete, {tmp_path / 'r.html'} is missing" in said
    assert load(tmp_path / "m").n_samples_seen_ == 300


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux can limit memory")
def test_too_much_memory_is_one_line(tmp_path):
    path = tmp_path / "endless.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:  # one record of 3 GB
        file.write(b"x,y\n")
        for _ in range(48):
            file.write(b"1" * (1 << 26))
    program = Path(sys.executable).with_name("onepass")
    words = [program, "fit", path, "-k", "1", "--memory", "1GB", "-o", tmp_path / "m"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    assert not (tmp_path / "m").exists()


def test_sizes_of_memory():
    assert parse_size("2GB") == parse_size("2 GiB") == parse_size("2048m") == 2 << 30
    run("fit", "a.csv", "-k", 1, "--memory", "500MB", code=2)
