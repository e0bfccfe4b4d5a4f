"""``onepass info``, ``report`` and ``merge``, and the help."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onepass
from onepass.cli import main
from onepass.cli.options import ALGORITHMS, make_estimator
from tests.cli.commands import onepass as run
from tests.cli.commands import rows

COMMANDS = ["fit", "impute", "info", "merge", "report", "score", "transform"]


def test_what_there_is():
    assert sorted(main.commands) == COMMANDS
    assert onepass.__version__ in run("--version").stdout


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_teaches_with_examples_on_eighty_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*[command] * (command is not None), "--help").stdout
    assert f"onepass {command or 'fit'} " in text
    assert max(map(len, text.splitlines())) <= 80


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
    assert found["components"] == model.components_.tolist()
    assert found["mean"] == model.mean_.tolist()
    assert found["missing_share"] == [0.0] * 6
    assert found["learns"] is True
    if hasattr(model, "var_"):
        spectrum = np.linalg.eigvalsh(np.cov(rows().T))[::-1]
        assert found["known_variances"] == pytest.approx(spectrum)
    text = run("info", path).stdout
    assert algorithm in text
    assert "300" in text


def test_loadings(tmp_path):
    table = rows(d=3)
    model = onepass.PCA(2).fit(table)
    model.save(tmp_path / "m")
    run("info", tmp_path / "m", "--loadings", tmp_path / "l.csv")
    found = [line.split(",") for line in (tmp_path / "l.csv").read_text().splitlines()]
    assert found[0] == ["column", "pca0", "pca1"]
    assert [line[0] for line in found[1:]] == ["0", "1", "2"]
    weights = np.array([line[1:] for line in found[1:]], float)
    assert np.array_equal(weights, model.components_.T)


def test_the_paper_is_cited():
    said = run("info", "--cite").stdout
    assert "10.48550/arXiv.1307.1674" in said
    entry = said[said.index("@inproceedings{") :].strip()
    root = Path(__file__).parents[2]
    for page in ("README.md", "docs/the-paper.md"):
        assert f"```bibtex\n{entry}\n```" in (root / page).read_text("utf-8")
    assert "MODEL" in run("info", code=2).stderr


def test_report(tmp_path):
    onepass.PCA(2).fit(rows()).save(tmp_path / "m.onepass")
    np.save(tmp_path / "a.npy", rows())
    assert "m.html" in run("report", tmp_path / "m.onepass").stdout
    run("report", tmp_path / "m.onepass", "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "m.html").read_bytes()
    assert "Ordinary PCA" in (tmp_path / "page.html").read_text()
    for words in (
        ["report", tmp_path / "m.onepass", "-o"],
        ["fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "n", "--report"],
    ):
        assert "page.pdf" in run(*words, tmp_path / "page.pdf", code=2).stderr
    assert not (tmp_path / "n").exists()


def test_merge(tmp_path):
    X = rows()
    for name, part in (("1", X[:100]), ("2", X[100:])):
        onepass.PCA(2).fit(part).save(tmp_path / name)
    paths = [tmp_path / "1", tmp_path / "2"]
    assert "300 rows of 2 models" in run("merge", *paths, "-o", tmp_path / "m").stdout
    merged = onepass.merge(*map(onepass.load, paths))
    np.testing.assert_array_equal(onepass.load(tmp_path / "m").components_, merged.components_)
    result = run("merge", paths[0], paths[0], "-o", tmp_path / "m")
    assert f"warning: {paths[0]} is given more than once" in result.stderr
    (tmp_path / "m").unlink()
    onepass.PCA(2).fit(rows(d=5)).save(tmp_path / "3")
    said = run("merge", *paths, tmp_path / "3", "-o", tmp_path / "m", code=2).stderr
    assert f"{tmp_path / '3'} has 5 features" in said
    assert not (tmp_path / "m").exists()
