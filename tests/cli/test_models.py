"""``onepass info``, ``report`` and ``merge``, and the help."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import onepass
from onepass.cli.commands import ALGORITHMS
from onepass.cli.fit import make_estimator
from tests.cli.commands import onepass as run
from tests.cli.commands import rows

COMMANDS = ["fit", "impute", "info", "merge", "report", "score", "transform"]


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_teaches_with_examples_on_eighty_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*[command] * (command is not None), "--help").stdout
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_info_of_every_model(tmp_path, algorithm):
    path = tmp_path / "m.onepass"
    model = make_estimator(algorithm, 2).fit(rows())
    model.save(path)
    found = json.loads(run("info", path, "--json").stdout)
    assert (found["algorithm"], found["rows"], found["learns"]) == (algorithm, 300, True)
    for name in ("explained_variance_ratio", "components", "mean", "missing_share"):
        assert found[name] == getattr(model, f"{name}_").tolist()
    if hasattr(model, "var_"):
        spectrum = np.linalg.eigvalsh(np.cov(rows().T))[::-1]
        assert found["known_variances"] == pytest.approx(spectrum)
    assert algorithm in run("info", path).stdout


def test_how_sure_every_number_is(tmp_path):
    model = onepass.PCA(3).fit(rows(3000))
    model.save(tmp_path / "m")
    text = run("info", tmp_path / "m").stdout
    margin = model.model_.standard_errors.quantile * model.explained_variance_error_
    low, high = model.explained_variance_ - margin, model.explained_variance_ + margin
    for i in range(3):
        assert f"{low[i]:.4g} to {high[i]:.4g}" in text
        assert f"{model.angle_[i]:.0f} degrees" in text
    assert f"longest 1% of the rows hold {model.long_rows_:.0%}" in text
    few = run("info", tmp_path / "m", "--components", 2).stdout
    assert f"{model.explained_variance_[1]:.4g}" in few
    assert f"{model.explained_variance_[2]:.4g}" not in few
    csv = pd.read_csv(io.StringIO(run("info", tmp_path / "m", "--csv").stdout))
    np.testing.assert_allclose(csv["angle"], model.angle_)
    np.testing.assert_allclose(csv["low"], low)


def test_loadings_come_with_their_errors(tmp_path):
    model = onepass.PCA(2).fit(pd.DataFrame(rows(3000, 4), columns=["a", "b", "c", "d"]))
    model.save(tmp_path / "m")
    text = run("info", tmp_path / "m", "--loadings", 2).stdout
    csv = pd.read_csv(io.StringIO(run("info", tmp_path / "m", "--loadings", 2, "--csv").stdout))
    for i, (weights, errors) in enumerate(
        zip(model.components_, model.components_error_, strict=True)
    ):
        largest = np.argsort(-np.abs(weights))[:2]
        part = csv[csv["component"] == i]
        assert part["column"].tolist() == model.feature_names_in_[largest].tolist()
        np.testing.assert_allclose(part["weight"], weights[largest])
        np.testing.assert_allclose(part["standard_error"], errors[largest])
        assert f"{weights[largest[0]]:+.3f}  ± {errors[largest[0]]:.3f}  " in text
    assert text.count("cannot be told from zero") == csv["may_be_zero"].sum() > 0


def test_report(tmp_path):
    onepass.PCA(2).fit(rows()).save(tmp_path / "m.onepass")
    np.save(tmp_path / "a.npy", rows())
    assert "m.html" in run("report", tmp_path / "m.onepass").stdout
    run("report", tmp_path / "m.onepass", "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "m.html").read_bytes()
    assert "Ordinary PCA" in (tmp_path / "page.html").read_text()
    words = ["fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "n", "--report"]
    assert "page.pdf" in run(*words, tmp_path / "page.pdf", code=2).stderr
    assert not (tmp_path / "n").exists()


def test_merge(tmp_path):
    X = rows()
    for name, part in (("1", X[:100]), ("2", X[100:])):
        onepass.PCA(2).fit(part).save(tmp_path / name)
    paths = [tmp_path / "1", tmp_path / "2"]
    run("merge", *paths, "-o", tmp_path / "m")
    merged = onepass.merge(*map(onepass.load, paths))
    np.testing.assert_array_equal(onepass.load(tmp_path / "m").components_, merged.components_)
    assert "more than once" in run("merge", *paths, paths[0], "-o", tmp_path / "m").stderr
    (tmp_path / "m").unlink()
    onepass.PCA(2).fit(rows(d=5)).save(tmp_path / "3")
    said = run("merge", *paths, tmp_path / "3", "-o", tmp_path / "m", code=2).stderr
    assert f"{tmp_path / '3'} has features=5" in said
    assert not (tmp_path / "m").exists()


def test_components_that_cannot_be_told_apart(tmp_path):
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(2000, 5)))[0]  # the variances are equal
    onepass.PCA(3).fit(X * [9, 4, 4, 1, 1]).save(tmp_path / "m")
    said = run("info", tmp_path / "m").stdout
    assert re.search(r"Components 1 and 2 cannot be told apart; .* known to \d+ degrees?", said)
