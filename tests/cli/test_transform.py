"""``onepass transform`` and ``onepass score``: streamed, by name, all or nothing."""

import errno
import gc
import json
import os
import signal

import anndata
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import onepass
from onepass.progress import Progress
from onepass.sources import files
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.cli.test_failing_disk import failing_disk
from tests.persistence.test_atomic import Faults
from tests.sources.files.written import WRITERS, arrow_table, csv_text

NAMES = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(files, "rows_per_block", lambda d: 7)


@pytest.fixture
def model(tmp_path):
    """A model of columns with names, and its file."""
    (tmp_path / "train.csv").write_text(csv_text(rows(), NAMES))
    path = tmp_path / "m.onepass"
    words = ["-k", 3, "--algorithm", "erm", "--center", "-o", path]
    run("fit", tmp_path / "train.csv", *words)
    (tmp_path / "train.csv").unlink()
    return path


READERS = {
    "out.npy": np.load,
    "out.csv": lambda path: np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2),
    "out.parquet": lambda path: np.column_stack(pa.parquet.read_table(path).columns),
    "out.h5ad": lambda path: anndata.read_h5ad(path).obsm["X_pca"],
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("output", READERS)
@pytest.mark.parametrize("name", ["a.npy", "a.csv.gz", "sparse.npz"])
def test_what_is_written_is_what_transform_gives(tmp_path, model, output, name):
    X = rows(100, seed=1)
    WRITERS[name](tmp_path / name, X)
    result = run("transform", model, tmp_path / name, "-o", tmp_path / output)
    assert "100 rows of 3 coordinates" in result.stdout
    fitted = onepass.load(model)
    written = READERS[output](tmp_path / output)
    expected = fitted.transform(onepass.open_source(str(tmp_path / name)))
    np.testing.assert_array_equal(written, expected)
    np.testing.assert_allclose(written, (X - fitted.mean_) @ fitted.components_.T, atol=1e-9)


@pytest.mark.parametrize("output", READERS)
def test_single_precision_stays_so(tmp_path, output):
    np.save(tmp_path / "a.npy", rows().astype(np.float32))
    words = ["-k", 2, "--algorithm", "oja", "-o", tmp_path / "m"]
    run("fit", tmp_path / "a.npy", *words)
    run("transform", tmp_path / "m", tmp_path / "a.npy", "-o", tmp_path / output)
    expected = onepass.load(tmp_path / "m").transform(rows().astype(np.float32))
    assert expected.dtype == np.float32
    written = READERS[output](tmp_path / output)
    assert written.dtype == (np.float64 if output == "out.csv" else np.float32)
    np.testing.assert_array_equal(written.astype(np.float32), expected)


@pytest.mark.parametrize("n", [1, 9, 10, 99, 100, 12345])
def test_npy_with_any_number_of_rows(tmp_path, model, n):
    np.save(tmp_path / "a.npy", rows(n))
    run("transform", model, tmp_path / "a.npy", "-o", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy", mmap_mode="r").shape == (n, 3)


def test_names_of_columns(tmp_path, model):
    np.save(tmp_path / "a.npy", rows())
    run("transform", model, tmp_path / "a.npy", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("erm0,erm1,erm2\n")


def test_columns_are_found_by_name(tmp_path, model):
    X = rows(seed=2)
    order = [3, 0, 5, 1, 4, 2]
    table = arrow_table(X[:, order], [NAMES[j] for j in order])
    table = table.append_column("city", pa.array(["Oslo"] * len(X)))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    run("transform", model, tmp_path / "a.parquet", "-o", tmp_path / "out.npy")
    expected = onepass.load(model).transform([X])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_standard_input(tmp_path, model):
    X = rows(seed=2)
    words = ["transform", model, "-", "-o", tmp_path / "out.npy"]
    run(*words, given=csv_text(X[:, ::-1], NAMES[::-1]))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), onepass.load(model).transform([X]))
    said = run(*words, given=csv_text(X)).stderr
    assert said.endswith(f"has no names of columns; they are taken in the order of {model}\n")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), onepass.load(model).transform([X]))


@pytest.mark.parametrize("command", ["transform", "score"])
def test_columns_without_names_are_taken_in_their_order(tmp_path, model, command):
    X, more = rows(seed=2), ["-o", tmp_path / "out.npy"] if command == "transform" else []
    np.save(tmp_path / "a.npy", X)
    said = run(command, model, tmp_path / "a.npy", *more).stderr
    assert said.splitlines() == [
        f"onepass: {tmp_path / 'a.npy'} has no names of columns; they are taken in the order of "
        f"{model}"
    ]
    assert run(command, model, tmp_path / "a.npy", *more, "--quiet").stderr == ""
    (tmp_path / "a.csv").write_text(csv_text(X, NAMES))
    assert run(command, model, tmp_path / "a.csv", *more).stderr == ""


@pytest.mark.parametrize("command", ["transform", "score"])
def test_a_model_without_names_takes_named_columns_in_their_order(tmp_path, command):
    X, model = rows(seed=2), tmp_path / "m.onepass"
    onepass.PCA(2).fit(X).save(model)
    (tmp_path / "a.csv").write_text(csv_text(X, NAMES))
    more = ["-o", tmp_path / "out.npy"] if command == "transform" else []
    assert run(command, model, tmp_path / "a.csv", *more).stderr.splitlines() == [
        f"onepass: {model} has no names of columns; those of {tmp_path / 'a.csv'} are taken in "
        "their order"
    ]


@pytest.mark.parametrize("command", ["transform", "score"])
def test_the_wrong_model_for_the_data(tmp_path, model, command):
    out = tmp_path / "out.npy"
    out.write_text("old")
    more = ["-o", out] if command == "transform" else []
    (tmp_path / "a.csv").write_text(csv_text(rows(d=5), NAMES[:5]))
    result = run(command, model, tmp_path / "a.csv", *more, code=2)
    assert "a.csv, column 'f': there is no such column" in result.stderr
    assert "m.onepass was fitted on a, b, c" in result.stderr
    np.save(tmp_path / "b.npy", rows(d=5))
    result = run(command, model, tmp_path / "b.npy", *more, code=2)
    assert "b.npy has 5 columns, and" in result.stderr
    assert "fitted on 6" in result.stderr
    assert out.read_text() == "old"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("output", READERS)
def test_a_bad_row_leaves_the_old_output(tmp_path, model, output):
    X = rows()
    X[200, 3] = np.inf
    np.save(tmp_path / "a.npy", X)
    (tmp_path / output).write_text("old")
    before = sorted(os.listdir(tmp_path))
    result = run("transform", model, tmp_path / "a.npy", "-o", tmp_path / output, code=2)
    assert "a.npy, row 201, column [3]" in result.stderr
    assert (tmp_path / output).read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("output", READERS)
def test_a_full_disk_leaves_the_old_output(tmp_path, model, output, monkeypatch):
    np.save(tmp_path / "a.npy", rows())
    (tmp_path / output).write_text("old")
    before = sorted(os.listdir(tmp_path))

    for fatal in range(0, 1000, 61 if output == "out.h5ad" else 3):  # HDF5 writes many pieces
        faults = Faults(fatal, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), lasting=True)
        with monkeypatch.context() as patch:
            failing_disk(patch, faults)
            words = ["transform", model, tmp_path / "a.npy", "-o", tmp_path / output]
            result = run(*words, code=None)
        gc.collect()  # what still holds the closed file would complain now
        if (tmp_path / output).read_bytes() != b"old":
            break
        assert result.exit_code == 1
        assert "No space left" in result.stderr
        assert (tmp_path / output).read_text() == "old"
        assert sorted(os.listdir(tmp_path)) == before
    assert fatal > 3
    assert READERS[output](tmp_path / output).shape == (300, 3)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("output", READERS)
def test_a_signal_leaves_the_old_output(tmp_path, model, output, number, monkeypatch):
    np.save(tmp_path / "a.npy", rows())
    (tmp_path / output).write_text("old")
    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(Progress, "advance", lambda self, rows: signal.raise_signal(number))
    words = ["transform", model, tmp_path / "a.npy", "-o", tmp_path / output]
    run(*words, code=128 + number)
    gc.collect()
    assert (tmp_path / output).read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == before


def test_an_unknown_format(tmp_path, model):
    np.save(tmp_path / "a.npy", rows())
    result = run("transform", model, tmp_path / "a.npy", "-o", tmp_path / "out.xls", code=2)
    assert ".npy, .csv, .parquet" in result.stderr


@pytest.mark.usefixtures("small_blocks")
def test_score(tmp_path, model):
    X = rows(seed=3)
    np.save(tmp_path / "a.npy", X)
    expected = onepass.load(model).score([X])
    found = json.loads(run("score", model, tmp_path / "a.npy", "--json").stdout)
    assert found["score"] == pytest.approx(expected, rel=1e-12)
    assert found["rows"] == 300
    assert found["model"] == str(model)
    assert (
        f"{expected:.4%} of the variance of 300 rows"
        in run("score", model, tmp_path / "a.npy").stdout
    )


def test_no_variance(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((5, 3)))
    np.save(tmp_path / "b.npy", rows(d=3))
    run(
        "fit",
        tmp_path / "b.npy",
        "-k",
        1,
        "--algorithm",
        "erm",
        "--no-center",
        "-o",
        tmp_path / "m",
    )
    assert "no variance" in run("score", tmp_path / "m", tmp_path / "a.npy").stdout
    found = json.loads(run("score", tmp_path / "m", tmp_path / "a.npy", "--json").stdout)
    assert found["score"] is None


def test_names_that_are_numbers_are_names_where_files_have_some(tmp_path):
    X = rows(seed=3)
    for name, names in (("fit", "201345"), ("other", "abcdef"), ("same", "540213")):
        (tmp_path / f"{name}.csv").write_text(csv_text(X, [*names]))
    np.save(tmp_path / "none.npy", X)
    run("fit", tmp_path / "fit.csv", "--header", "-k", 2, "-o", tmp_path / "m")
    score = ["score", tmp_path / "m"]
    said = run(*score, tmp_path / "other.csv", code=2).stderr
    assert "there is no column" in said
    assert run(*score, tmp_path / "same.csv", "--header").stderr == ""
    said = run(*score, tmp_path / "none.npy").stderr
    assert "they are taken by their numbers, 2, 0, 1, 3, 4, 5, as in" in said


def test_a_file_with_a_scheme_is_not_overwritten(tmp_path, model):
    path = tmp_path / "a.csv"
    path.write_text(csv_text(rows(), NAMES))
    before = path.read_bytes()
    said = run("transform", model, f"file://{path}", "-o", path, code=2).stderr
    assert "it must not be overwritten" in said
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_no_device_is_replaced_by_a_file(tmp_path, model):
    os.mkfifo(tmp_path / "pipe.csv")
    np.save(tmp_path / "a.npy", rows())
    for words in (["fit", tmp_path / "a.npy", "-k", 2], ["transform", model, tmp_path / "a.npy"]):
        said = run(*words, "-o", tmp_path / "pipe.csv", code=2).stderr
        assert "pipe.csv is not a file that can be written" in said
    said = run("fit", tmp_path / "a.npy", "-k", 2, "-o", "", code=2).stderr
    assert "'' is not a file that can be written" in said
