"""Folders, patterns, several files, columns by name, missing packages."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from onepass.sources import SourceError, open_source
from tests.sources.files.written import WRITERS, arrow_table

ROWS = np.arange(12.0).reshape(6, 2)


def rows(source):
    return np.vstack(list(source)).tolist()


@pytest.fixture
def folder(tmp_path):
    """As Spark writes them, with what is not yet data in folders that begin with underscores."""
    folder = tmp_path / "rows.parquet"
    for name, part in (("b", ROWS[2:4]), ("a", ROWS[:2]), ("deeper/c", ROWS[4:]), ("_tmp/z", ROWS)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        WRITERS["a.parquet"](folder / f"{name}.parquet", part)
    for ignored in ("_SUCCESS", ".hidden.parquet", "notes.txt"):
        (folder / ignored).write_text("not data")
    return folder


def test_folder_and_patterns(folder):
    assert rows(open_source(folder)) == ROWS.tolist()
    assert rows(open_source(str(folder / "*.parquet"))) == ROWS[:4].tolist()
    assert rows(open_source([folder / "b.parquet", folder / "deeper"])) == ROWS[2:].tolist()
    assert open_source(folder).paths[0] == os.fspath(folder / "a.parquet")
    for ignored in ("_SUCCESS", "notes.txt", "_tmp/z.parquet"):
        (folder / ignored).unlink()
    (folder / "_tmp").rmdir()
    for pattern in ("**", "**/*", "*", "**/*.parquet"):  # every file once
        assert rows(open_source(folder / pattern)) == ROWS.tolist()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.csv", "none.csv: there is no such file"),
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
    for name in ("a.doc", "a.npy.gz", "empty/notes", "mixed/a.csv", "mixed/b.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1,2")
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
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{'1,' * header.count(',')}1\n")
    first, second, third = (tmp_path / f"{number}.csv" for number in (1, 2, 3))
    with pytest.raises(SourceError, match=r"2\.csv: .*1\.csv, it is missing 'y' and has also 'z'"):
        open_source([first, second])
    with pytest.raises(SourceError, match=r"3\.csv: .*has also 'z'"):
        open_source([first, third])
    with pytest.raises(SourceError, match=r"2\.csv: compared with .*1\.csv, it is missing 'y'"):
        open_source([first, second], columns=["y"])
    assert rows(open_source([first, second, third], columns=["x"])) == [[1], [1], [1]]


def test_other_widths_are_refused(tmp_path):
    np.save(tmp_path / "1.npy", ROWS)
    np.save(tmp_path / "2.npy", np.ones((2, 3)))
    with pytest.raises(SourceError, match=r"2\.npy: compared with .*1\.npy, it has also \[2\]"):
        open_source(tmp_path)
    assert len(rows(open_source(tmp_path, columns=[1]))) == 8


def test_columns_of_arrow_that_are_no_numbers(tmp_path):
    table = pa.table({"word": ["a", "b"], "day": pa.array([1, 2], pa.date32()), "x": [0.5, 1.5]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"'word': contains values of type string; .* of 'day'"):
        open_source(tmp_path / "a.parquet", columns=table.column_names)
    source = open_source(tmp_path / "a.parquet")
    assert "left out columns that are not numbers: 'word', 'day'" in source.notes[0]
    assert rows(source) == [[0.5], [1.5]]


def test_float32_only_if_all_are(tmp_path):
    np.save(tmp_path / "1.npy", ROWS.astype(np.float32))
    np.save(tmp_path / "2.npy", ROWS)
    assert {block.dtype for block in open_source(tmp_path)} == {np.dtype(np.float64)}
    assert {b.dtype for b in open_source(tmp_path / "1.npy")} == {np.dtype(np.float32)}


def test_arrays_of_other_dimensions_are_not_passed_over(tmp_path):
    np.savez(tmp_path / "a.npz", picture=np.ones((2, 2, 2)), truth=ROWS, label=np.arange(6))
    with pytest.raises(SourceError, match="have 'truth', more dimensions have 'picture'"):
        open_source(tmp_path / "a.npz")
    assert rows(open_source(f"{tmp_path / 'a.npz'}::truth")) == ROWS.tolist()
    with pytest.raises(SourceError, match="no 2-D array 'label'"):
        open_source(f"{tmp_path / 'a.npz'}::label")
    np.savez(tmp_path / "b.npz", x=np.ones(3), y=np.ones(4))
    with pytest.raises(SourceError, match="two dimensions have none"):
        open_source(tmp_path / "b.npz")


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


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"indices": np.full(12, 5)}, r"row 1: cannot be read on: .* must be < 2"),
        ({"indptr": np.arange(12, -1, -2)}, "do not make up a sparse matrix"),
        ({"shape": np.array([6, -2])}, "do not make up a sparse matrix"),
        ({"shape": np.array([-1, 2])}, "do not make up a sparse matrix"),
    ],
)
def test_forged_sparse_matrices_are_refused(tmp_path, forged, message):
    parts = {"data": np.ones(12), "indices": np.arange(12) % 2, "indptr": np.arange(0, 13, 2)}
    np.savez(tmp_path / "a.npz", **{**parts, "shape": (6, 2), **forged})
    with pytest.raises(SourceError, match=message):
        list(open_source(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("name", "package"), [("a.csv", "pyarrow"), ("a.parquet", "pyarrow"), ("a.h5", "h5py")]
)
def test_missing_packages_are_named(tmp_path, name, package):
    WRITERS[name](tmp_path / name, ROWS)
    code = f"import sys; sys.modules[{package!r}] = None; import onepass; "
    code += f"onepass.open_source({str(tmp_path / name)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = f"ImportError: reading .{name[2:]} files needs {package}: in a clone of onepass, pip "
    assert done.stderr.splitlines()[-1] == said + 'install ".[files]"'


def test_a_file_may_shrink_between_opening_and_reading(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    source = open_source(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", ROWS[:3])
    with pytest.raises(SourceError, match=r"a\.npy, row \d: "):
        list(source)


def test_batch_rows_below_one():
    with pytest.raises(ValueError, match="batch_rows=0"):
        open_source("a.npy", batch_rows=0)


def test_text_of_a_folder_has_to_be_named(tmp_path):
    (tmp_path / "a.txt").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match=r"\.txt files have to be named, as in"):
        open_source(tmp_path)
    assert rows(open_source(tmp_path / "*.txt")) == [[1, 2]]


def test_standard_input_is_given_once():
    with pytest.raises(SourceError, match="standard input is given twice"):
        open_source(["-", "-"])


def test_two_arrow_columns_of_one_name_are_refused(tmp_path):
    table = pa.table([pa.array([1.0, 2.0])] * 3, names=["a", "a", "b"])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    for columns in (None, ["b"], [1, 2]):
        with pytest.raises(SourceError, match="column 'a': two columns have this name"):
            open_source(tmp_path / "a.parquet", columns=columns)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.parquet"])
def test_a_named_pipe_or_a_device_is_refused_instead_of_waited_for(tmp_path, name):
    (tmp_path / "device").mkdir()
    os.mkfifo(tmp_path / name)
    (tmp_path / "device" / name).symlink_to("/dev/zero")
    for path in (tmp_path / name, tmp_path / "device" / name):
        with pytest.raises(SourceError, match="not a file; read a pipe as csv on standard input"):
            open_source(path)


@pytest.mark.parametrize("array", [np.ones((2, 0)), np.array(1.0)])
def test_arrays_that_are_not_rows(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(SourceError, match=r"a\.npy: an array of shape"):
        open_source(tmp_path / "a.npy")
