"""Errors: exit code 2, one line that says where, and outputs as they were."""

import contextlib
import os
import re
import signal
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet
import pytest

from onepass import load
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.sources.files.written import arrow_table, csv_text, write_csv_gz


def bad_csv(old, new):
    def write(folder):
        X = rows(9, 3)
        X[6, 1] = 77.0
        text = csv_text(X, ["a", "b", "c"])
        assert old in text
        (folder / "bad.csv").write_text(text.replace(old, new))

    return write


def truncated_parquet(folder):
    pyarrow.parquet.write_table(arrow_table(rows(500)), folder / "bad.parquet")
    os.truncate(folder / "bad.parquet", os.path.getsize(folder / "bad.parquet") // 2)


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
    "infinity": (bad_csv("77.0", "-inf"), "bad.csv", [], ["bad.csv, line 8, column 'b'"]),
    "too large": (bad_csv("77.0", "1e999"), "bad.csv", [], ["bad.csv, line 8, column 'b'"]),
    "text": (bad_csv("77.0", "many"), "bad.csv", [], ["column 'b'", "('many' in line 8)"]),
    "ragged": (bad_csv("77.0", "77,0"), "bad.csv", [], ["bad.csv, line 8", "4 values, not 3"]),
    "column": (bad_csv("77.0", "7"), "bad.csv", ["--columns", "a,z"], ["'z'", "'a', 'b', 'c'"]),
    "infinite": (infinite_npy, "bad.npy", [], ["bad.npy, row 124, column [4]", "inf"]),
    "truncated": (truncated_parquet, "bad.parquet", [], ["bad.parquet", "not a sound parquet"]),
    "damaged": (damaged_gzip, "bad.csv.gz", [], ["bad.csv.gz, line"]),
    "empty": (lambda f: (f / "bad.csv").write_text(""), "bad.csv", [], ["bad.csv", "empty"]),
    "absent": (lambda f: None, "bad.csv", [], ["bad.csv", "there is no such file"]),
    "format": (lambda f: (f / "bad.doc").write_text("?"), "bad.doc", [], ["bad.doc", ".parquet"]),
    "too many": (bad_csv("77.0", "7"), "bad.csv", ["-k", "4"], ["-k 4", "3 columns"]),
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
    more = more if "-k" in more else ["-k", 1, *more]
    words = ["fit", tmp_path / name, "--algorithm", "capped-msg", "-o", output]
    result = run(*words, *more, code=2)
    assert not [line for line in result.stdout.splitlines() if not line.startswith("reading ")]
    assert len(result.stderr.splitlines()) == 1
    for part in said:
        assert part in result.stderr
    assert listing(tmp_path) == before


@pytest.mark.parametrize("k", ["0", "-1", "1.5", "0.0", "eight", "nan", "inf", "1.0", "2.0", "1e1"])
def test_impossible_numbers_of_components(tmp_path, k):
    """As in Python, a number with a point is a share of the variance, and 1.0 is no such share."""
    assert "neither a whole number" in run("fit", "a.npy", "-k", k, code=2).stderr


def test_no_header_where_there_is_one_suggests_header(tmp_path):
    bad_csv("77.0", "7")(tmp_path)
    said = run("fit", tmp_path / "bad.csv", "-k", 1, "--no-header", code=2).stderr
    assert "contains text ('a' in line 1)" in said
    assert "--header" in said.replace("--no-header", "")


def test_text_below_the_first_row_does_not_suggest_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,many\n4,5\n")
    said = run("fit", tmp_path / "a.csv", "-k", 1, "--no-header", code=2).stderr
    assert "contains text ('many' in line 2)" in said
    assert "--header" not in said


def test_a_quantile_needs_a_file_of_rows(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    run("fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "m")
    words = ["score", tmp_path / "m", tmp_path / "a.npy", "--quantile", 0.9]
    assert "--quantile works with --rows only" in run(*words, code=2).stderr
    assert "error than 90% of" in run(*words, "--rows", tmp_path / "r.csv").stdout


@pytest.mark.parametrize("output", ["no/such/folder/m.onepass", "."])
def test_outputs_that_cannot_be(tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", rows())
    run("fit", "a.npy", "-k", 1, "-o", output, "--algorithm", "erm", code=2)
    assert os.listdir(tmp_path) == ["a.npy"]


def test_data_are_not_overwritten(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    before = listing(tmp_path)
    data = tmp_path / "a.npy"
    words = ["fit", data, "-k", 1, "--algorithm", "erm"]
    assert "must not be overwritten" in run(*words, "-o", data, code=2).stderr
    assert "must not be overwritten" in run(*words, "--report", data, code=2).stderr
    said = run(*words, "-o", tmp_path / "m", "--report", tmp_path / "m", code=2).stderr
    assert "m is an input or another output: it must not be overwritten" in said
    run(*words, "-o", tmp_path / "m")
    words = ["transform", tmp_path / "m", data, "-o"]
    assert "must not be overwritten" in run(*words, data, code=2).stderr
    (tmp_path / "m").unlink()
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
    result = run(command, tmp_path / "a.npy", *words[command], code=2)
    assert "a.npy: not a sound model file" in result.stderr
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("error", [ImportError, ValueError, RuntimeError, None])
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


@pytest.mark.parametrize(("path", "code"), [(None, 2), ("/lib/core.so", 1)])
def test_an_extension_that_cannot_be_loaded_is_no_mistake(tmp_path, monkeypatch, path, code):
    def failing(*given, **params):
        raise ImportError("failed to map segment from shared object", path=path)

    monkeypatch.setattr("onepass.cli.options.make_estimator", failing)
    np.save(tmp_path / "a.npy", rows())
    said = run("fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "m", code=code).stderr
    assert said == "onepass: failed to map segment from shared object\n"


def test_an_interrupt_before_a_command_begins_stops(monkeypatch):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("onepass.cli.errors.GuardedGroup.parse_args", interrupted)
    assert run("info", "m", code=130).stderr.strip() == "onepass: stopped"


def test_the_report_does_not_overwrite_the_checkpoint(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    words = ("fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "m")
    said = run(*words, "--report", tmp_path / "m.checkpoint", code=2).stderr
    assert "m.checkpoint is an input or another output: it must not be overwritten" in said


def test_an_option_that_is_given_twice_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    words = ("fit", tmp_path / "a.npy", "-o", tmp_path / "m")
    for twice, message in (
        (("-k", 1, "--components", 2), "-k is given twice; give it once: -k NUMBER"),
        (("-k", 1, "--comment=#", "--comment", "%"), "--comment is given twice; give it once: "),
        (("-k", 1, "--columns", 0, "--columns", 1), "give it once: --columns A,B,.."),
        (("-k", 1, "--center", "--no-center"), "--center is given twice; give it once"),
    ):
        assert message in run(*words, *twice, code=2).stderr
    run(*words, "-k", 1, "--na", "-1", "--na", "-2", "-q", "-q")


def test_a_file_that_is_given_twice_is_warned_of(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    words = ("-k", 1, "-o", tmp_path / "m")
    result = run("fit", tmp_path / "a.npy", tmp_path / "*.npy", *words)
    assert f"warning: {tmp_path / 'a.npy'} is given more than once" in result.stderr
    assert "from 600 rows" in result.stdout
    assert "more than once" not in run("fit", tmp_path / "a.npy", *words).stderr


def test_quiet_commands_warn_of_what_makes_numbers_wrong(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,y\n1,2,3.5\n2,-999,4.5\n3,4,-999\n4,-999,-999\nTotal,6,8\n")
    result = run("fit", path, "-k", 1, "--exclude", "id", "-o", tmp_path / "m", "-q")
    assert f"onepass: warning: {path}, line 6: 'Total'; it is at the end" in result.stderr
    assert f"onepass: warning: {path}: -999 recurs in 'x', 'y'" in result.stderr
    result = run("score", tmp_path / "m", path, "-q")
    assert result.stderr.count("warning: ") == 2


def test_an_interrupted_report_leaves_a_model(tmp_path, monkeypatch):
    def interrupted(*args, **keywords):
        raise KeyboardInterrupt

    np.save(tmp_path / "a.npy", rows())
    monkeypatch.setattr("onepass.cli.data.model_page", interrupted)
    words = ("-k", 1, "-o", tmp_path / "m", "--report", tmp_path / "r.html")
    said = run("fit", tmp_path / "a.npy", *words, code=130).stderr
    assert f"{tmp_path / 'm'} is complete, {tmp_path / 'r.html'} is missing" in said
    assert load(tmp_path / "m").n_samples_seen_ == 300


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("command", ["info", "transform"])
def test_a_pipe_or_a_device_is_no_model(tmp_path, command):
    """They were waited for without a word."""
    os.mkfifo(tmp_path / "pipe.onepass")
    (tmp_path / "device.onepass").symlink_to("/dev/zero")
    np.save(tmp_path / "a.npy", rows())
    more = [] if command == "info" else [tmp_path / "a.npy", "-o", tmp_path / "out.npy"]
    for name in ("pipe", "device"):
        said = run(command, tmp_path / f"{name}.onepass", *more, code=2).stderr
        assert re.search(rf"{name}\.onepass.* a pipe or a device", said.replace("\n", " "))


@pytest.mark.skipif(os.name == "nt", reason="a folder in use cannot be removed")
def test_a_current_folder_that_was_removed(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", rows())
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    said = run("fit", tmp_path / "a.npy", "-k", 1, "-o", "m", code=2).stderr
    assert said.endswith("onepass: the current folder no longer exists\n")
