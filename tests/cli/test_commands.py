"""The other commands, and the help, which must come quickly."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import onepass
from onepass.cli import main
from onepass.cli.options import ALGORITHMS, make_estimator
from tests.cli.commands import SEPARATE, rows
from tests.cli.commands import onepass as run

COMMANDS = [
    *("fit", "impute", "info", "merge", "report", "score", "transform"),
]


def test_what_there_is():
    assert sorted(main.commands) == COMMANDS
    assert onepass.__version__ in run("--version").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_examples(command):
    text = run(command, "--help").stdout
    assert "Examples:" in text
    assert f"onepass {command}" in text


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_a_terminal_of_eighty_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*[command] * (command is not None), "--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_help_imports_next_to_nothing():
    code = (
        "import sys, onepass.cli; "
        "print(sorted({'numpy', 'scipy', 'sklearn', 'rich', 'numba'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_info_of_every_model(tmp_path, algorithm):
    path = tmp_path / "m.onepass"
    model = make_estimator(algorithm, 2).fit(rows())
    model.save(path)
    found = json.loads(run("info", path, "--json").stdout)
    assert found["algorithm"] == algorithm
    assert found["rows"] == 300
    assert found["params"]["n_components"] == 2
    assert found["feature_names"] is None
    assert found["explained_variance_ratio"] == model.explained_variance_ratio_.tolist()
    text = run("info", path).stdout
    assert algorithm in text
    assert re.search(r"\n\n *component ", text)
    assert "300" in text


def test_merge(tmp_path):
    X = rows()
    for name, part in (("1", X[:100]), ("2", X[100:])):
        np.save(tmp_path / f"{name}.npy", part)
        run("fit", tmp_path / f"{name}.npy", "-k", 2, "-o", tmp_path / name)
    paths = [tmp_path / "1", tmp_path / "2"]
    assert "300 rows of 2 models" in run("merge", *paths, "-o", tmp_path / "m").stdout
    merged = onepass.merge(*map(onepass.load, paths))
    np.testing.assert_array_equal(onepass.load(tmp_path / "m").components_, merged.components_)


def test_models_that_do_not_merge(tmp_path):
    for name, d in (("1", 4), ("2", 5)):
        onepass.PCA(2).fit(rows(d=d)).save(tmp_path / name)
    said = run("merge", tmp_path / "1", tmp_path / "2", "-o", tmp_path / "m", code=2).stderr
    assert f"{tmp_path / '2'} has 5 features, the first 4" in said
    assert not (tmp_path / "m").exists()


def test_a_model_that_is_merged_with_itself_is_warned_of(tmp_path):
    onepass.PCA(2).fit(rows()).save(tmp_path / "1")
    result = run("merge", tmp_path / "1", tmp_path / "1", "-o", tmp_path / "m")
    assert f"warning: {tmp_path / '1'} is given more than once" in result.stderr
    assert "2 components from 600 rows of 2 models" in result.stdout


def test_a_merged_model_does_not_overwrite_one_that_it_is_from(tmp_path):
    for name in ("1", "2"):
        onepass.PCA(2).fit(rows()).save(tmp_path / name)
    before = (tmp_path / "1").read_bytes()
    said = run("merge", tmp_path / "1", tmp_path / "2", "-o", tmp_path / "1", code=2).stderr
    assert "it must not be overwritten" in said
    assert (tmp_path / "1").read_bytes() == before


def test_a_bug_is_told_without_a_traceback(tmp_path, monkeypatch):
    def broken(*given, **params):
        raise KeyError("lost")

    monkeypatch.setattr("onepass.cli.options.make_estimator", broken)
    np.save(tmp_path / "a.npy", rows())
    result = CliRunner(**SEPARATE).invoke(main, ["fit", str(tmp_path / "a.npy"), "-k", "1"])
    assert result.exit_code == 1
    assert result.stderr.startswith("onepass: KeyError: 'lost' (a bug")
