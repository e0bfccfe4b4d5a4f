"""What is done with models that exist: columns that are kept, `info`, `export`, `report`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import onepass
from onepass.cli.kept import RowNumbers
from onepass.sources import ArraySource
from onepass.sources import files as of_files
from tests.cli.commands import onepass as run
from tests.cli.commands import rows


@pytest.fixture
def small_blocks(monkeypatch):
    """Let blocks have seven rows, so that kept columns have to be taken in step."""
    monkeypatch.setattr(of_files, "rows_per_block", lambda d: 7)


@pytest.fixture
def files(tmp_path):
    """Write a csv file with a comment, an id and a text; fit a model of its numbers."""
    lines = ["# a title", "id,x,city,y,z"]
    for i, (x, y, z) in enumerate(rows(300, 3)):
        lines.append(f'{i:03d},{x},"Oslo, {i}",{y},{z}')
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    reading = ("--skip-lines", 1)
    run("fit", tmp_path / "a.csv", *reading, "-k", 2, "--columns", "x:z", "--exclude", "city",
        "-o", tmp_path / "m.onepass")  # fmt: skip
    return tmp_path / "m.onepass", tmp_path / "a.csv", reading


def lines_of(path):
    """Return the lines of a csv file as lists; the text in this one has a comma."""
    return [line.replace('"Oslo, ', "Oslo-").replace('"', "").split(",") for line in path]


@pytest.mark.usefixtures("small_blocks")
def test_columns_are_kept_beside_coordinates(tmp_path, files):
    model, data, reading = files
    words = ("transform", model, data, *reading, "-o", tmp_path / "out.csv")
    run(*words, "--keep", "id,city", "--flag", "--quantile", 0.9)
    found = lines_of((tmp_path / "out.csv").read_text().splitlines())
    assert found[0] == ["id", "city", "pca0", "pca1", "outlier"]
    assert [line[0] for line in found[1:]] == [f"{i:03d}" for i in range(300)]
    assert found[8][1] == "Oslo-7"
    fitted, X = onepass.load(model), rows(300, 3)
    assert np.allclose(np.array([line[2:4] for line in found[1:]], float), fitted.transform([X]))
    outliers = fitted.reconstruction_error([X]) > fitted.error_threshold(0.9)
    assert [line[4] for line in found[1:]] == [str(int(is_one)) for is_one in outliers]
    assert 0 < outliers.sum() < 300


def test_the_largest_error_is_said_where_no_row_is_above_the_threshold(tmp_path):
    """An outlier among few rows is the threshold itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(120, 6))
    X[49] += 12 * rng.choice([-1, 1], size=6)
    np.save(tmp_path / "a.npy", X)
    run("fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m")
    words = ("score", tmp_path / "m", tmp_path / "a.npy", "--rows", tmp_path / "out.csv")
    said = run(*words, "--only-outliers").stdout
    assert "0 outliers" in said
    largest = json.loads(run(*words, "--json").stdout)["largest_error"]
    fitted = onepass.load(tmp_path / "m")
    assert largest == pytest.approx(fitted.reconstruction_error(X).max())
    times = f"{largest / fitted.error_threshold(0.5):,.3g}"
    assert f"the largest error is {times} times the median error in the fit: a smaller" in said
    run(*words, "--only-outliers", "--quantile", 0.95)
    assert "50," in (tmp_path / "out.csv").read_text()


def test_outliers_are_not_counted_without_a_threshold(tmp_path):
    np.save(tmp_path / "a.npy", rows(40, 3))
    run("fit", tmp_path / "a.npy", "-k", 1, "-o", tmp_path / "m")
    words = ("score", tmp_path / "m", tmp_path / "a.npy", "--rows", tmp_path / "out.csv")
    said = run(*words).stdout
    assert "no threshold of errors is known" in said
    assert "0 outliers" not in said
    known = json.loads(run(*words, "--json").stdout)
    assert (known["threshold"], known["above_threshold"]) == (None, None)
    assert "outliers (" in run(*words, "--quantile", 0.8).stdout
    (tmp_path / "out.csv").unlink()
    for command in (words, ("transform", *words[1:3], "-o", tmp_path / "out.csv")):
        failed = run(*command, "--flag", code=2).stderr
        assert "--flag cannot tell outliers: no threshold of errors is known" in failed
        assert not (tmp_path / "out.csv").exists()


@pytest.mark.usefixtures("small_blocks")
def test_rows_are_numbered_as_an_editor_shows_them(tmp_path, files):
    model, data, reading = files
    words = ("score", model, data, *reading, "--rows", tmp_path / "out.csv")
    run(*words, "--keep", "id")
    found = lines_of((tmp_path / "out.csv").read_text().splitlines())
    assert found[0] == ["line", "id", "reconstruction_error", "log_likelihood"]
    assert [line[0] for line in found[1:]] == [str(i) for i in range(3, 303)]
    assert (
        "--keep works with --rows only" in run("score", *words[1:5], "--keep", "id", code=2).stderr
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_only_outliers_are_written(tmp_path, files, suffix):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    model, data, reading = files
    words = ("score", model, data, *reading, "--quantile", 0.9, "--keep", "id", "--rows")
    read = {".csv": pyarrow.csv.read_csv, ".parquet": pyarrow.parquet.read_table}[suffix]
    every, few = tmp_path / f"all{suffix}", tmp_path / f"few{suffix}"
    run(*words, every, "--flag")
    said = run(*words, few, "--only-outliers").stdout
    wanted = read(every)
    wanted = wanted.filter(pa.array(wanted["outlier"].to_numpy() == 1)).drop_columns("outlier")
    assert 0 < wanted.num_rows < 300
    assert read(few).equals(wanted)
    assert f"log_likelihood of each outlier; {wanted.num_rows} outliers" in said
    (tmp_path / "mean.csv").write_text("x,y,z\n" + "1,1,1\n1,1,1.01\n" * 9)
    run("score", model, tmp_path / "mean.csv", "--rows", few, "--only-outliers")
    assert read(few).num_rows == 0
    said = run("score", model, data, "--only-outliers", code=2).stderr
    assert "--only-outliers works with --rows only" in said
    said = run(*words[:5], "--rows", tmp_path / "a.npy", "--only-outliers", code=2).stderr
    assert "could not say which rows they are" in said


def test_rows_without_lines_are_counted_from_one_in_each_file(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", rows(40, 3))
    data = (tmp_path / "a.npy", tmp_path / "b.npy")
    run("fit", *data, "-k", 1, "-o", tmp_path / "m")
    run("score", tmp_path / "m", *data, "--rows", tmp_path / "out.parquet")
    import pyarrow.parquet

    found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names[:2] == ["file", "row"]
    assert found["row"].to_pylist() == [*range(1, 41)] * 2
    assert found["file"][40].as_py() == str(data[1])
    assert RowNumbers(onepass.open_source(data[0])).names == ["row"]


def test_what_cannot_be_kept(tmp_path, files):
    model, data, reading = files
    words = ("transform", model, data, *reading, "--keep")
    assert "numbers only" in run(*words, "id", "-o", tmp_path / "o.npy", code=2).stderr
    assert "no such column" in run(*words, "nobody", "-o", tmp_path / "o.csv", code=2).stderr
    assert not (tmp_path / "o.csv").exists()


def test_loadings(tmp_path, files):
    model = files[0]
    run("info", model, "--loadings", tmp_path / "l.csv")
    found = [line.split(",") for line in (tmp_path / "l.csv").read_text().splitlines()]
    assert found[0] == ["column", "pca0", "pca1"]
    assert [line[0] for line in found[1:]] == ["x", "y", "z"]
    weights = np.array([line[1:] for line in found[1:]], float)
    assert np.array_equal(weights, onepass.load(model).components_.T)


def test_json_has_everything(files):
    found, model = json.loads(run("info", files[0], "--json").stdout), onepass.load(files[0])
    assert np.array_equal(found["components"], model.components_)
    assert np.array_equal(found["mean"], model.mean_)
    assert found["feature_names"] == ["x", "y", "z"]
    assert found["learns"] is True
    assert found["known_variances"][:2] == pytest.approx(model.explained_variance_)
    assert len(found["known_variances"]) == 3
    assert found["missing_share"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("algorithm", ["oja", "erm", "msg"])
def test_known_variances_of_other_algorithms(tmp_path, algorithm):
    np.save(tmp_path / "a.npy", rows())
    run("fit", tmp_path / "a.npy", "-k", 2, "--algorithm", algorithm, "-o", tmp_path / "m")
    found = json.loads(run("info", tmp_path / "m", "--json").stdout)["known_variances"]
    assert found == pytest.approx(np.linalg.eigvalsh(np.cov(rows().T))[::-1])


def test_the_paper_is_cited():
    said = run("info", "--cite").stdout
    assert "@inproceedings{" in said
    assert "10.48550/arXiv.1307.1674" in said
    entry = said[said.index("@inproceedings{") :].strip()
    root = Path(__file__).parents[2]
    for page in ("README.md", "docs/the-paper.md"):
        assert f"```bibtex\n{entry}\n```" in (root / page).read_text("utf-8")
    assert "MODEL" in run("info", code=2).stderr


def test_report(tmp_path, files):
    said = run("report", files[0]).stdout
    assert "m.html" in said
    run("report", files[0], "-o", tmp_path / "page.html")
    for words in (["report", files[0], "-o"], ["fit", files[1], "-k", 1, "--columns", "x,y",
                  "--skip-lines", 1, "-o", tmp_path / "n", "--report"]):  # fmt: skip
        said = run(*words, tmp_path / "page.pdf", code=2).stderr
        assert "page.pdf: a report is a page of HTML, and its name must end in .html" in said
    assert not (tmp_path / "n").exists()
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "m.html").read_bytes()
    assert "Ordinary PCA" in (tmp_path / "page.html").read_text()


def test_a_pipe_is_no_model(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    for words in (["info"], ["report"], ["merge", "-o", tmp_path / "m"]):
        said = run(*words, tmp_path / "pipe", code=2).stderr
        assert "is a pipe or a device, not a file" in said


def test_a_model_remembers_how_rows_were_prepared(tmp_path):
    counts = np.random.default_rng(0).poisson(3.0, size=(200, 5)).astype(float)
    np.save(tmp_path / "a.npy", counts)
    run("fit", tmp_path / "a.npy", "-k", 2, "--normalize", 100, "--log1p", "-o", tmp_path / "m")
    model = onepass.load(tmp_path / "m")
    prepared = np.log1p(100 * counts / counts.sum(axis=1, keepdims=True))
    assert np.allclose(model.mean_, prepared.mean(axis=0))
    run("transform", tmp_path / "m", tmp_path / "a.npy", "-o", tmp_path / "out.npy")
    assert np.allclose(np.load(tmp_path / "out.npy"), model.transform(prepared))
    assert "--normalize 100, --log1p" in run("info", tmp_path / "m").stdout
    said = run("impute", tmp_path / "m", tmp_path / "a.npy", "-o", tmp_path / "i.npy", code=2)
    assert "prepared by --normalize 100" in said.stderr
    run("fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "other")
    said = run("merge", tmp_path / "m", tmp_path / "other", "-o", tmp_path / "both", code=2).stderr
    assert "prepared" in said


def test_incremental_pca_is_no_algorithm_here_and_its_models_are_read(tmp_path):
    np.save(tmp_path / "a.npy", rows())
    words = ("fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m", "--algorithm")
    run(*words, "incremental-pca", code=2)
    run(*words, "incremental")
    assert type(onepass.load(tmp_path / "m")).__name__ == "Incremental"
    onepass.IncrementalPCA(2).fit(rows()).save(tmp_path / "m")
    assert "incremental-pca" in run("info", tmp_path / "m").stdout


def test_info_says_that_a_function_has_changed_the_rows(tmp_path):
    X = np.exp(rows())
    model = tmp_path / "m.onepass"
    onepass.PCA(2).fit(ArraySource(X).map(np.log)).save(model)
    assert re.search(r"prepared by +source.map\(function\)", run("info", model).stdout)
    assert json.loads(run("info", model, "--json").stdout)["prepared"]["mapped"] is True
    np.save(tmp_path / "a.npy", np.log(X))
    said = run("transform", model, tmp_path / "a.npy", "-o", tmp_path / "out.npy").stderr
    assert "m.onepass was fitted on rows that source.map(function) had changed" in said
    onepass.PCA(2).fit(np.log(X)).save(model)
    assert "source.map" not in run("info", model).stdout
    assert json.loads(run("info", model, "--json").stdout)["prepared"]["mapped"] is False
    assert "source.map" not in run("score", model, tmp_path / "a.npy").stderr


def test_a_mapped_source_keeps_what_was_prepared_before(tmp_path):
    counts = np.random.default_rng(0).poisson(3.0, size=(200, 5)).astype(float)
    np.save(tmp_path / "a.npy", counts)

    def mapped(**options):
        return onepass.open_source(tmp_path / "a.npy", **options).map(np.sqrt)

    model = onepass.PCA(2).fit(mapped(normalize=100))
    assert model.transform(mapped(normalize=100)).shape == (200, 2)
    with pytest.raises(ValueError, match=r"prepared by normalize=100.*, mapped=True"):
        model.transform(mapped())
    with pytest.raises(ValueError, match="prepared by mapped=True"):
        onepass.PCA(2).fit(mapped()).transform(mapped(normalize=100))
