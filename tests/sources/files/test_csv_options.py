"""csv files as people have them: missing values, comments, encodings, R, Excel, booleans."""

import codecs

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onepass.cli.kept import Beside, joined
from onepass.sources import SourceError, csv, open_source
from onepass.warning import OnepassWarning

NAN = np.nan


def opened(path, content, **keywords):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source(path, **keywords)


def rows_of(path, content, **keywords):
    source = opened(path, content, **keywords)
    return source.feature_names, np.vstack(list(source))


@pytest.mark.parametrize("text", [*csv.MISSING, " ", " NA", "NA  ", '"NA"', '""', "       -"])
def test_what_is_missing_is_nan(tmp_path, text):
    content = f"a,b\n1,2\n{text},4\n" + "5,6\n" * 50 + f"7,{text}\n"
    names, rows = rows_of(tmp_path / "a.csv", content)
    assert names == ["a", "b"]
    assert np.argwhere(np.isnan(rows)).tolist() == [[1, 0], [52, 1]]


def test_texts_that_stand_for_missing_entries_are_for_files_of_text(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"na does not apply to \.npy files"):
        open_source(tmp_path / "a.npy", na=["?"])


def test_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    content = "a;b\n1,5;2\n-3,25e2;NA\n"
    names, rows = rows_of(path, content, decimal=",")
    assert names == ["a", "b"]
    np.testing.assert_array_equal(rows, [[1.5, 2], [-325, NAN]])
    np.testing.assert_array_equal(rows, pd.read_csv(path, sep=";", decimal=","))
    assert rows_of(path, "1,5\t2\n0,5\t3\n", decimal=",", header=False)[1].tolist() == [
        [1.5, 2],
        [0.5, 3],
    ]
    with pytest.raises(SourceError, match=r"'1\.5' in line 2.*--decimal ,"):
        opened(path, "a;b\n1.5;2\n1,5;3\n2;2\n", decimal=",")
    for wrong in ({"decimal": ";"}, {"decimal": ",", "delimiter": ","}):
        with pytest.raises(ValueError, match="decimal"):
            opened(path, content, **wrong)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_before_the_header_and_comments(tmp_path, line_break):
    lines = [
        "Measured in May, by hand",
        'the "second" line',
        "# units: m, s",
        "a,b",
        "  # nothing",
        "1,2",
        '#3,"4',
        "5,6",
        "7,inf",
    ]
    content = line_break.join(lines)
    source = opened(tmp_path / "a.csv", content, skip_lines=2, comment="#")
    assert source.feature_names == ["a", "b"]
    np.testing.assert_array_equal(np.vstack(list(source)), [[1, 2], [5, 6], [7, np.inf]])
    (position, _), *_ = source.blocks()
    assert "line 9, column 'b': " in str(source.error("inf", position._replace(row=2), 1))
    for wrong in ({"skip_lines": -1}, {"skip_lines": 1.5}, {"comment": ""}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            opened(tmp_path / "a.csv", content, **wrong)


def test_more_lines_are_skipped_than_there_are(tmp_path):
    with pytest.raises(SourceError, match="there are no rows"):
        opened(tmp_path / "a.csv", "a,b\n1,2\n", skip_lines=9)


def test_latin_1(tmp_path):
    content = "größe,b\n1,2\n".encode("latin-1")
    with pytest.raises(SourceError, match=r"not UTF-8: pass encoding='latin-1' \(--encoding\)"):
        opened(tmp_path / "a.csv", content)
    names, rows = rows_of(tmp_path / "a.csv", content, encoding="latin-1")
    assert (names, rows.tolist()) == (["größe", "b"], [[1, 2]])
    with_mark = codecs.BOM_UTF8 + "größe,b\n1,2\n".encode()
    assert rows_of(tmp_path / "a.csv", with_mark, encoding="utf-8")[0] == ["größe", "b"]
    with pytest.raises(ValueError, match="encoding='latin-one' is not known"):
        opened(tmp_path / "a.csv", content, encoding="latin-one")


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_the_first_line_of_excel(tmp_path, line_break):
    content = line_break.join(["sep=;", "a;b", "1;2", "3;x4", "5;6", ""])
    source = opened(tmp_path / "a.csv", content, columns=["a"])
    assert np.vstack(list(source)).tolist() == [[1], [3], [5]]
    assert source.notes == []
    with pytest.raises(SourceError, match="'x4' in line 4"):
        opened(tmp_path / "a.csv", content)
    assert rows_of(tmp_path / "a.csv", "sep=^\na^b\n1^2\n")[0] == ["a", "b"]


R_TABLE = '"x" "y"\n"1" 1.5 2\n"2" NA 4\n"3" 5 6\n'


R_NAMES = '"x" "y" "z"\n"Mazda RX4" 1.5 2 0\n"Fiat 128" 2.5 4 1\n'


def test_r_writes_one_name_fewer_than_columns(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.warns(OnepassWarning, match="left out the index of pandas or R"):
        names, rows = rows_of(path, R_TABLE)
    assert names == ["x", "y"]
    np.testing.assert_array_equal(rows, [[1.5, 2], [NAN, 4], [5, 6]])
    with pytest.warns(OnepassWarning, match="left out the index of pandas or R"):
        names, rows = rows_of(path, R_NAMES)
    assert (names, rows.tolist()) == (["x", "y", "z"], [[1.5, 2, 0], [2.5, 4, 1]])
    assert rows_of(path, R_TABLE, keep_index=True)[0] == ["", "x", "y"]


def test_names_that_come_twice_are_numbered(tmp_path):
    content = "x,y,x,x.1,x\n1,2,3,4,5\n"
    source = opened(tmp_path / "a.csv", content)
    assert source.feature_names == ["x", "y", "x.2", "x.1", "x.3"]
    assert source.notes[0].endswith("names that come twice are numbered: 'x'")
    assert rows_of(tmp_path / "a.csv", content, columns=["x.3", "x"])[1].tolist() == [[5, 1]]
    names = opened(tmp_path / "a.csv", "x,x,y\n1,2,3\n").feature_names
    assert names == pd.read_csv(tmp_path / "a.csv").columns.tolist() == ["x", "x.1", "y"]


def test_true_and_false_are_one_and_zero_as_in_parquet(tmp_path):
    content = "a,ok,b\n1,True,2\n2,false,3\n3,,4\n4,TRUE,5\n5,0,6\n" + "6,True,7\n" * 50
    expected = [[1, 1, 2], [2, 0, 3], [3, NAN, 4], [4, 1, 5], [5, 0, 6], *[[6, 1, 7]] * 50]
    names, rows = rows_of(tmp_path / "a.csv", content)
    assert names == ["a", "ok", "b"]
    np.testing.assert_array_equal(rows, expected)
    only = rows_of(tmp_path / "a.csv", content, columns=["ok"])[1]
    np.testing.assert_array_equal(only, np.array(expected)[:, [1]])


@pytest.mark.parametrize("first", ["5;6", "5 6", "1,5|2", "5;x"])
def test_a_single_column_that_may_be_several_loses_no_row(tmp_path, first):
    with pytest.raises(SourceError, match="the first row may be names or data"):
        opened(tmp_path / "a.csv", f"{first}\n1.5\n2.5\n")
    assert rows_of(tmp_path / "a.csv", "body mass\n1.5\n2.5\n")[0] == ["body mass"]


def test_true_and_false_in_the_first_row_are_no_names(tmp_path):
    with pytest.raises(SourceError, match="the first row may be names or data"):
        opened(tmp_path / "a.csv", "True,False\nFalse,True\n")


def test_a_delimiter_at_the_end_of_each_line_makes_no_column(tmp_path):
    source = opened(tmp_path / "a.csv", "a,b,\n1,2,\n3,4,\n")
    assert source.feature_names == ["a", "b"]
    assert np.vstack(list(source)).tolist() == [[1, 2], [3, 4]]
    assert "left out the last column, which is empty" in source.notes[0]


WIDE = "id,x1,x2,x3,gene_a,gene_b,3-4\n1,2,3,4,5,6,7\n"


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        (["x1:x3"], None, ["x1", "x2", "x3"]),
        (["1-3"], None, ["x1", "x2", "x3"]),
        (["3-4"], None, ["3-4"]),  # a name comes first
        (["gene_*", "id"], None, ["gene_a", "gene_b", "id"]),
        (["x?"], ["x2"], ["x1", "x3"]),
        (["x[13]"], None, ["x1", "x3"]),
        (["gene_a", "gene_*"], None, ["gene_a", "gene_b"]),
        (None, ["id", "gene_*"], ["x1", "x2", "x3", "3-4"]),
        (None, [0, "4-6"], ["x1", "x2", "x3"]),
        (["x3:5"], None, ["x3", "gene_a", "gene_b"]),
    ],
)
def test_ranges_patterns_and_what_is_left_out(tmp_path, columns, exclude, expected):
    names, rows = rows_of(tmp_path / "a.csv", WIDE, columns=columns, exclude=exclude)
    assert names == expected
    every = WIDE.splitlines()[0].split(",")
    assert rows.tolist() == [[every.index(name) + 1 for name in expected]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["y*"]}, r"no name of a column matches 'y\*'"),
        ({"columns": ["x3:x1"]}, "the range 'x3:x1' ends before it begins"),
        ({"columns": ["x1:y"]}, "column 'y': there is no such column"),
        ({"columns": ["5-9"]}, r"column \[9\]: there is no such column"),
        ({"columns": ["x1", "x1"]}, "a column is chosen twice: x1, x1"),
        ({"exclude": ["y"]}, "column 'y': there is no such column"),
        ({"exclude": ["0-6"]}, "no column is chosen"),
        ({"exclude": "x1"}, r"exclude='x1' must be a list, such as \['x1'\]"),
        ({"exclude": [1.5]}, "exclude has 1.5, neither a name nor a whole number"),
    ],
)
def test_bad_choices_of_columns(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "a.csv", WIDE, **options)


def test_the_lines_of_rows(tmp_path):
    """Against Python's csv, which counts lines."""
    plain = "a,b\n\n1,x\n\n\n" + "2,y\n" * 40
    for content in (
        plain,
        plain + '3,"z\nz"\n\n4,"""\n"\n5,5" pipe\n',
        plain.replace("\n", "\r\n"),
    ):
        source = opened(tmp_path / "a.csv", content, columns=["a"])
        (table,) = source.tables
        found = np.concatenate(list(table.lines()))
        lines = (tmp_path / "a.csv").read_bytes().decode().splitlines()
        values = np.vstack(list(source))[:, 0]
        assert [lines[line - 1].split(",")[0] for line in found] == [f"{v:g}" for v in values]


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
def test_rows_are_numbered_as_an_editor_numbers_lines(tmp_path, batch_rows):
    (tmp_path / "1.csv").write_text('a,b\n\n1,x\n2,"y\n\n"\n' + "3,z\n" * 9)
    (tmp_path / "2.csv").write_text("# a note\na,b\n4,x\n")
    source = open_source(tmp_path, columns=["a"], comment="#", batch_rows=batch_rows)
    numbers = Beside(source, [], numbered=True)
    taken = [joined(numbers.take(end, len(block))) for end, block in source.blocks()]
    assert numbers.names == ["file", "line"]
    assert pa.concat_tables(taken)["line"].to_pylist() == [3, 4, *range(7, 16), 3]


def test_rows_without_lines_are_counted_from_one(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(4))
    source = open_source(tmp_path, batch_rows=3)
    numbers = Beside(source, [], numbered=True)
    taken = [joined(numbers.take(end, len(block))) for end, block in source.blocks()]
    assert numbers.names == ["file", "row"]
    assert pa.concat_tables(taken)["row"].to_pylist() == [1, 2, 3, 4, 1, 2, 3, 4]


def test_the_names_of_folders_are_said_to_be_no_columns(tmp_path):
    for year in (2024, 2025):
        (tmp_path / f"year={year}" / "month=1").mkdir(parents=True)
        (tmp_path / f"year={year}" / "month=1" / "a.csv").write_text(f"a,b\n1,{year}\n")
    source = open_source(tmp_path)
    assert source.feature_names == ["a", "b"]
    assert "the names of folders are not read as columns: 'month', 'year'" in source.notes


@pytest.mark.parametrize("name", ["a.dat", "a.data", "a.text", "a.dat.gz"])
def test_what_savetxt_writes(tmp_path, name):
    rows = np.random.default_rng(0).standard_normal((50, 3))
    for options in (
        {},
        {"fmt": "%12.5f"},
        {"fmt": "%10.3e", "delimiter": "  "},
        {"delimiter": ","},
    ):
        np.savetxt(tmp_path / name, rows, **options)
        found = np.vstack(list(open_source(tmp_path / name, header=False)))
        expected = np.loadtxt(
            tmp_path / name, delimiter=options.get("delimiter", "").strip() or None
        )
        np.testing.assert_array_equal(found, expected)


def test_a_format_for_any_name(tmp_path):
    for name in ("a.log", "noname", "x.npy"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        assert open_source(tmp_path / name, format="csv").feature_names == ["a", "b"]
    assert len(open_source(tmp_path, format="csv").paths) == 3
    with pytest.raises(SourceError, match=r"format is unknown.*--format csv"):
        open_source(tmp_path / "a.log")
    (tmp_path / "b.libsvm").write_text("1 1:2\n")
    assert next(iter(open_source(tmp_path / "b.libsvm", format="svmlight"))).toarray() == [[2]]
    with pytest.raises(ValueError, match="format='xls'"):
        open_source(tmp_path / "a.log", format="xls")
