"""``onepass fit`` writes the model that the library gives, and prints clearly what it is."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import onepass
from onepass.cli.options import ALGORITHMS, make_estimator
from tests.cli.commands import onepass as run
from tests.cli.commands import parts, rows
from tests.sources.files.written import WRITERS, csv_text


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_model_of_the_rows_in_memory(tmp_path, name):
    X = rows()
    X[:, 5] = np.where(X[:, 5] > 1.0, X[:, 5], 0.0)
    WRITERS[name](tmp_path / name, X)
    run("fit", tmp_path / name, "-k", 2, "--algorithm", "capped-msg", "-o", tmp_path / "m")
    is_sparse = "svmlight" in name or "sparse" in name
    expected = onepass.CappedMSG(2).fit(scipy.sparse.csr_array(X) if is_sparse else X)
    model = onepass.load(tmp_path / "m")
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(model.explained_variance_, expected.explained_variance_)
    assert model.captured_ == expected.captured_
    assert model.n_samples_seen_ == len(X)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(tmp_path, algorithm):
    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 2, "--algorithm", algorithm, "--center"]
    result = run(*words, "-o", tmp_path / "m", "--json")
    expected = make_estimator(algorithm, 2, center=True).fit(rows())
    model = onepass.load(tmp_path / "m")
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert json.loads(result.stdout)["algorithm"] == algorithm
    expected.save(tmp_path / "expected")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "expected").read_bytes()


def test_json_is_one_object(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    output = str(tmp_path / "m")
    words = ["fit", tmp_path / "a.npy", "-k", 2, "--algorithm", "oja", "-o", output]
    result = run(*words, "--json")
    found = json.loads(result.stdout)
    model = onepass.load(output)
    assert result.stderr == ""
    assert found.pop("seconds") > 0
    assert found.pop("rows_per_second") > 0
    assert found == {
        "algorithm": "oja",
        "n_components": 2,
        "n_features": 6,
        "rows": 300,
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "captured": {
            "mean": model.captured_.mean,
            "standard_error": model.captured_.standard_error,
            "reason": "",
        },
        "missing": {"entries": 0, "share": 0.0, "rows": 0, "columns": 0, "empty_rows": 0},
        "model": output,
    }


def test_what_is_unknown_is_null_in_json(tmp_path):
    np.save(tmp_path / "a.npy", rows(1))
    words = ["fit", tmp_path / "a.npy", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    assert json.loads(run(*words, "--json").stdout)["captured"]["mean"] is None
    assert "nan" not in run(*words).stdout


@pytest.mark.parametrize("algorithm", ["pca", "oja", "erm"])
def test_a_single_row_is_warned_of(tmp_path, algorithm):
    words = ["fit", "-", "-k", 1, "--algorithm", algorithm, "-o", tmp_path / "m"]
    result = run(*words, given="0.5,0.2,0.7\n")
    assert "warning: there is only one row" in result.stderr
    assert "captured" not in result.stdout
    assert json.loads(run(*words, "--json", given="0.5,0.2,0.7\n").stdout)["captured"] == {
        "mean": None,
        "standard_error": None,
        "reason": "fewer than 32 rows were held out",
    }


def test_the_table_names_columns(tmp_path):
    (tmp_path / "a.csv").write_text("tall,wide\n" + "9,1\n-8,0\n7,1\n" * 20)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    result = run(*words)
    assert "1 component of 2 columns from 60 rows" in result.stdout
    assert "+1.00 tall" in result.stdout
    assert result.stderr == ""


def test_columns_are_chosen_and_skipped(tmp_path):
    (tmp_path / "a.csv").write_text("x,city,y\n1,Oslo,2\n3,Rome,5\n0,Bonn,1\n")
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    run(*words, "--skip-non-numeric")
    assert onepass.load(tmp_path / "m").feature_names_in_.tolist() == ["x", "y"]
    run(*words, "--columns", "y")
    assert onepass.load(tmp_path / "m").feature_names_in_.tolist() == ["y"]


def test_columns_without_names_keep_their_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("0.5,Oslo,9,1\n" + "0.5,Rome,-9,1.5\n2.5,Bonn,8,0\n" * 5)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    for more in (["--skip-non-numeric"], ["--columns", "0,2,3"]):
        result = run(*words, *more)
        assert onepass.load(tmp_path / "m").feature_names_in_.tolist() == ["0", "2", "3"]
        assert "+0.99 2" in result.stdout
    said = run("transform", tmp_path / "m", tmp_path / "a.csv", "-o", tmp_path / "out.npy").stderr
    assert "they are taken by their numbers, 0, 2, 3, as in" in said


def test_headers_of_numbers(tmp_path):
    """pandas writes such headers. They are not guessed, and never read as rows."""
    path = tmp_path / "a.csv"
    pd.DataFrame(rows(50, 3), columns=[773869, 17, 40]).to_csv(path, index=False)
    words = ["fit", path, "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    said = run(*words, code=2).stderr
    assert "names or data: '773869,17,40'" in said
    assert "--no-header" in said
    run(*words, "--header")
    model = onepass.load(tmp_path / "m")
    assert model.n_samples_seen_ == 50
    assert model.feature_names_in_.tolist() == ["773869", "17", "40"]
    run(*words, "--no-header")
    assert onepass.load(tmp_path / "m").n_samples_seen_ == 51


def test_columns_by_number_where_there_are_names(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n" + "1,2,3\n3,5,4\n" * 5)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    run(*words, "--columns", "2,0")
    assert onepass.load(tmp_path / "m").feature_names_in_.tolist() == ["c", "a"]


@pytest.mark.filterwarnings("default")
def test_what_was_decided_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("a;city\n" + "1;Oslo\n3;Rome\n" * 5)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "--algorithm", "erm", "-o", tmp_path / "m"]
    said = run(*words, "--skip-non-numeric").stderr.splitlines()
    assert [line.partition("a.csv: ")[2] for line in said] == [
        "values are separated by ';'",
        "left out what is not numeric: 'city'",
    ]
    assert run(*words, "--columns", "a", "--delimiter", ";").stderr == ""
    (tmp_path / "a.csv").write_text("a\tb\n" + "1\t2\n3\t5\n" * 5)
    assert run(*words, "--delimiter", "tab").stderr == ""
    assert "is not one ASCII character" in run(*words, "--delimiter", ";;", code=2).stderr
    pd.DataFrame(rows(50, 3), columns=["a", "b", "c"]).to_csv(tmp_path / "a.csv")
    said = run(*words).stderr
    assert (
        "left out the index of pandas or R, column ''; keep_index=True (--keep-index) keeps it"
        in said
    )
    assert len(said.splitlines()) == 1
    assert onepass.load(tmp_path / "m").n_features_in_ == 3
    run(*words, "--keep-index")
    assert onepass.load(tmp_path / "m").n_features_in_ == 4


def test_standard_input(tmp_path):
    X = rows()
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    words = ["fit", "-", "-k", 2, "--algorithm", "capped-msg", "-o", tmp_path / "m"]
    run(*words, given=text)
    model = onepass.load(tmp_path / "m")
    np.testing.assert_array_equal(model.components_, onepass.CappedMSG(2).fit(X).components_)
    assert "standard input" in run(*words, "--resume", given=text, code=2).stderr


def test_files_folders_and_patterns_are_one_stream(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    paths = parts(folder)
    models = []
    for data in (paths, [folder], [folder / "*.npy"]):
        run("fit", *data, "-k", 2, "--algorithm", "msg", "-o", tmp_path / "m")
        models.append((tmp_path / "m").read_bytes())
    assert models[0] == models[1] == models[2]
    assert onepass.load(tmp_path / "m").n_samples_seen_ == 300


@pytest.mark.parametrize(
    ("option", "params"),
    [
        (["--scale"], {"scale": True}),
        (["--robust"], {"robust": True}),
        (["--no-robust"], {"robust": 0}),
        (["--half-life", "100"], {"half_life": 100.0}),
    ],
)
def test_options_of_pca(tmp_path, option, params):
    np.save(tmp_path / "a.npy", rows() * np.array([1, 1, 1, 1, 9, 9]))
    words = ["fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m", *option]
    run(*words)
    params = {name: value if name == "half_life" else bool(value) for name, value in params.items()}
    expected = onepass.PCA(2, **params)
    expected.partial_fit(rows() * np.array([1, 1, 1, 1, 9, 9]))
    expected.save(tmp_path / "expected")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "expected").read_bytes()
    said = run(*words, "--algorithm", "oja", code=2).stderr
    assert f"{option[0].replace('no-', '')} works with --algorithm pca only, not with oja" in said


def test_names_of_columns_are_no_markup(tmp_path):
    (tmp_path / "a.csv").write_text("[bold],[/x]\n" + "9,1\n-8,0\n7,1\n" * 20)
    words = ["fit", tmp_path / "a.csv", "-k", 1, "-o", tmp_path / "m"]
    assert "+1.00 [bold]" in run(*words).stdout
    assert "[bold], [/x]" in run("info", tmp_path / "m").stdout


def test_long_names_leave_whole_weights_in_the_table(tmp_path):
    names = [f"a_rather_long_name_{j}" for j in range(4)]
    (tmp_path / "a.csv").write_text(csv_text(rows(d=4), names))
    said = run("fit", tmp_path / "a.csv", "-k", 1, "-o", tmp_path / "m").stdout
    line = next(line for line in said.splitlines() if line.strip().startswith("0 "))
    assert len(line) <= 80
    *_, name, dots = line.split()
    assert name in names
    assert dots == "..."


def test_a_column_without_a_name_is_shown(tmp_path):
    pd.DataFrame(rows(d=3), columns=list("abc")).to_csv(tmp_path / "a.csv")
    words = ("fit", tmp_path / "a.csv", "--keep-index", "-k", 1, "-o", tmp_path / "m")
    for more in ([], ["--verbose"]):
        said = run(*words, *more).stdout
        assert "with the names '', a, b, c\n" in said
        assert "+1.00 ''" in said
    assert "'', a, b, c" in run("info", tmp_path / "m").stdout


@pytest.mark.parametrize("more", [[], ["--workers", 1]])
def test_a_column_that_hides_the_others_is_warned_of(tmp_path, more):
    table = pd.DataFrame(rows(d=3) * [1.0, 1e4, 1.0], columns=["height", "income", "age"])
    table.to_csv(tmp_path / "a.csv", index=False)
    words = ["fit", tmp_path / "a.csv", "-k", 2, "-o", tmp_path / "m", "--no-robust", *more]
    result = run(*words)
    assert "warning: column 'income' has 100.0% of the variance" in result.stderr
    assert "use --scale; if it is an id, leave it out: --exclude income\n" in result.stderr
    assert "warning" not in run(*words, "--scale").stderr


def test_rows_that_span_less_than_asked_for_are_warned_of(tmp_path):
    np.save(tmp_path / "a.npy", rows(3))
    said = run("fit", tmp_path / "a.npy", "-k", 5, "-o", tmp_path / "m").stderr
    assert "warning: 3 rows span 2 directions only: there are 2 components, not -k 5" in said


def test_a_share_of_the_variance_is_for_pca(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 0.9, "-o", tmp_path / "m", "--algorithm"]
    said = run(*words, "Oja", code=2).stderr
    assert said == "onepass: -k 0.9 works with --algorithm pca only, not with oja\n"
    run(*words, "PCA")
