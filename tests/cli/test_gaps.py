"""Missing entries on the command line: what `fit` says of them, and `onepass impute`."""

import json

import numpy as np
import pytest

import onepass
from onepass.sources import base
from tests.cli.commands import onepass as run


@pytest.fixture
def table(tmp_path):
    """Write a table with an id, a text, and three columns with gaps; return path and rows."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 1)) * [3.0, 2.0, 1.0] + 0.1 * rng.normal(size=(400, 3)), 3)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.5
    X[0], X[1] = [1.0, np.nan, 2.0], [np.nan, 1.0, 1.0]
    lines = ["id,x,city,y,z"]
    for i, row in enumerate(X):
        x, y, z = ("" if np.isnan(value) else str(value) for value in row)
        lines.append(f'{i:03d},{x},"Oslo, {i}",{y},{z}')
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, X


@pytest.fixture
def model(tmp_path, table):
    """Fit a model of the numbers of the table."""
    path = tmp_path / "m.onepass"
    run("fit", table[0], "-k", 1, "--columns", "x,y,z", "-o", path)
    return path


def test_fit_says_how_much_is_missing(tmp_path, table):
    path, X = table
    options = ("-k", 1, "--columns", "x,y,z", "-o", tmp_path / "m.onepass")
    said = run("fit", path, *options).stdout
    count, incomplete = int(np.isnan(X).sum()), int(np.isnan(X).any(axis=1).sum())
    assert f"{count} of 1,200 entries are missing ({count / 1200:.2%})" in said
    assert f"in {incomplete} of 400 rows and 3 of 3 columns, most in column" in said
    found = json.loads(run("fit", path, *options, "--json").stdout)
    missing = {"entries": count, "share": count / 1200, "rows": incomplete, "columns": 3}
    assert found["missing"] == pytest.approx({**missing, "empty_rows": 0})


@pytest.mark.parametrize("more", [[], ["--workers", 1], ["--skip-non-numeric"]])
def test_a_column_without_entries_is_named_and_nothing_is_written(tmp_path, more):
    lines = ["x,y,my col", *(f"{i % 7},{i % 5}," for i in range(200))]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "m").write_text("an older model")
    words = ("fit", tmp_path / "a.csv", "-k", 1, "-o", tmp_path / "m", *more)
    said = run(*words, code=2).stderr
    assert "column 'my col': fewer than two of 200 rows" in said
    assert "(--exclude 'my col')" in said
    assert (tmp_path / "m").read_text() == "an older model"
    run(*words, "--exclude", "my col")
    assert "'my col'" in run(*words, "--skip-empty").stderr
    assert onepass.load(tmp_path / "m").feature_names_in_.tolist() == ["x", "y"]


@pytest.mark.parametrize("more", [[], ["--workers", 1]])
def test_a_model_remembers_what_stands_for_missing_entries(tmp_path, more):
    lines = ["x,y", *(f"{i},{i % 7}" for i in range(200)), "?,3", "5,-999"]
    path, model = tmp_path / "a.csv", tmp_path / "m"
    path.write_text("\n".join(lines) + "\n")
    run("fit", path, "-k", 1, "--na", "?", "--na", -999, "-o", model, *more)
    np.save(tmp_path / "a.npy", [[1.0, -999.0], [2.0, 3.0]])
    onepass.load(model).for_transform().save(tmp_path / "small")
    for name in ("m", "small"):
        for given in ([], ["--na", "?"]):
            said = run("impute", tmp_path / name, path, "-o", tmp_path / "b.csv", *given)
            assert "2 gaps filled" in said.stdout
            assert said.stderr.endswith("--na -999\n" if given else "--na '?' --na -999\n")
            assert "-999" not in (tmp_path / "b.csv").read_text()
        said = run("impute", tmp_path / name, tmp_path / "a.npy", "-o", tmp_path / "b.npy").stdout
        assert "1 gap filled" in said
        found = json.loads(run("info", tmp_path / name, "--json").stdout)
        assert found["na"] == ["?", "-999"]


GERMAN = "Werksausgabe\nM\u00e4rz;y\n1,5;2\n2,5;1\n3,5;4\n4,5;\n"


def test_a_model_remembers_how_its_files_were_read(tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m"
    path.write_text(GERMAN, encoding="latin-1")
    options = ["--decimal", ",", "--encoding", "latin-1", "--skip-lines", "1"]
    run("fit", path, "-k", 1, *options, "-o", model)
    for words in (["score", model, path], ["impute", model, path, "-o", tmp_path / "b.csv"]):
        said = run(*words).stderr
        assert f"reading with the options of the fit of {model}: {' '.join(options)}\n" in said
    written = (tmp_path / "b.csv").read_text()
    assert written.startswith("M\u00e4rz;y\n1,5;2\n")
    assert "." not in written
    found = json.loads(run("info", model, "--json").stdout)
    assert found["reading"] == {"decimal": ",", "encoding": "latin-1", "skip_lines": 1}
    # Files of other formats have no such options, and those that are given come first.
    plain = tmp_path / "plain.csv"
    plain.write_text("M\u00e4rz,y\n1.5,2\n2.5,1\n")
    options = ["--decimal", ".", "--encoding", "utf-8", "--skip-lines", "0"]
    assert "variance of 2 rows" in run("score", model, plain, *options).stdout


def test_rows_without_any_entry_are_left_out_by_all_commands(tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m"
    lines = [f"{i % 7},{i % 5},{i % 3}" for i in range(120)]
    path.write_text("\n".join(["x,y,z", *lines, ",,", "1,,2", ",,", *lines]) + "\n")
    phrase = "2 rows without any entry left out"
    assert phrase in run("fit", path, "-k", 1, "-o", model).stdout
    out = tmp_path / "out.csv"
    said = run("score", model, path, "--rows", out, "--flag")
    assert phrase in said.stderr
    assert "of the variance of 241 rows\n" in said.stdout
    written = [line.split(",") for line in out.read_text().splitlines()]
    assert written[121] == ["122", "nan", "nan", "0"]
    assert float(written[122][1]) > 0
    assert len(written) == 244
    found = json.loads(run("score", model, path, "--json").stdout)
    assert (found["rows"], found["empty_rows"]) == (243, 2)
    said = run("impute", model, path, "-o", out)
    assert "1 gap filled in 1 row\n" in said.stdout
    assert "2 rows without any entry not filled" in said.stderr
    assert out.read_text().splitlines()[121] == ",,"
    np.save(tmp_path / "a.npy", [[np.nan] * 3, [1, np.nan, 2]])
    run("impute", model, tmp_path / "a.npy", "-o", tmp_path / "b.npy")
    assert np.isnan(np.load(tmp_path / "b.npy")).all(axis=1).tolist() == [True, False]
    assert "1 row without any entry left out" in run("score", model, tmp_path / "a.npy").stderr


def test_impute_changes_nothing_but_gaps(tmp_path, table, model):
    path, X = table
    said = run("impute", model, path, "-o", tmp_path / "out.csv").stdout
    assert f"{int(np.isnan(X).sum())} gaps filled" in said
    before, after = (p.read_text().splitlines() for p in (path, tmp_path / "out.csv"))
    assert after[0] == "id,x,city,y,z"
    complete = ~np.isnan(X).any(axis=1)
    assert [line for line, whole in zip(before[1:], complete, strict=True) if whole] == [
        line for line, whole in zip(after[1:], complete, strict=True) if whole
    ]
    assert after[1].startswith('000,1.0,"Oslo, 0",')
    filled = np.array([[float(cell) for cell in _numbers(line)] for line in after[1:]])
    expected = onepass.load(model).impute([X])
    assert np.allclose(filled, expected, rtol=1e-12)
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def _numbers(line):
    """Return the cells x, y and z of a line."""
    cells = line.replace('"', "").split(",")
    return cells[1], cells[4], cells[5]


def test_impute_warns_of_fills_beyond_all_that_was_observed(tmp_path, model):
    (tmp_path / "far.csv").write_text("id,x,city,y,z\n0,90,Oslo,,\n1,,Rome,1,1\n")
    said = run("impute", model, tmp_path / "far.csv", "-o", tmp_path / "b.csv").stderr
    assert said.count("warning") == 1
    assert "2 fills are beyond the observed range" in said


def test_impute_drops_no_column_of_a_later_file(tmp_path, model, table):
    first, second, output = table[0], tmp_path / "b.csv", tmp_path / "out.csv"
    second.write_text("x,more,y,city,z,id\n1,2,,4,5,6\n")
    said = run("impute", model, first, second, "-o", output, code=2).stderr
    assert f"{second}: compared with {first}, it has also 'more'" in said
    assert not output.exists()
    run("impute", model, first, second, "-o", tmp_path / "out.npy")


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("start", ["a.csv", "a.parquet"])
def test_true_and_false_with_gaps_can_be_read_back(tmp_path, monkeypatch, start, output):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    monkeypatch.setattr(base, "BLOCK_TARGET_BYTES", 64)  # the first gap is not in the first block
    lines = ["x,smoker", *(f"{i % 7},{('TRUE', 'FALSE')[i % 2]}" for i in range(200)), "3,", "5,"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    known = pyarrow.csv.read_csv(tmp_path / "a.csv")
    assert known.schema.field("smoker").type == pa.bool_()
    pyarrow.parquet.write_table(known, tmp_path / "a.parquet")
    run("fit", tmp_path / start, "-k", 1, "-o", tmp_path / "m")
    run("impute", tmp_path / "m", tmp_path / start, "-o", tmp_path / output)
    run("fit", tmp_path / output, "-k", 1, "-o", tmp_path / "again")
    before, after = (np.vstack(list(onepass.open_source(tmp_path / n))) for n in (start, output))
    np.testing.assert_array_equal(after[:200], before[:200])
    assert np.isnan(before[200:, 1]).all()
    assert np.isfinite(after).all()


def test_impute_of_parquet_keeps_the_index_of_pandas(tmp_path, model, table):
    import pandas as pd

    frame = pd.DataFrame(table[1], columns=list("xyz"))
    frame["y"] = frame["y"].round().astype("Int64")
    frame.index = pd.Index([f"k{i}" for i in range(400)], name="key")
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.warns(onepass.OnepassWarning, match="left out the index"):
        list(onepass.open_source(tmp_path / "a.parquet"))
    run("impute", model, tmp_path / "a.parquet", "-o", tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert list(found) == ["x", "y", "z"]
    assert found.index.equals(frame.index)
    assert found.notna().all().all()


def test_impute_of_standard_input_keeps_other_columns(tmp_path, table, model):
    path, _ = table
    run("impute", model, path, "-o", tmp_path / "file.csv")
    run("impute", model, "-", "-o", tmp_path / "out.csv", given=path.read_text())
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "file.csv").read_text()
    run("impute", model, "-", "-o", tmp_path / "out.npy", given=path.read_text())
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), onepass.load(model).impute([table[1]])
    )
    names = {"a.csv", "m.onepass", "file.csv", "out.csv", "out.npy"}
    assert {found.name for found in tmp_path.iterdir()} == names
    said = run("impute", model, "-", "-o", tmp_path / "b.csv", given="x,y,z\n1,,2\n1,2\n", code=2)
    assert "standard-input.csv, line 3: 2 values, not 3" in said.stderr
    assert {found.name for found in tmp_path.iterdir()} == names


def test_merged_models_know_the_marks_of_both(tmp_path):
    for name, mark in (("a", "-999"), ("b", "?")):
        lines = ["x,y", *(f"{i},{i % 7}" for i in range(50)), f"5,{mark}"]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        run("fit", tmp_path / f"{name}.csv", "-k", 1, "--na", mark, "-o", tmp_path / name)
    run("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "both")
    assert onepass.load(tmp_path / "both").origin_.na == ("-999", "?")
