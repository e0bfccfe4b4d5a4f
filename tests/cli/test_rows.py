"""``onepass transform`` and ``score``: streamed, by name, all or nothing."""

import errno
import gc
import json
import os
import signal

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

import onepass
from onepass.progress import Progress
from onepass.sources import arrays, files
from tests.cli.commands import onepass as run
from tests.cli.commands import rows
from tests.persistence.test_atomic import Faults, failing_disk
from tests.sources.files.written import WRITERS, arrow_table, csv_text

NAMES = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def small_blocks(monkeypatch):
    """Let blocks have seven rows, so that kept columns have to be taken in step."""
    monkeypatch.setattr(files, "rows_per_block", lambda d: 7)
    monkeypatch.setattr(arrays, "_SPARSE_BLOCK_ROWS", 7)


@pytest.fixture
def model(tmp_path):
    """A model of columns with names, and its file."""
    (tmp_path / "train.csv").write_text(csv_text(rows(), NAMES))
    path = tmp_path / "m.onepass"
    run("fit", tmp_path / "train.csv", "-k", 3, "--algorithm", "erm", "-o", path)
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
    WRITERS[name](tmp_path / name, rows(100, seed=1))
    run("transform", model, tmp_path / name, "-o", tmp_path / output)
    expected = onepass.load(model).transform(onepass.open_source(tmp_path / name))
    np.testing.assert_array_equal(READERS[output](tmp_path / output), expected)
    if output == "out.csv":
        assert (tmp_path / output).read_text().startswith("erm0,erm1,erm2\n")


@pytest.mark.usefixtures("small_blocks")
def test_coordinates_as_lists(tmp_path, model):
    (tmp_path / "a.csv").write_text(csv_text(rows(40), NAMES))
    words = ["transform", model, tmp_path / "a.csv", "--as-list", "--keep", "b", "-o"]
    run(*words, tmp_path / "out.parquet")
    found = pa.parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names == ["b", "coordinates"]
    written = np.array(found["coordinates"].to_pylist())
    np.testing.assert_array_equal(written, onepass.load(model).transform([rows(40)]))
    assert "--as-list" in run(*words, tmp_path / "out.csv", code=2).stderr


@pytest.mark.parametrize("command", ["transform", "score"])
def test_columns_are_found_by_name(tmp_path, model, command):
    X = rows(seed=2)
    order = [3, 0, 5, 1, 4, 2]
    table = arrow_table(X[:, order], [NAMES[j] for j in order])
    table = table.append_column("city", pa.array(["Oslo"] * len(X)))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", X)
    out, fitted = tmp_path / "out.npy", onepass.load(model)
    more, wanted = ["-o", out], fitted.transform([X])
    if command == "score":
        wanted = np.column_stack([fitted.reconstruction_error([X]), fitted.score_samples([X])])
        more = ["--rows", out]
    for data, given in (("a.parquet", None), ("-", csv_text(X[:, ::-1], NAMES[::-1]))):
        path = data if data == "-" else tmp_path / data
        assert run(command, model, path, *more, given=given).stderr == ""
        np.testing.assert_array_equal(np.load(out), wanted)
    said = run(command, model, tmp_path / "a.npy", *more).stderr
    assert "has no names of columns; they are taken in the order of" in said
    np.testing.assert_array_equal(np.load(out), wanted)


@pytest.mark.parametrize("command", ["transform", "score"])
def test_the_wrong_model_for_the_data(tmp_path, model, command):
    out = tmp_path / "out.npy"
    out.write_text("old")
    more = ["-o", out] if command == "transform" else ["--rows", out]
    (tmp_path / "a.csv").write_text(csv_text(rows(d=5), NAMES[:5]))
    np.save(tmp_path / "b.npy", rows(d=5))
    for name, part in (("a.csv", "there is no column 'f'"), ("b.npy", "has 5 columns")):
        assert part in run(command, model, tmp_path / name, *more, code=2).stderr
    assert out.read_text() == "old"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("output", READERS)
def test_a_bad_row_or_a_signal_leaves_the_old_output(tmp_path, model, output, monkeypatch):
    X = rows()
    np.save(tmp_path / "a.npy", X)
    X[200, 3] = np.inf
    np.save(tmp_path / "b.npy", X)
    (tmp_path / output).write_text("old")
    before = sorted(os.listdir(tmp_path))
    said = run("transform", model, tmp_path / "b.npy", "-o", tmp_path / output, code=2).stderr
    assert "b.npy, row 201, column [3]" in said
    for number in (signal.SIGINT, signal.SIGTERM):
        stop = lambda self, rows, number=number: signal.raise_signal(number)  # noqa: E731
        monkeypatch.setattr(Progress, "advance", stop)
        code = 128 + number
        run("transform", model, tmp_path / "a.npy", "-o", tmp_path / output, code=code)
    gc.collect()
    assert (tmp_path / output).read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("output", ["out.npy", "out.csv", "out.parquet"])
def test_a_full_disk_leaves_the_old_output(tmp_path, model, output, monkeypatch):
    np.save(tmp_path / "a.npy", rows())
    (tmp_path / output).write_text("old")
    before = sorted(os.listdir(tmp_path))
    for fatal in range(0, 1000, 3):
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
        assert sorted(os.listdir(tmp_path)) == before
    assert fatal > 3
    assert READERS[output](tmp_path / output).shape == (300, 3)


def test_score(tmp_path, model):
    X = rows(seed=3)
    np.save(tmp_path / "a.npy", X)
    expected = onepass.load(model).score([X])
    found = json.loads(run("score", model, tmp_path / "a.npy", "--json").stdout)
    assert found["score"] == pytest.approx(expected, rel=1e-12)
    assert (found["rows"], found["model"]) == (300, str(model))


@pytest.fixture
def table(tmp_path):
    """Write a csv file with a comment, an id and a text; fit a model of its numbers."""
    lines = ["# a title", "id,x,city,y,z"]
    for i, (x, y, z) in enumerate(rows(300, 3)):
        lines.append(f'{i:03d},{x},"Oslo, {i}",{y},{z}')
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    reading = ("--skip-lines", 1)
    run("fit", tmp_path / "a.csv", *reading, "-k", 2, "--columns", "x,y,z", "-o", tmp_path / "m")
    return tmp_path / "m", tmp_path / "a.csv", reading


@pytest.mark.usefixtures("small_blocks")
def test_columns_are_kept_and_outliers_flagged(tmp_path, table):
    model, data, reading = table
    fitted, X = onepass.load(model), rows(300, 3)
    outliers = fitted.reconstruction_error([X]) > fitted.error_threshold(0.9)
    assert 0 < outliers.sum() < 300
    out, more = tmp_path / "out.csv", ("--keep", "id,city", "--flag", "--quantile", 0.9)
    run("transform", model, data, *reading, "-o", out, *more)
    found = pd.read_csv(out, dtype={"id": str})
    assert list(found) == ["id", "city", "pca0", "pca1", "outlier"]
    assert found["id"].tolist() == [f"{i:03d}" for i in range(300)]
    assert found["city"][7] == "Oslo, 7"
    np.testing.assert_allclose(found[["pca0", "pca1"]], fitted.transform([X]))
    assert found["outlier"].tolist() == outliers.astype(int).tolist()
    piped = tmp_path / "piped.csv"
    run("transform", model, "-", *reading, "-o", piped, *more, given=data.read_text())
    assert piped.read_text() == out.read_text()
    said = run("score", model, data, *reading, "--rows", out, *more).stdout
    assert f"{outliers.sum()} outliers" in said
    found = pd.read_csv(out, dtype={"id": str})
    assert list(found)[:2] == ["line", "id"]
    assert found["line"].tolist() == [*range(3, 303)]  # as an editor shows them
    few = tmp_path / "few.parquet"
    run("score", model, data, *reading, "--rows", few, *more, "--only-outliers")
    wanted = found[found["outlier"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_parquet(few), wanted, check_dtype=False)
    for wrong in (["id", "-o", tmp_path / "o.npy"], ["nobody", "-o", tmp_path / "o.csv"]):
        run("transform", model, data, *reading, "--keep", *wrong, code=2)
    assert not (tmp_path / "o.csv").exists()


def test_outliers_are_not_counted_without_a_threshold(tmp_path):
    data, model, out = (tmp_path / name for name in ("a.npy", "m", "out.csv"))
    np.save(data, rows(40, 3))
    run("fit", data, "-k", 1, "-o", model)
    known = json.loads(run("score", model, data, "--rows", out, "--json").stdout)
    out.unlink()
    assert (known["threshold"], known["above_threshold"]) == (None, None)
    for words in (["score", model, data, "--rows"], ["transform", model, data, "-o"]):
        assert "--flag cannot find outliers" in run(*words, out, "--flag", code=2).stderr
        assert not out.exists()


def test_rows_without_lines_are_counted_from_one_in_each_file(tmp_path):
    data = (tmp_path / "a.npy", tmp_path / "b.npy")
    for path in data:
        np.save(path, rows(40, 3))
    run("fit", *data, "-k", 1, "-o", tmp_path / "m")
    run("score", tmp_path / "m", *data, "--rows", tmp_path / "out.parquet")
    found = pa.parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names[:2] == ["file", "row"]
    assert found["row"].to_pylist() == [*range(1, 41)] * 2
    assert found["file"][40].as_py() == str(data[1])


def test_a_model_remembers_how_rows_were_prepared(tmp_path):
    counts = np.random.default_rng(0).poisson(3.0, size=(200, 5)).astype(float)
    np.save(tmp_path / "a.npy", counts)
    run("fit", tmp_path / "a.npy", "-k", 2, "--normalize", 100, "--log1p", "-o", tmp_path / "m")
    model = onepass.load(tmp_path / "m")
    prepared = np.log1p(100 * counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.mean_, prepared.mean(axis=0))
    run("transform", tmp_path / "m", tmp_path / "a.npy", "-o", tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), model.transform(prepared))
    words = ("impute", tmp_path / "m", tmp_path / "a.npy", "-o", tmp_path / "i.npy")
    assert "--normalize" in run(*words, code=2).stderr
    run("fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "other")
    words = ("merge", tmp_path / "m", tmp_path / "other", "-o", tmp_path / "both")
    assert "prepared" in run(*words, code=2).stderr


RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(RNG.gamma(0.4, size=12) * 5, size=(60, 12)).astype(np.float32)
TYPES = RNG.choice(["B", "T", "NK"], size=60)


def write_cells(path, counts=COUNTS, types=TYPES):
    obs = pd.DataFrame(
        {"type": pd.Categorical(types), "n": counts.sum(axis=1)},
        index=[f"cell{i}" for i in range(len(counts))],
    )
    var = pd.DataFrame(index=[f"g{j}" for j in range(counts.shape[1])])
    adata = anndata.AnnData(scipy.sparse.csr_array(counts), obs=obs, var=var)
    adata.obsm["X_umap"], adata.uns["note"] = counts[:, :2], "kept"
    adata.obsm["X_pca"] = counts[:, :9]  # of an analysis before
    getattr(adata, f"write_{path.suffix[1:]}")(path)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["cells.h5ad", "cells.zarr"])
@pytest.mark.filterwarnings("ignore:Writing zarr v2 data|Consolidated metadata")
def test_cells_keep_what_they_have_and_get_coordinates(tmp_path, name):
    path = tmp_path / name
    write_cells(path)
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", path, "-k", 4, "--normalize", 100, "--log1p", "-o", model)
    run("transform", model, path, "-o", out)
    given, written = getattr(anndata, f"read_{path.suffix[1:]}")(path), anndata.read_h5ad(out)
    pd.testing.assert_frame_equal(written.obs, given.obs)
    assert (written.X != given.X).nnz == 0
    assert written.uns["note"] == "kept"
    np.testing.assert_array_equal(written.obsm["X_umap"], given.obsm["X_umap"])
    assert written.var_names.tolist() == given.var_names.tolist()
    fitted = onepass.load(model)
    source = onepass.open_source(path, normalize=100, log1p=True)
    np.testing.assert_array_equal(written.obsm["X_pca"], fitted.transform(source))
    assert written.obsm["X_pca"].dtype == np.float32
    np.testing.assert_array_equal(written.varm["PCs"], fitted.components_.T)
    np.testing.assert_array_equal(written.uns["pca"]["variance"], fitted.explained_variance_)


def test_genes_that_are_left_out_have_zeros(tmp_path):
    write_cells(tmp_path / "cells.h5ad")
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "cells.h5ad", "-k", 2, "--columns", "g7,g2,g5", "-o", model)
    run("transform", model, tmp_path / "cells.h5ad", "-o", out)
    written, fitted = anndata.read_h5ad(out), onepass.load(model)
    np.testing.assert_array_equal(written.varm["PCs"][[7, 2, 5]], fitted.components_.T)
    assert np.count_nonzero(written.varm["PCs"].any(axis=1)) == 3


def test_flags_and_kept_columns_are_columns_of_obs(tmp_path, table):
    model, data, reading = table
    out = tmp_path / "out.h5ad"
    more = ["--keep", "id", "--flag", "--quantile", 0.8]
    run("transform", model, data, *reading, "-o", out, *more)
    written, fitted = anndata.read_h5ad(out), onepass.load(model)
    assert written.obs_names.tolist() == [str(line) for line in range(3, 303)]
    assert written.obs["id"].tolist() == [f"{i:03d}" for i in range(300)]
    above = fitted.reconstruction_error([rows(300, 3)]) > fitted.error_threshold(0.8)
    assert written.obs["outlier"].tolist() == above.tolist()
    assert written.obsm["X_pca"].shape == (300, 2)


def test_cells_of_several_files_have_names_of_their_own(tmp_path):
    write_cells(tmp_path / "a.h5ad")
    write_cells(tmp_path / "b.h5ad", COUNTS[:9], TYPES[:9])
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, COUNTS)
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "a.h5ad", "-k", 2, "-o", model)
    run("transform", model, tmp_path / "a.h5ad", tmp_path / "b.h5ad", "-o", out)
    written = anndata.read_h5ad(out)
    assert written.obs_names[[0, 60]].tolist() == ["cell0-0", "cell0-1"]
    assert written.obs["type"].astype(str).tolist() == [*TYPES, *TYPES[:9]]
    assert written.obs["file"].astype(str).iloc[-1] == str(tmp_path / "b.h5ad")
    run("transform", model, tmp_path / "a.npy", tmp_path / "b.npy", "-o", out)
    assert anndata.read_h5ad(out).obs_names[-1] == f"{tmp_path / 'b.npy'}:60"


def test_barcodes_of_10x_files_are_names(tmp_path):
    columns = scipy.sparse.csr_array(COUNTS)  # cells by genes is CSC of genes by cells
    names = [f"AAAC{i}-1" for i in range(60)]
    with h5py.File(tmp_path / "cells.h5", "w") as root:
        matrix = root.create_group("matrix")
        for part in ("data", "indices", "indptr"):
            matrix[part] = getattr(columns, part)
        matrix["shape"] = np.array([12, 60])
        matrix["features/name"] = [f"g{j}" for j in range(12)]
        matrix["features/feature_type"] = ["Gene Expression"] * 12
        matrix["barcodes"] = names
    model, out = tmp_path / "m.onepass", tmp_path / "out.h5ad"
    run("fit", tmp_path / "cells.h5", "-k", 2, "-o", model)
    run("transform", model, tmp_path / "cells.h5", "-o", out)
    assert anndata.read_h5ad(out).obs_names.tolist() == names
