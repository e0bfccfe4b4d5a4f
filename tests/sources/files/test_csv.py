"""csv: delimiters, quotation marks, headers, kinds of columns, encodings, standard input."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onepass.cli.outputs import Columns
from onepass.sources import SourceError, csv, open_source
from onepass.warning import OnepassWarning

MANY = 70_000  # rows of a few bytes, beyond those that decide about columns


def opened(path, content, **keywords):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source(path, **keywords)


def rows_of(path, content, **keywords):
    names, rows = array_of(path, content, **keywords)
    return names, rows.tolist()


def array_of(path, content, **keywords):
    source = opened(path, content, **keywords)
    return source.feature_names, np.vstack(list(source))


GOOD = {
    "CR after the header": ("a,b\r1,2\n3,4\n5,6\n", ["a", "b"], [[1, 2], [3, 4], [5, 6]]),
    "empty lines": ("\n\na,b\n\n1,2\n\n\n3,4\n\n", ["a", "b"], [[1, 2], [3, 4]]),
    "quoted": ('"a","b,\nc"\n"1","2"\n3,"4"\n', ["a", "b,\nc"], [[1, 2], [3, 4]]),
    "spaces": (" a , b\n 1 , 2\n3,4 \n", ["a", "b"], [[1, 2], [3, 4]]),
    "exponents": ("1e3,-.5\n+2.,1E-2\n", None, [[1000, -0.5], [2, 0.01]]),
    "a later fraction": ("a\n" + "1\n" * 50 + "1.5\n", ["a"], [[1]] * 50 + [[1.5]]),
    "not UTF-8": (b"a,b\n1,caf\xe9\n2,x\n", ["a"], [[1], [2]]),
    "zeros first": ("0,0\n0.5,1\n", None, [[0, 0], [0.5, 1]]),
    "a delimiter at each end": ("a,b,\n1,2,\n3,4,\n", ["a", "b"], [[1, 2], [3, 4]]),
    "True among numbers": ("a,b\nTrue,2\nfalse,3\n0,6\n", ["a", "b"], [[1, 2], [0, 3], [0, 6]]),
}


@pytest.mark.parametrize("case", GOOD)
def test_good(case, tmp_path):
    content, names, rows = GOOD[case]
    assert rows_of(tmp_path / "a.csv", content) == (names, rows)


AMBIGUOUS = {
    "pandas": pd.DataFrame(np.eye(3), columns=[773869, 17, 40]).to_csv(index=False),
    "counted": pd.DataFrame(np.eye(3)).to_csv(index=False),
    "years": "2019,2020,2021\n3,1,2\n5,6,4\n",
    "wavelengths": "400.5,401.2,402.9\n0.7,0.2,0.1\n0.1,0.2,0.05\n",
    "whole above fractions": "7,2,7.0\n0.5,0.25,0.1\n",
    "far away": "900.5,800.5,700.5\n" + "0.5,0.25,0.125\n" * 4,
    "one column": "0\n1.5\n2.5\n",
    "half a header": "id,2019\n1,2\n",
    "years behind text": "city,2019,2020\nOslo,0.5,0.2\nRome,0.1,0.7\n",
    "a text among numbers": "1.5,x\n0.5,0.25\n",
    "missing values": "NA,-\n1.5,2\n3,4\n",
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_a_first_row_that_may_be_a_header_is_refused(case, tmp_path):
    first, *rest = AMBIGUOUS[case].splitlines()
    with pytest.raises(SourceError, match=f"names or data: {first!r}.*--header.*--no-header"):
        rows_of(tmp_path / "a.csv", AMBIGUOUS[case])
    names, rows = rows_of(tmp_path / "a.csv", AMBIGUOUS[case], header=True)
    assert names == [name for name in first.split(",") if name != "city"]
    assert len(rows) == len(rest)


def test_the_index_of_pandas_is_left_out(tmp_path):
    pd.DataFrame([[0.5, 2.5], [1.5, 0.25]]).to_csv(tmp_path / "a.csv")
    with pytest.warns(OnepassWarning, match="left out the index of .*, column ''; keep_index=True"):
        assert open_source(tmp_path / "a.csv").feature_names == ["0", "1"]
    source = open_source(tmp_path / "a.csv", keep_index=True)
    assert source.feature_names == ["", "0", "1"]
    assert np.vstack(list(source)).tolist() == [[0, 0.5, 2.5], [1, 1.5, 0.25]]
    assert open_source(tmp_path / "a.csv", columns=[0, 2]).feature_names == ["", "1"]


def test_columns_without_a_number_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    content = 'x,city,y\n1,Oslo,2\n3,"Rio\nde ""J""",4\n5,,6\n'
    assert rows_of(path, content) == (["x", "y"], [[1, 2], [3, 4], [5, 6]])
    assert "left out columns that are not numbers: 'city'" in open_source(path).notes[0]
    assert rows_of(path, content, columns=["y"]) == (["y"], [[2], [4], [6]])
    with pytest.raises(SourceError, match=r"column 'city': contains text .*--exclude"):
        open_source(path, columns=["x", "city"])


def test_columns_of_numbers_and_text(tmp_path):
    path = tmp_path / "a.csv"
    content = "x,y\n1,2\n3,oops\n5,some\n"
    with pytest.raises(SourceError, match=r"'y': .*'oops' in line 3.*--skip-non-numeric"):
        opened(path, content)
    for options in ({"skip_non_numeric": True}, {"exclude": ["y"]}):
        assert rows_of(path, content, **options) == (["x"], [[1], [3], [5]])
    _, rows = array_of(path, content, na=["oops", "some"])
    np.testing.assert_array_equal(rows, [[1, 2], [3, np.nan], [5, np.nan]])


def test_the_first_rows_decide_what_a_column_is(tmp_path):
    """A column without entries so far is one of numbers."""
    first = "a,b,c\n" + "1,,x\n" * MANY
    names, rows = rows_of(tmp_path / "a.csv", first + "2,3,4\n")
    assert names == ["a", "b"]
    assert rows[-1] == [2, 3]
    with pytest.raises(SourceError, match=f"line {MANY + 2}, column 'b': 'late' is not a number"):
        rows_of(tmp_path / "a.csv", first + "2,late,y\n")


def test_a_later_file_in_which_a_column_is_text_is_refused(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c\n1,2,x\n")
    (tmp_path / "2.csv").write_text("a,b,c\n3,low,5\n")
    with pytest.raises(SourceError, match=r"2\.csv, column 'b': contains text"):
        open_source(tmp_path)
    assert np.vstack(list(open_source(tmp_path, columns=["a"]))).tolist() == [[1], [3]]
    (tmp_path / "2.csv").write_text("a,b,c,d\n3,4,5,x\n")
    assert open_source(tmp_path).feature_names == ["a", "b"]


BAD = {
    "text in a number": ("a,b\n1,2\n3,x4\n", r"column 'b': contains text \('x4' in line 3\).*--na"),
    "behind the first line of Excel": ("sep=;\na;b\n1;2\n3;x4\n", "column 'b': .*'x4' in line 4"),
    "decimal commas": ("a;b\n1;2,5\n3;4,5\n", r"column 'b': .*'2,5' in line 2.*--decimal ,"),
    "commas and blanks": ("a b\n1,5 2,5\n3,2 4,5\n", r"column 'a': .*'1,5' in line 2.*--decimal ,"),
    "titles": ("Run 7\nof May\na,b\n1,2\n3,4\n", r"line 3: there are 2 values, and 1 .*--skip-l"),
    "savetxt": ("# a b\n1 2\n", r"line 2: there are 2 values, and 3 .*--comment '#'"),
    "text only": ("a,b\nx,y\n", r"no column is numeric"),
    "too few": ("a,b\n1,2\n3\n", r"line 3: 1 values, not 2"),
    "too many": ("a,b\n1,2\n3,4\n5,6,7\n", r"line 4: 3 values, not 2"),
    "a delimiter too many": ("a,b\n1,2,\n3,4,\n", r"line 2: there are 3 values, and 2 .* add one"),
    "open quotation mark": ('a,b\n1,2\n3,"4\n', r"line 3, column 'b': a quotation mark is never"),
    "header only": ("a,b\n", r"there is a header but there are no rows"),
    "empty lines only": ("\n\n\n", r"there are no rows"),
    "names not UTF-8": (b"gr\xf6\xdfe,b\n1,2\n", "the names of its columns are not UTF-8"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad(case, tmp_path):
    content, message = BAD[case]
    with pytest.raises(SourceError, match=r"a\.csv(, |: )" + message):
        rows_of(tmp_path / "a.csv", content)


NOT_NUMBERS = ["x", "1_0", "\u0661", "0x10", "1e", "1d3", "1 2", "'1'", "\0"]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_a_text_far_behind_is_named(tmp_path, text):
    content = "a,b\n" + "1,2\n" * MANY + f"3,{text}\n" + "1,2\n" * 10
    with pytest.raises(SourceError) as error:
        rows_of(tmp_path / "a.csv", content)
    assert f"a.csv, line {MANY + 2}, column 'b': {text!r} is not a number" in str(error.value)


def test_standard_input(monkeypatch):
    def given(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return open_source("-")

    content = b"a,b\n" + b"".join(b"%d,%d\n" % (i, -i) for i in range(30_000))
    source = given(content)
    assert source.feature_names == ["a", "b"]
    assert np.vstack(list(source)).tolist() == [[i, -i] for i in range(30_000)]
    with pytest.raises(SourceError, match="standard input: it can be read only once"):
        list(source)
    rest = [block for _, block in given(content).blocks((0, 29_990))]
    assert np.vstack(rest).tolist() == [[i, -i] for i in range(29_990, 30_000)]
    with pytest.raises(SourceError, match=f"standard input, row {MANY + 1}, column 'b': 'x' is"):
        list(given(b"a,b\n" + b"1,2\n" * MANY + b"3,x\n"))


@pytest.mark.parametrize("text", [*csv.MISSING, " ", " NA", "NA  ", '"NA"', '""', "       -"])
def test_what_is_missing_is_nan(tmp_path, text):
    content = f"a,b\n1,2\n{text},4\n" + "5,6\n" * 50 + f"7,{text}\n"
    names, rows = array_of(tmp_path / "a.csv", content)
    assert names == ["a", "b"]
    assert np.argwhere(np.isnan(rows)).tolist() == [[1, 0], [52, 1]]


def test_decimal_commas(tmp_path):
    content = "1,5\t2\n-3,25e2\tNA\n"
    _, rows = array_of(tmp_path / "a.csv", content, decimal=",", header=False)
    np.testing.assert_array_equal(rows, [[1.5, 2], [-325, np.nan]])
    with pytest.raises(SourceError, match=r"'1\.5' in line 2.*--decimal ,"):
        opened(tmp_path / "a.csv", "a;b\n1.5;2\n1,5;3\n2;2\n", decimal=",")


@pytest.mark.parametrize(
    "wrong",
    [
        {"decimal": ";"},
        {"decimal": ",", "delimiter": ","},
        {"delimiter": ";;"},
        {"skip_lines": -1},
        {"skip_lines": 1.5},
        {"comment": ""},
        {"encoding": "latin-one"},
        {"format": "xls"},
    ],
)
def test_options_that_cannot_be(tmp_path, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        opened(tmp_path / "a.csv", "a;b\n1;2\n", **wrong)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_before_the_header_and_comments(tmp_path, line_break):
    before = ["Measured in May, by hand", 'the "second" line', "# units: m, s"]
    lines = [*before, "a:b", "  # nothing", "1:2", '#3:"4', "5:6", "7:inf"]
    options = {"skip_lines": 2, "comment": "#", "delimiter": ":"}
    source = opened(tmp_path / "a.csv", line_break.join(lines), **options)
    assert source.feature_names == ["a", "b"]
    np.testing.assert_array_equal(np.vstack(list(source)), [[1, 2], [5, 6], [7, np.inf]])
    (position, _), *_ = source.blocks()
    assert "line 9, column 'b': " in str(source.error("inf", position._replace(row=2), 1))


def test_names_that_come_twice_are_numbered(tmp_path):
    source = opened(tmp_path / "a.csv", "x,y,x,x.1,x\n1,2,3,4,5\n")
    assert source.feature_names == ["x", "y", "x.2", "x.1", "x.3"]
    assert source.notes[0].endswith("names that come twice are numbered: 'x'")
    assert next(iter(open_source(source.paths, columns=["x.3", "x"]))).tolist() == [[5, 1]]


WIDE = "id,x1,x2,x3,gene_a,gene_b,3-4\n1,2,3,4,5,6,7\n"


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        (["x1:x3"], None, ["x1", "x2", "x3"]),
        (["1-3"], None, ["x1", "x2", "x3"]),
        (["3-4"], None, ["3-4"]),  # a name comes first
        (["gene_*", "id"], None, ["gene_a", "gene_b", "id"]),
        (["x[13]"], None, ["x1", "x3"]),
        (["gene_a", "gene_*"], None, ["gene_a", "gene_b"]),
        (None, ["id", "gene_*"], ["x1", "x2", "x3", "3-4"]),
        (None, [0, "4-6"], ["x1", "x2", "x3"]),
        (["x3:5"], None, ["x3", "gene_a", "gene_b"]),
    ],
)
def test_ranges_patterns_and_what_is_left_out(tmp_path, columns, exclude, expected):
    names, rows = array_of(tmp_path / "a.csv", WIDE, columns=columns, exclude=exclude)
    assert names == expected
    every = WIDE.splitlines()[0].split(",")
    assert rows.tolist() == [[every.index(name) + 1 for name in expected]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["y*"]}, r"no column name matches 'y\*'"),
        ({"columns": ["x3:x1"]}, "the range 'x3:x1' ends before it begins"),
        ({"columns": ["x1:y"]}, "column 'y': there is no such column"),
        ({"columns": ["5-9"]}, r"column \[9\]: there is no such column"),
        ({"columns": ["x1", "1"]}, "a column is chosen twice: x1, 1"),
        ({"columns": [-1]}, r"column \[-1\]: there is no such column: columns have the numbers 0"),
        ({"columns": []}, "no column is chosen"),
        ({"columns": [True]}, "columns has True, neither a name nor a whole number"),
        ({"exclude": ["0-6"]}, "no column is chosen"),
        ({"exclude": "x1"}, r"exclude='x1' must be a list, such as \['x1'\]"),
        ({"exclude": [1.5]}, "exclude has 1.5, neither a name nor a whole number"),
    ],
)
def test_bad_choices_of_columns(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "a.csv", WIDE, **options)


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_rows_are_numbered_as_an_editor_numbers_lines(tmp_path, batch_rows, line_break):
    first = 'a,b\n\n1,x\n2,"y\n\n"\n' + "3,z\n" * 9 + '3,"""\n"\n\n5,5" pipe\n'
    (tmp_path / "1.csv").write_bytes(first.replace("\n", line_break).encode())
    (tmp_path / "2.csv").write_text("# a note\na,b\n4,x\n")
    source = open_source(tmp_path, columns=["a"], comment="#", batch_rows=batch_rows)
    numbers = Columns(source, [], ["a"], numbered=True)
    taken = [numbers.add(end, block) for end, block in source.blocks()]
    lines = pa.concat_tables(taken)["line"].to_pylist()
    assert lines == [3, 4, *range(7, 17), 19, 3]


def test_a_format_for_any_name(tmp_path):
    for name in ("a.log", "noname", "x.npy"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        assert open_source(tmp_path / name, format="csv").feature_names == ["a", "b"]
    assert len(open_source(tmp_path, format="csv").paths) == 3
    with pytest.raises(SourceError, match=r"format is unknown.*--format csv"):
        open_source(tmp_path / "a.log")
