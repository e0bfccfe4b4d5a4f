"""``onepass fit`` writes the model that the library gives, and says what it is."""

import json

import numpy as np
import pandas as pd
import pytest

import onepass
from onepass.cli.commands import ALGORITHMS
from onepass.cli.fit import make_estimator
from tests.cli.commands import onepass as run
from tests.cli.commands import rows


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(tmp_path, algorithm):
    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 2, "--algorithm", algorithm, "--center"]
    found = json.loads(run(*words, "-o", tmp_path / "m", "--json").stdout)
    make_estimator(algorithm, 2, center=True).fit(rows()).save(tmp_path / "expected")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "expected").read_bytes()
    assert (found["algorithm"], found["rows"]) == (algorithm, 300)
    assert found["captured"]["mean"] == onepass.load(tmp_path / "m").captured_.mean


@pytest.mark.parametrize(
    ("option", "params"),
    [
        (["--scale"], {"scale": True}),
        (["--robust"], {"robust": True}),
        (["--half-life", "100"], {"half_life": 100.0}),
    ],
)
def test_options_of_pca(tmp_path, option, params):
    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m", *option]
    run(*words)
    onepass.PCA(2, **params).fit(rows()).save(tmp_path / "expected")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "expected").read_bytes()
    said = run(*words, "--algorithm", "oja", code=2).stderr
    assert f"'{next(iter(params))}'" in said


def test_without_a_number_there_are_ten_components(tmp_path):
    np.save(tmp_path / "a.npy", rows(d=14))
    said = run("fit", tmp_path / "a.npy", "-o", tmp_path / "m").stderr
    assert "10 of 14 components" in said
    assert onepass.load(tmp_path / "m").n_components_ == 10
    run("fit", tmp_path / "a.npy", "-o", tmp_path / "m", "-k", 0.9)
    assert onepass.load(tmp_path / "m").n_components_ < 10


@pytest.mark.parametrize("algorithm", ["pca", "erm"])
def test_what_is_unknown_of_a_single_row(tmp_path, algorithm):
    words = ["fit", "-", "-k", 1, "--algorithm", algorithm, "-o", tmp_path / "m"]
    result = run(*words, given="0.5,0.2,0.7\n")
    assert "warning: 1 row" in result.stderr
    found = json.loads(run(*words, "--json", given="0.5,0.2,0.7\n").stdout)
    assert found["captured"]["mean"] is None
    assert found["captured"]["reason"]


def test_columns_without_names_keep_their_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("0.5,Oslo,9,1\n" + "0.5,Rome,-9,1.5\n2.5,Bonn,8,0\n" * 5)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    for more in (["--skip-non-numeric"], ["--columns", "0,2,3"]):
        run(*words, *more)
        assert onepass.load(tmp_path / "m").feature_names_in_.tolist() == ["0", "2", "3"]
    said = run("transform", tmp_path / "m", tmp_path / "a.csv", "-o", tmp_path / "out.npy").stderr
    assert "they are taken by their numbers, 0, 2, 3, as in" in said


def test_what_was_decided_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("a;city\n" + "1;Oslo\n3;Rome\n" * 5)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    assert "'city'" in run(*words).stderr
    pd.DataFrame(rows(50, 3), columns=["a", "b", "c"]).to_csv(tmp_path / "a.csv")
    assert "--keep-index" in run(*words).stderr
    assert onepass.load(tmp_path / "m").n_features_in_ == 3
    run(*words, "--keep-index")
    assert onepass.load(tmp_path / "m").n_features_in_ == 4


def test_reading_stops_when_every_angle_is_small_enough(tmp_path):
    np.save(tmp_path / "a.npy", rows(200_000))
    words = ["fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m", "--until-angle"]
    said = run(*words, 1.5).stdout
    model = onepass.load(tmp_path / "m")
    assert 1000 <= model.n_samples_seen_ < 200_000
    assert (model.angle_ <= 1.5).all()
    assert f"{model.n_samples_seen_:,} of about 200,000 rows" in said
    expected = onepass.PCA(2).fit(rows(200_000)[: model.n_samples_seen_])
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert "--until-angle" in run(*words, 0.01).stderr
    for more in (["--workers", 1], ["--algorithm", "oja"]):
        assert "--until-angle" in run(*words, 2, *more, code=2).stderr


def test_standard_input(tmp_path):
    X = rows()
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    words = ["fit", "-", "-k", 2, "--algorithm", "capped-msg", "-o", tmp_path / "m"]
    run(*words, given=text)
    model = onepass.load(tmp_path / "m")
    np.testing.assert_array_equal(model.components_, onepass.CappedMSG(2).fit(X).components_)
    for option in (["--resume"], ["--workers", 2]):
        assert "standard input" in run(*words, *option, given=text, code=2).stderr


@pytest.mark.parametrize("more", [[], ["--workers", 1]])
def test_doubts_are_warnings_with_options_of_the_command(tmp_path, more):
    table = pd.DataFrame(rows(d=3) * [1.0, 1e4, 1.0], columns=["height", "income", "age"])
    table.to_csv(tmp_path / "a.csv", index=False)
    words = ["fit", tmp_path / "a.csv", "-k", 2, "-o", tmp_path / "m", *more]
    said = run(*words).stderr
    assert "warning: column 'income' has 100.0% of the variance" in said
    assert "--scale" in said
    assert "warning" not in run(*words, "--scale").stderr
    np.save(tmp_path / "a.npy", rows(3))
    said = run("fit", tmp_path / "a.npy", "-k", 5, "-o", tmp_path / "m", *more).stderr
    assert "warning: 3 rows span 2 directions only: there are 2 components, not -k 5" in said
