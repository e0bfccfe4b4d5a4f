"""Folders, patterns, several files, columns by name, missing packages."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from onepass.sources import SourceError, open_source
from tests.sources.files.written import WRITERS, arrow_table

ROWS = np.arange(12.0).reshape(6, 2)


def rows(source):
    return np.vstack(list(source)).tolist()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deeper").mkdir()
    for name, part in (("b", ROWS[2:4]), ("a", ROWS[:2]), ("deeper/c", ROWS[4:])):
        WRITERS["a.parquet"](tmp_path / f"{name}.parquet", part)
    for ignored in ("_SUCCESS", ".hidden.parquet", "notes.txt"):
        (tmp_path / ignored).write_text("not data")
    return tmp_path


def test_folder_and_patterns(folder):
    assert rows(open_source(folder)) == ROWS.tolist()
    assert rows(open_source(str(folder / "*.parquet"))) == ROWS[:4].tolist()
    assert rows(open_source(str(folder / "**/*.parquet"))) == ROWS.tolist()
    assert rows(open_source([folder / "b.parquet", folder / "deeper"])) == ROWS[2:].tolist()
    assert open_source(folder).paths[0] == os.fspath(folder / "a.parquet")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.csv", "none.csv: there is no such file"),
        ("a.cvs", "a.cvs: there is no such file"),
        ("*.npy", "no file matches"),
        ("a.doc", "the format is unknown; known suffixes are .npy, .npz, .csv"),
        ("a.npy.gz", "the format is unknown"),
        ("empty", "no file of a known format"),
        ("mixed", "several formats in this folder: .csv, .npy"),
        ([], "no file is given"),
    ],
)
def test_nothing_to_open(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.doc").write_text("1,2")
    (tmp_path / "a.npy.gz").write_text("1,2")
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed/a.csv").write_text("1,2")
    np.save(tmp_path / "mixed/b.npy", ROWS)
    with pytest.raises(SourceError, match=message):
        open_source(path)


def test_columns_are_matched_by_name(tmp_path):
    pa.parquet.write_table(arrow_table(ROWS, ["x", "y"]), tmp_path / "1.parquet")
    pa.parquet.write_table(arrow_table(ROWS[:, ::-1], ["y", "x"]), tmp_path / "2.parquet")
    (tmp_path / "3.csv").write_text("y,x\n1,0\n")
    source = open_source([tmp_path / "1.parquet", tmp_path / "2.parquet", tmp_path / "3.csv"])
    assert source.feature_names == ["x", "y"]
    assert rows(source) == [*ROWS.tolist(), *ROWS.tolist(), [0, 1]]


def test_other_columns_are_refused(tmp_path):
    for name, header in (("1", "x,y"), ("2", "x,z"), ("3", "x,y,z")):
        values = ",".join("1" * len(header.split(",")))
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{values}\n")
    with pytest.raises(SourceError, match=r"2\.csv: .*1\.csv, it is missing 'y' and has also 'z'"):
        open_source([tmp_path / "1.csv", tmp_path / "2.csv"])
    with pytest.raises(SourceError, match=r"3\.csv: .*has also 'z'"):
        open_source([tmp_path / "1.csv", tmp_path / "3.csv"])
    with pytest.raises(SourceError, match=r"2\.csv: compared with .*1\.csv, it is missing 'y'"):
        open_source([tmp_path / "1.csv", tmp_path / "2.csv"], columns=["y"])
    assert rows(open_source(str(tmp_path / "*.csv"), columns=["x"])) == [[1], [1], [1]]


def test_other_widths_are_refused(tmp_path):
    np.save(tmp_path / "1.npy", ROWS)
    np.save(tmp_path / "2.npy", np.ones((2, 3)))
    with pytest.raises(SourceError, match=r"2\.npy: compared with .*1\.npy, it has also \[2\]"):
        open_source(tmp_path)
    assert len(rows(open_source(tmp_path, columns=[1]))) == 8


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["z"], "column 'z': .* have the numbers 0 to 1 and the names 'c0', 'c1'"),
        (["c0", "c0"], "chosen twice: c0, c0"),
        (["c0", "0"], "chosen twice: c0, 0"),
        ([2], r"column \[2\]: there is no such column: columns have the numbers 0 to 1"),
        ([-1], r"column \[-1\]"),
        ([], "no column"),
    ],
)
def test_impossible_choices(tmp_path, columns, message):
    WRITERS["a.csv"](tmp_path / "a.csv", ROWS)
    with pytest.raises(SourceError, match=message):
        open_source(tmp_path / "a.csv", columns=columns)


def test_arrow_types(tmp_path):
    table = pa.table(
        {
            "flag": pa.array([True, False]),
            "price": pa.array(["1.25", "-2.50"]).cast(pa.decimal128(6, 2)),
            "half": pa.array(np.array([1.5, 2.5], dtype=np.float16)),
            "big": pa.array([2**63, 1], pa.uint64()),
            "word": pa.array(["a", "b"]),
            "day": pa.array([1, 2], pa.date32()),
        }
    )
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"'word': contains values of type string; .* of 'day'"):
        open_source(tmp_path / "a.parquet", columns=table.column_names)
    source = open_source(tmp_path / "a.parquet")
    assert "left out columns that are not numbers: 'word', 'day'" in source.notes[0]
    assert source.feature_names == ["flag", "price", "half", "big"]
    assert rows(source) == [[1, 1.25, 1.5, 2.0**63], [0, -2.5, 2.5, 1]]


def test_float32_only_if_all_are(tmp_path):
    np.save(tmp_path / "1.npy", ROWS.astype(np.float32))
    np.save(tmp_path / "2.npy", ROWS)
    assert {block.dtype for block in open_source(tmp_path)} == {np.dtype(np.float64)}
    assert {b.dtype for b in open_source(tmp_path / "1.npy")} == {np.dtype(np.float32)}


@pytest.mark.parametrize("suffix", ["npz", "h5", "zarr"])
def test_several_arrays_in_a_file(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "npz":
        np.savez(path, x=ROWS, y=-ROWS, label=np.arange(6))
    elif suffix == "h5":
        import h5py

        with h5py.File(path, "w") as file:
            file["x"], file["y"], file["label"] = ROWS, -ROWS, np.arange(6)
    else:
        import zarr

        group = zarr.create_group(path)
        for name, array in (("x", ROWS), ("y", -ROWS), ("label", np.arange(6))):
            group.create_array(name, shape=array.shape, dtype=array.dtype)[:] = array
    with pytest.raises(SourceError, match=r"two dimensions have 'x', 'y'\. Choose one with"):
        open_source(path)
    assert rows(open_source(f"{path}::y")) == (-ROWS).tolist()
    with pytest.raises(SourceError, match="no 2-D array 'label'"):
        open_source(f"{path}::label")


def test_an_array_of_three_dimensions_is_not_passed_over(tmp_path):
    np.savez(tmp_path / "a.npz", picture=np.ones((2, 2, 2)), truth=ROWS)
    with pytest.raises(SourceError, match="have 'truth', more dimensions have 'picture'"):
        open_source(tmp_path / "a.npz")
    assert rows(open_source(f"{tmp_path / 'a.npz'}::truth")) == ROWS.tolist()


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 2, 2)), np.ones((2, 0)), np.array(1.0)])
def test_arrays_that_are_not_rows(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(SourceError, match=r"a\.npy: an array of shape"):
        open_source(tmp_path / "a.npy")


@pytest.mark.parametrize("shape", [(-3, 4), (-3, -4), (3, -4), (-3,)])
def test_negative_lengths_in_a_header(tmp_path, shape):
    with open(tmp_path / "a.npy", "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(96))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.write(tmp_path / "a.npy", "a.npy")
    for name in ("a.npy", "a.npz"):
        with pytest.raises(SourceError, match=r"damaged or cut off: no array of shape \(-?3,"):
            open_source(tmp_path / name)


@pytest.mark.parametrize("shape", [(3, -4), (-1, 4)])
def test_negative_lengths_of_a_sparse_matrix(tmp_path, shape):
    parts = {"data": np.ones(0), "indices": np.ones(0, int), "indptr": np.zeros(shape[0] + 1, int)}
    np.savez(tmp_path / "a.npz", **parts, shape=np.array(shape), format=b"csr")
    with pytest.raises(SourceError, match="its arrays do not make up a sparse matrix"):
        open_source(tmp_path / "a.npz")


def test_arrays_that_are_not_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.array([["a", "b"]]))
    np.save(tmp_path / "b.npy", np.array([[None]]), allow_pickle=True)
    with pytest.raises(SourceError, match=r"contains values of type <U1, not numbers"):
        open_source(tmp_path / "a.npy")
    with pytest.raises(SourceError, match=r"contains values of type object, not numbers"):
        open_source(tmp_path / "b.npy")


@pytest.mark.parametrize("form", ["csc", "coo", "bsr", "dia"])
def test_other_sparse_formats_are_refused(tmp_path, form):
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.coo_array(ROWS).asformat(form))
    with pytest.raises(SourceError, match=rf"a sparse matrix of format '{form}': save it as csr"):
        open_source(tmp_path / "a.npz")


def test_a_table_without_columns(tmp_path):
    pa.parquet.write_table(pa.table({}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="no column is chosen"):
        open_source(tmp_path / "a.parquet")


def test_a_folder_with_the_suffix_of_a_file(folder):
    """As Spark writes them, with what is not yet data in folders that begin with an underscore."""
    (folder / "_temporary").mkdir()
    WRITERS["a.parquet"](folder / "_temporary" / "z.parquet", ROWS)
    folder.rename(folder.parent / "rows.parquet")
    assert rows(open_source(folder.parent / "rows.parquet")) == ROWS.tolist()


def test_forged_sparse_indices_are_refused(tmp_path):
    matrix = scipy.sparse.csr_matrix(ROWS)
    parts = {"data": matrix.data, "indptr": matrix.indptr, "shape": (6, 2)}
    np.savez(tmp_path / "a.npz", indices=matrix.indices + 5, **parts)
    with pytest.raises(SourceError, match=r"row 1: cannot be read on: .* must be < 2"):
        list(open_source(tmp_path / "a.npz"))
    parts["indptr"] = matrix.indptr[::-1]
    np.savez(tmp_path / "b.npz", indices=matrix.indices, **parts)
    with pytest.raises(SourceError, match="do not make up a sparse matrix"):
        list(open_source(tmp_path / "b.npz"))


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("a.csv", "pyarrow"),
        ("a.parquet", "pyarrow"),
        ("a.arrow", "pyarrow"),
        ("a.h5", "h5py"),
        ("a.zarr", "zarr"),
    ],
)
def test_missing_packages_are_named(tmp_path, name, package):
    WRITERS[name](tmp_path / name, ROWS)
    code = (
        f"import sys; sys.modules[{package!r}] = None; import onepass; onepass.open_source({{!r}})"
    )
    command = [sys.executable, "-c", code.format(str(tmp_path / name))]
    done = subprocess.run(command, capture_output=True, text=True)
    expected = (
        f"ImportError: reading .{name[2:]} files needs {package}: in a clone of onepass, pip "
        'install ".[files]"'
    )
    assert done.stderr.splitlines()[-1] == expected


def test_a_file_may_shrink_between_opening_and_reading(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    source = open_source(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", ROWS[:3])
    with pytest.raises(SourceError, match=r"a\.npy, row \d: "):
        list(source)


def test_batch_rows_below_one():
    with pytest.raises(ValueError, match="batch_rows=0"):
        open_source("a.npy", batch_rows=0)


def test_a_recursive_pattern_reads_every_file_once(folder):
    for ignored in ("_SUCCESS", "notes.txt"):
        (folder / ignored).unlink()
    for pattern in ("**", "**/*", "*", "**/*.parquet"):
        assert rows(open_source(folder / pattern)) == ROWS.tolist()


def test_text_of_a_folder_has_to_be_named(tmp_path):
    (tmp_path / "a.txt").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match=r"\.txt files have to be named, as in"):
        open_source(tmp_path)
    assert rows(open_source(tmp_path / "*.txt")) == [[1, 2]]


@pytest.mark.parametrize("columns", ["ab", [1.5], [True], [None]])
def test_columns_are_names_or_whole_numbers(folder, columns):
    with pytest.raises(ValueError, match="columns"):
        open_source(folder, columns=columns)


def test_standard_input_is_given_once():
    with pytest.raises(SourceError, match="standard input is given twice"):
        open_source(["-", "-"])


@pytest.mark.parametrize("kind", ["a.parquet", "a.arrow", "a.feather"])
def test_two_arrow_columns_of_one_name_are_refused(tmp_path, kind):
    table = pa.table([pa.array([1.0, 2.0])] * 3, names=["a", "a", "b"])
    path = tmp_path / kind
    if kind == "a.parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    for columns in (None, ["b"], [1, 2]):
        with pytest.raises(SourceError, match="column 'a': two columns have this name"):
            open_source(path, columns=columns)


def test_vectors_alone_are_no_rows(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones(3), y=np.ones(4))
    with pytest.raises(SourceError, match="two dimensions have none"):
        open_source(tmp_path / "a.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.parquet"])
def test_a_named_pipe_or_a_device_is_refused_instead_of_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(SourceError, match="not a file; read a pipe as csv on standard input"):
        open_source(tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(SourceError, match="not a file; read a pipe as csv on standard input"):
        open_source(tmp_path / name)
